#include "validate/replay_graph.hpp"

#include <array>
#include <utility>

#include "overlap/error.hpp"

namespace overlap::validation {
namespace {

enum Stream : std::uint32_t { comp = 0, comm = 1, comm2 = 2 };
using Deps = std::vector<Dep>;

// Two devices with the measuring program's streams; every op is enqueued on device 0, then on device 1.
class Program {
 public:
  explicit Program(const Record& r) : r_(r), b_(r.gpus == 1 ? 1 : 2) {}

  OpId gemm(std::uint32_t dev, std::uint32_t m, std::uint32_t n, std::uint32_t k, bool accumulate, const Deps& deps) {
    Gemm g;
    g.m = m, g.n = n, g.k = k;
    g.accumulate = accumulate;
    g.max_sms = r_.sms == 132 ? 0 : r_.sms;
    const BufferId c = b_.buffer(DeviceId(dev), m, n, DType::bf16, BufferRole::scratch, "C");
    const Slice all = b_.all(c);
    return b_.gemm(lane(dev, comp), g, {}, {}, {&all, 1}, args(deps, "gemm"));
  }
  OpId push(std::uint32_t dev, std::uint64_t bytes, const Deps& deps, Stream s = comm, bool both_here = false) {
    const std::uint32_t to = both_here ? dev : 1 - dev;
    const Slice from = slice(dev, bytes), into = slice(to, bytes);
    return b_.transfer(lane(dev, s), {}, {&from, 1}, {&into, 1}, args(deps, "push"));
  }
  OpId kernel(std::uint32_t dev, Stream s, ElementwiseKind kind, std::uint64_t bytes, const Deps& deps) {
    const Slice from = slice(dev, bytes), into = slice(dev, bytes);
    const std::array<Slice, 2> both = {from, slice(dev, bytes)};
    Elementwise e;
    e.kind = kind;
    const auto reads = kind == ElementwiseKind::add ? std::span<const Slice>(both) : std::span<const Slice>(&from, 1);
    return b_.elementwise(lane(dev, s), e, reads, {&into, 1},
                          args(deps, kind == ElementwiseKind::add ? "add" : "gather"));
  }
  OpId collective(CollectiveKind kind, std::uint64_t bytes, const Deps& deps) {
    Collective c;
    c.kind = kind;
    c.channels = static_cast<std::uint16_t>(r_.channels);
    const std::uint64_t in = kind == CollectiveKind::all_gather ? bytes / 2 : bytes;
    const std::uint64_t out = kind == CollectiveKind::reduce_scatter ? bytes / 2 : bytes;
    const std::array<Slice, 2> writes = {slice(0, out), slice(1, out)};
    std::array<Slice, 2> reads = {slice(0, in), slice(1, in)};
    if (kind == CollectiveKind::all_gather && r_.in_place) {
      for (std::uint32_t i = 0; i < 2; ++i) {
        reads[i] = writes[i];
        reads[i].rows = writes[i].rows / 2;
        reads[i].row = i * reads[i].rows;
      }
    }
    const std::array<LaneId, 2> lanes = {lane(0, comm), lane(1, comm)};
    return b_.collective(lanes, c, reads, writes, args(deps, "collective"));
  }
  OpGraph finish() { return std::move(b_).finish(); }

 private:
  LaneId lane(std::uint32_t dev, Stream s) {
    static constexpr std::array kNames = {"comp", "comm", "comm2"};
    return b_.lane(DeviceId(dev), s, kNames[s], r_.priority && s != comp ? 1 : 0);
  }
  Slice slice(std::uint32_t dev, std::uint64_t bytes) {
    const auto cols = static_cast<std::uint32_t>(bytes % 4096 == 0 ? 4096 : 1);
    const auto rows = static_cast<std::uint32_t>(bytes / cols);
    return b_.all(b_.buffer(DeviceId(dev), rows, cols, DType::u8, BufferRole::scratch, "data"));
  }
  OpArgs args(const Deps& deps, std::string_view name) { return {deps, b_.label(name)}; }

