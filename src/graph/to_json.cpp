#include <fmt/format.h>

#include <iterator>

#include "overlap/graph_check.hpp"
#include "text/quote.hpp"

namespace overlap {
namespace {

const char* name(BufferRole r) {
  constexpr const char* names[] = {"input", "weight", "output", "scratch"};
  return names[static_cast<std::size_t>(r)];
}
const char* name(Mover m) {
  constexpr const char* names[] = {"copy_engine", "sm", "remote_store"};
  return names[static_cast<std::size_t>(m)];
}
const char* name(Fan f) {
  constexpr const char* names[] = {"copy", "multicast", "reduce"};
  return names[static_cast<std::size_t>(f)];
}
const char* name(Codec c) {
  constexpr const char* names[] = {"none", "window", "entropy"};
  return names[static_cast<std::size_t>(c)];
}
const char* name(CollectiveKind k) {
  constexpr const char* names[] = {"all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast"};
  return names[static_cast<std::size_t>(k)];
}
const char* name(CollectiveAlgorithm a) {
  constexpr const char* names[] = {"automatic", "ring", "nvls", "one_shot", "two_shot", "hierarchical", "direct"};
  return names[static_cast<std::size_t>(a)];
}
const char* name(ElementwiseKind k) {
  constexpr const char* names[] = {"copy", "add", "compress", "decompress", "delay"};
  return names[static_cast<std::size_t>(k)];
}
const char* name(Matrix m) {
  constexpr const char* names[] = {"x", "w", "y"};
  return names[static_cast<std::size_t>(m)];
}

class Dump {
 public:
  explicit Dump(const OpGraph& g) : g_(g) {}

  std::string run() {
    put("{{\n\"devices\": {},\n\"buffers\": [", g_.devices());
    list(g_.buffers(), [&](const Buffer& b) {
      put("{{\"device\": {}, \"rows\": {}, \"cols\": {}, \"dtype\": \"{}\", \"role\": \"{}\", \"name\": {}}}",
          b.device.v, b.rows, b.cols, to_text(b.dtype), name(b.role), json_string(g_.text(b.name)));
    });
    put("],\n\"lanes\": [");
    list(g_.lanes(), [&](const Lane& l) {
      put("{{\"device\": {}, \"index\": {}, \"priority\": {}, \"name\": {}}}", l.device.v, l.index, l.priority,
          json_string(g_.text(l.name)));
    });
    put("],\n\"ops\": [");
    list(g_.ops(), [&](const Op& o) { op(o); });
    put("],\n\"tokens\": [");
    inline_list(g_.token_counts(), [&](std::uint32_t n) { put("{}", n); });
    put("],\n\"token_uses\": [");
    list(g_.token_uses(), [&](const TokenUse& u) {
      put("{{\"op\": {}, \"token\": {}, \"take\": {}, \"give\": {}}}", u.op.v, u.token.v, u.take, u.give);
    });
    put("],\n\"inputs\": [");
    list(g_.inputs(), [&](const Placement& p) { placement(p); });
    put("],\n\"outputs\": [");
    list(g_.outputs(), [&](const Placement& p) { placement(p); });
    put("]\n}}\n");
    return std::move(out_);
  }

 private:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }
  template <class Items, class F>
  void list(const Items& items, F each) {
    bool first = true;
    for (const auto& item : items) {
      out_ += first ? "\n" : ",\n";
      first = false;
      each(item);
    }
  }
  template <class Items, class F>
  void inline_list(const Items& items, F each) {
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += ", ";
      first = false;
      each(item);
    }
  }

  void slices(const char* key, Range r) {
    put(", \"{}\": [", key);
    inline_list(g_.slices(r),
                [&](const Slice& s) { put("[{}, {}, {}, {}, {}]", s.buffer.v, s.row, s.rows, s.col, s.cols); });
    out_ += ']';
  }
  void deps(const char* key, Range r) {
    put(", \"{}\": [", key);
    inline_list(g_.deps(r), [&](const Dep& d) {
      if (d.part.valid())
        put("[{}, {}]", d.op.v, d.part.v);
      else
        put("{}", d.op.v);
    });
    out_ += ']';
  }
  void placement(const Placement& p) {
    put("{{\"matrix\": \"{}\", \"problem\": {}, \"row\": {}, \"col\": {}, \"slice\": [{}, {}, {}, {}, {}]}}",
        name(p.matrix), p.problem, p.global_row, p.global_col, p.slice.buffer.v, p.slice.row, p.slice.rows, p.slice.col,
        p.slice.cols);
  }

  void op(const Op& o) {
    put("{{\"label\": {}, \"lanes\": [", json_string(g_.text(o.label)));
    inline_list(g_.lane_refs(o.lanes), [&](LaneId l) { put("{}", l.v); });
    out_ += ']';
    deps("deps", o.deps);
    std::visit([&](const auto& w) { work(w); }, o.work);
    if (!std::holds_alternative<Gemm>(o.work)) {
      slices("reads", o.reads);
      slices("writes", o.writes);
    }
    if (o.commutative) put(", \"commutative\": true");
    out_ += '}';
  }

  void work(const Gemm& g) {
    put(", \"gemm\": {{\"m\": {}, \"n\": {}, \"k\": {}, \"dtype\": \"{}\", \"accumulate\": {}, \"order\": \"{}\", "
        "\"max_sms\": {}, \"parts\": [",
        g.m, g.n, g.k, to_text(g.dtype), g.accumulate, g.order == PartOrder::ready ? "ready" : "fixed", g.max_sms);
    inline_list(g_.parts_of(g), [&](const Part& p) {
      put("{{\"rect\": [{}, {}, {}, {}]", p.rect.row, p.rect.rows, p.rect.col, p.rect.cols);
      deps("waits", p.waits);
      slices("a", p.a);
      slices("b", p.b);
      slices("c", p.c);
      out_ += '}';
    });
    out_ += "]}";
  }
  void work(const Transfer& t) {
    put(", \"transfer\": {{\"mover\": \"{}\", \"fan\": \"{}\", \"codec\": \"{}\", \"accumulate\": {}, \"ways\": {}, "
        "\"ctas\": {}}}",
        name(t.mover), name(t.fan), name(t.codec), t.accumulate, t.ways, t.ctas);
  }
  void work(const Collective& c) {
    put(", \"collective\": {{\"kind\": \"{}\", \"algorithm\": \"{}\", \"channels\": {}}}", name(c.kind),
        name(c.algorithm), c.channels);
  }
  void work(const Elementwise& e) {
    put(", \"elementwise\": {{\"kind\": \"{}\", \"ctas\": {}, \"codec\": \"{}\", \"delay_s\": {}}}", name(e.kind),
        e.ctas, name(e.codec), e.delay.si());
  }

  const OpGraph& g_;
  std::string out_;
};

}  // namespace

std::string to_json(const OpGraph& graph) {
  return Dump(graph).run();
}

}  // namespace overlap