  const Record& r_;
  GraphBuilder b_;
};

std::uint64_t bytes_of(std::uint64_t rows, std::uint64_t cols) {
  return 2 * rows * cols;
}

struct Case {
  const Record& r;
  Program& p;
  std::uint32_t m, n, k, d;
  [[nodiscard]] std::uint32_t rows(std::uint32_t of, std::uint32_t i) const { return piece(of, d, i).size; }
};

void on_both(const std::function<void(std::uint32_t)>& f) {
  for (std::uint32_t dev = 0; dev < 2; ++dev) f(dev);
}

void gemm_only(Case& c) {
  on_both([&](std::uint32_t dev) { c.p.gemm(dev, c.m, c.n, c.k, false, {}); });
}
void decomp_only(Case& c) {
  on_both([&](std::uint32_t dev) {
    for (std::uint32_t i = 0; i < c.d; ++i) c.p.gemm(dev, c.rows(c.m, i), c.n, c.k, false, {});
  });
}
void decompk_only(Case& c) {
  on_both([&](std::uint32_t dev) {
    for (std::uint32_t i = 0; i < c.d; ++i) c.p.gemm(dev, c.m, c.n, c.rows(c.k, i), i > 0, {});
  });
}
void ag_only_nccl(Case& c) {
  c.p.collective(CollectiveKind::all_gather, bytes_of(c.m, c.k), {});
}
void rs_only_nccl(Case& c) {
  c.p.collective(CollectiveKind::reduce_scatter, bytes_of(c.m, c.n), {});
}
void ag_only_dma(Case& c) {
  on_both([&](std::uint32_t dev) { c.p.push(dev, bytes_of(c.m / 2, c.k), {}); });
}

// Stage i gathers row piece i of every shard, then one GEMM over those rows.
void ag_nccl(Case& c) {
  for (std::uint32_t i = 0; i < c.d; ++i) {
    const OpId g = c.p.collective(CollectiveKind::all_gather, bytes_of(c.rows(c.m, i), c.k), {});
    on_both([&](std::uint32_t dev) { c.p.gemm(dev, c.rows(c.m, i), c.n, c.k, false, {Dep{g, {}}}); });
  }
}
void ag_dma(Case& c, bool gathers) {
  for (std::uint32_t i = 0; i < c.d; ++i) {
    std::array<OpId, 2> push, gather;
    on_both([&](std::uint32_t dev) {
      const std::uint64_t bytes = bytes_of(c.rows(c.m / 2, i), c.k);
      if (gathers) gather[dev] = c.p.kernel(dev, comm2, ElementwiseKind::copy, bytes, {});
      push[dev] = c.p.push(dev, bytes, {});
    });
    on_both([&](std::uint32_t dev) {
      Deps deps = {Dep{push[1 - dev], {}}};
      if (gathers) deps.push_back(Dep{gather[dev], {}});
      c.p.gemm(dev, 2 * c.rows(c.m / 2, i), c.n, c.k, false, deps);
    });
  }
}
// Own shard at once; every remote shard comes in d pieces, a GEMM a piece.
void hetero_unfused(Case& c) {
  on_both([&](std::uint32_t dev) { c.p.gemm(dev, c.m / 2, c.n, c.k, false, {}); });
  for (std::uint32_t i = 0; i < c.d; ++i) {
    std::array<OpId, 2> push;
    on_both([&](std::uint32_t dev) { push[dev] = c.p.push(dev, bytes_of(c.rows(c.m / 2, i), c.k), {}); });
    on_both([&](std::uint32_t dev) { c.p.gemm(dev, c.rows(c.m / 2, i), c.n, c.k, false, {Dep{push[1 - dev], {}}}); });
  }
}
void fused_2d(Case& c) {
  for (std::uint32_t i = 0; i < c.d; ++i) {
    std::array<OpId, 2> push;
    on_both([&](std::uint32_t dev) { push[dev] = c.p.push(dev, bytes_of(c.m / 2, c.rows(c.k, i)), {}); });
    on_both([&](std::uint32_t dev) { c.p.gemm(dev, c.m, c.n, c.rows(c.k, i), i > 0, {Dep{push[1 - dev], {}}}); });
  }
}
void rs_nccl(Case& c) {
  for (std::uint32_t i = 0; i < c.d; ++i) {
    Deps deps;
    on_both([&](std::uint32_t dev) { deps.push_back({c.p.gemm(dev, c.rows(c.m, i), c.n, c.k, false, {}), {}}); });
    c.p.collective(CollectiveKind::reduce_scatter, bytes_of(c.rows(c.m, i), c.n), deps);
  }
}
// The peer's part first, in d pieces, each pushed when done; the own part last; then an add of both.
void local_last(Case& c) {
  std::array<Deps, 2> pushes;
  for (std::uint32_t i = 0; i < c.d; ++i) {
    on_both([&](std::uint32_t dev) {
      const std::uint32_t rows = c.rows(c.m / 2, i);
      const OpId g = c.p.gemm(dev, rows, c.n, c.k, false, {});
      pushes[dev].push_back({c.p.push(dev, bytes_of(rows, c.n), {Dep{g, {}}}), {}});
    });
  }
  on_both([&](std::uint32_t dev) { c.p.gemm(dev, c.m / 2, c.n, c.k, false, {}); });
  on_both([&](std::uint32_t dev) {
    c.p.kernel(dev, comp, ElementwiseKind::add, bytes_of(c.m / 2, c.n), {pushes[1 - dev].back()});
  });
}

struct Named {
  std::string_view name;
  void (*build)(Case&);
};
constexpr std::array kGather = {
    Named{"gemm_only", gemm_only},
    Named{"ag_only_dma", ag_only_dma},
    Named{"ag_only_nccl", ag_only_nccl},
    Named{"decomp_only", decomp_only},
    Named{"decompk_only", decompk_only},
    Named{"serial_nccl", ag_nccl},
    Named{"interdecom_nccl", ag_nccl},
    Named{"serial_dma", [](Case& c) { ag_dma(c, false); }},
    Named{"interdecom_dma", [](Case& c) { ag_dma(c, false); }},
    Named{"uniform_fused_dma", [](Case& c) { ag_dma(c, true); }},
    Named{"uniform_fused_2d_dma", fused_2d},
    Named{"hetero_unfused_dma", hetero_unfused},
};
constexpr std::array kScatter = {Named{"gemm_only", gemm_only},       Named{"rs_only_nccl", rs_only_nccl},
                                 Named{"serial_nccl", rs_nccl},       Named{"interdecom_nccl", rs_nccl},
                                 Named{"local_last_dma", local_last}, Named{"decomp_only", decomp_only},
                                 Named{"decompk_only", decompk_only}};

void build(std::span<const Named> table, std::string_view name, Case& c) {
  std::vector<std::string> known;
  for (const Named& n : table) {
    if (n.name == name) return n.build(c);
    known.emplace_back(n.name);
  }
  const std::string near = nearest_name(name, known);
  throw InputError(c.r.where, "unknown measured schedule '" + std::string(name) + "'" +
                                  (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

CollectiveKind collective_of(const Record& r) {
  if (r.op == "reduce_scatter") return CollectiveKind::reduce_scatter;
  if (r.op == "all_reduce") return CollectiveKind::all_reduce;
  if (r.op == "all_to_all") return CollectiveKind::all_to_all;
  if (r.op == "all_gather") return CollectiveKind::all_gather;
  throw InputError(r.where, "unknown collective '" + r.op + "'");
}

void primitive(const Record& r, Program& p) {
  const auto bytes = static_cast<std::uint64_t>(r.bytes.si());
  if (r.kind == "nccl") {
    p.collective(collective_of(r), bytes, {});
  } else if (r.kind == "copy_hbm") {
    p.push(0, bytes, {}, comm, true);
  } else if (r.kind == "peer_same_link") {
    for (std::uint32_t s = 0; s < r.chunks; ++s) p.push(0, bytes, {}, s % 2 == 0 ? comm : comm2);
  } else if (r.kind != "empty") {
    const std::uint32_t n = r.kind == "peer_chunked" ? r.chunks : 1;
    for (std::uint32_t i = 0; i < n; ++i) {
      p.push(0, bytes, {});
      if (r.kind == "peer_bi") p.push(1, bytes, {});
    }
  }
}

// GEMMs back to back on device 0 while copies or collectives keep running beside them.
void contention(const Record& r, Program& p) {
  const auto bytes = static_cast<std::uint64_t>(r.bytes.si());
  for (std::uint32_t i = 0; i < r.gemms; ++i) p.gemm(0, r.shape.m, r.shape.n, r.shape.k, false, {});
  const std::string_view mode = r.schedule;
  for (std::uint32_t i = 0; i < r.chunks && mode != "alone"; ++i) {
    if (mode == "nccl_ag") p.collective(CollectiveKind::all_gather, bytes, {});
    if (mode == "nccl_rs") p.collective(CollectiveKind::reduce_scatter, bytes, {});
    if (mode == "dma_out" || mode.starts_with("dma_bi")) p.push(0, bytes, {});
    if (mode == "dma_in" || mode.starts_with("dma_bi")) p.push(1, bytes, {});
    // Copies within a device are kernels: they wait for a resident GEMM and the next GEMM waits for them.
    for (int k = 0; k < 5 && mode == "dma_bi_local"; ++k) p.kernel(0, comm2, ElementwiseKind::copy, bytes, {});
  }
}

}  // namespace

OpGraph graph_of(const Record& r, const Topology& topology, std::span<const Device> devices) {
  if (!r.graph.empty() && r.kind != "interdecom_env") return layer_graph(r, topology, devices);
  Program p(r);
  Case c{r, p, r.shape.m, r.shape.n, r.shape.k, r.d};
  std::string_view name = r.schedule;
  if (r.kind == "gemm" || r.kind == "gemm_kernels") {
    p.gemm(0, c.m, c.n, c.k, r.accumulate, {});
  } else if (r.kind == "ag_gemm" || r.kind == "gemm_rs" || r.kind == "interdecom_env") {
    bool scatter = r.kind == "gemm_rs";
    if (name.starts_with("rs_") && name != "rs_only_nccl") {
      scatter = true;
      name.remove_prefix(3);
    }
    if (scatter || name == "rs_only_nccl") {
      build(kScatter, name, c);
    } else {
      build(kGather, name, c);
    }
  } else if (r.kind.starts_with("contention")) {
    contention(r, p);
  } else {
    primitive(r, p);
  }
  return p.finish();
}

}  // namespace overlap::validation
