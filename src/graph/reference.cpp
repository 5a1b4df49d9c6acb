#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "graph/event_graph.hpp"
#include "graph/reference_values.hpp"
#include "overlap/graph_check.hpp"

namespace overlap {
namespace {

class Reference {
 public:
  Reference(const OpGraph& g, std::uint64_t seed, const CodecHook& codec)
      : g_(g), events_(g), random_(seed), codec_(codec) {}

  std::vector<std::string> run() {
    poison();
    if (!execute()) return {"the graph waits for itself: " + events_.cycle(g_)};
    if (problems_.empty()) compare();
    return std::move(problems_);
  }

 private:
  void poison() {
    for (const Buffer& b : g_.buffers())
      memory_.emplace_back(std::size_t{b.rows} * b.cols, std::numeric_limits<double>::quiet_NaN());
    for (const Placement& p : g_.inputs()) {
      std::vector<double> v;
      for (std::uint32_t i = 0; i < p.slice.rows; ++i)
        for (std::uint32_t j = 0; j < p.slice.cols; ++j)
          v.push_back(reference_value(p.matrix, p.problem, p.global_row + i, p.global_col + j));
      write(std::span(&p.slice, 1), v, false);
    }
  }

  // Any valid order: the next event is drawn among those whose predecessors have happened.
  bool execute() {
    std::vector<std::uint32_t> missing = events_.waits();
    std::vector<std::uint32_t> ready;
    for (std::uint32_t e = 0; e < events_.size(); ++e)
      if (missing[e] == 0) ready.push_back(e);
    std::uint32_t happened = 0;
    while (!ready.empty()) {
      const std::uint32_t pick = random_.below(static_cast<std::uint32_t>(ready.size()));
      const std::uint32_t e = ready[pick];
      ready[pick] = ready.back();
      ready.pop_back();
      happen(e);
      ++happened;
      for (const std::uint32_t s : events_.after(e))
        if (--missing[s] == 0) ready.push_back(s);
    }
    return happened == events_.size();
  }

  void happen(std::uint32_t e) {
    if (events_.is_part(e)) return part(events_.part_at(e));
    if (events_.is_begin(e)) return;
    const Op& op = g_.op(events_.op_at(e));
    if (const auto* t = std::get_if<Transfer>(&op.work)) transfer(events_.op_at(e), op, *t);
    if (const auto* c = std::get_if<Collective>(&op.work)) collective(op, *c);
    if (const auto* w = std::get_if<Elementwise>(&op.work)) elementwise(events_.op_at(e), op, *w);
  }

  // Elements of a stack in order, row by row.
  std::vector<double> read(std::span<const Slice> stack) const {
    std::vector<double> out;
    for (const Slice& s : stack) {
      const std::size_t width = g_.buffer(s.buffer).cols;
      for (std::uint32_t i = 0; i < s.rows; ++i) {
        const double* row = memory_[s.buffer.index()].data() + (s.row + i) * width + s.col;
        out.insert(out.end(), row, row + s.cols);
      }
    }
    return out;
  }

  void write(std::span<const Slice> stack, std::span<const double> values, bool accumulate) {
    std::size_t at = 0;
    for (const Slice& s : stack) {
      const std::size_t width = g_.buffer(s.buffer).cols;
      for (std::uint32_t i = 0; i < s.rows; ++i) {
        double* row = memory_[s.buffer.index()].data() + (s.row + i) * width + s.col;
        for (std::uint32_t j = 0; j < s.cols && at < values.size(); ++j, ++at)
          row[j] = accumulate ? row[j] + values[at] : values[at];
      }
    }
  }

  void part(PartId id) {
    const Part& p = g_.part(id);
    const Gemm& g = std::get<Gemm>(g_.op(p.op).work);
    const std::vector<double> a = read(g_.slices(p.a));
    const std::vector<double> b = read(g_.slices(p.b));
    const std::size_t n = p.rect.cols;
    std::vector<double> c(std::size_t{p.rect.rows} * n, 0.0);
    for (std::size_t i = 0; i < p.rect.rows; ++i)
      for (std::size_t k = 0; k < g.k; ++k) {
        const double x = a[i * g.k + k];
        for (std::size_t j = 0; j < n; ++j) c[i * n + j] += x * b[k * n + j];
      }
    write(g_.slices(p.c), c, g.accumulate);
  }

  static void add_to(std::vector<double>& sum, std::span<const double> v) {
    if (sum.empty()) sum.assign(v.size(), 0.0);
    for (std::size_t i = 0; i < sum.size() && i < v.size(); ++i) sum[i] += v[i];
  }

  void transfer(OpId id, const Op& op, const Transfer& t) {
    const auto reads = g_.slices(op.reads);
    const auto writes = g_.slices(op.writes);
    std::vector<double> v = read(reads);
    const std::size_t ways = std::max<std::size_t>(t.ways, 1);
    if (t.fan == Fan::reduce) {
      std::vector<double> sum;
      const std::size_t each = v.size() / ways;
      for (std::size_t i = 0; i < ways; ++i) add_to(sum, std::span(v).subspan(i * each, each));
      v = std::move(sum);
    }
    if (t.codec != Codec::none) v = round_trip(id, t.codec, g_.buffer(reads[0].buffer).dtype, v);
    const std::size_t copies = t.fan == Fan::multicast ? ways : 1;
    std::vector<double> all;
    for (std::size_t i = 0; i < copies; ++i) all.insert(all.end(), v.begin(), v.end());
    write(writes, all, t.accumulate);
  }

  void collective(const Op& op, const Collective& c) {
    const std::size_t n = op.lanes.size();
    const auto reads = g_.slices(op.reads);
    const auto writes = g_.slices(op.writes);
    const std::size_t w = writes.size() / n;
    if (c.kind == CollectiveKind::all_to_all) {
      std::vector<std::vector<double>> pieces;
      for (const Slice& s : reads) pieces.push_back(read(std::span(&s, 1)));
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) write(writes.subspan(j * n + i, 1), pieces[i * n + j], false);
      return;
    }
    const bool sums = c.kind == CollectiveKind::reduce_scatter || c.kind == CollectiveKind::all_reduce;
    std::vector<double> v = sums ? std::vector<double>() : read(reads);
    for (std::size_t i = 0; sums && i < n; ++i)
      add_to(v, read(reads.subspan(i * (reads.size() / n), reads.size() / n)));
    std::size_t at = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto mine = writes.subspan(i * w, w);
      std::size_t count = 0;
      for (const Slice& s : mine) count += s.elements();
      const bool scatters = c.kind == CollectiveKind::reduce_scatter;
      write(mine, std::span(v).subspan(scatters ? at : 0, count), false);
      at += count;
    }
  }

  void elementwise(OpId id, const Op& op, const Elementwise& e) {
    const auto reads = g_.slices(op.reads);
    const auto writes = g_.slices(op.writes);
    if (e.kind == ElementwiseKind::copy) write(writes, read(reads), false);
    if (e.kind == ElementwiseKind::add) {
      std::vector<double> sum;
      for (const Slice& s : reads) add_to(sum, read(std::span(&s, 1)));
      write(writes, sum, false);
    }
    if (e.kind == ElementwiseKind::compress) compress(id, e.codec, reads, writes);
    if (e.kind == ElementwiseKind::decompress) decompress(id, e.codec, reads, writes);
  }

  void problem(OpId id, const std::string& text) { problems_.push_back(describe(g_, id) + ": " + text); }

  std::vector<double> round_trip(OpId id, Codec codec, DType type, const std::vector<double>& v) {
    if (!codec_.encode || !codec_.decode) return v;
    bool fits = true;
    const std::vector<std::uint8_t> bytes = to_bytes(type, v, fits);
    if (!fits) {
      problem(id, "moves values that its type cannot hold exactly");
      return v;
    }
    const auto [early, late] = codec_.encode(codec, type, bytes);
    const std::vector<std::uint8_t> back = codec_.decode(codec, type, early, late);
    if (back != bytes) problem(id, "the codec does not give back the bytes");
    return from_bytes(type, back);
  }

  // Coded planes lie in u8 slices: the first pass's bytes in the first slice, the rest in the second (or both in the
  // one), each behind its length in four cells.
  void compress(OpId id, Codec codec, std::span<const Slice> reads, std::span<const Slice> writes) {
    const DType type = g_.buffer(reads[0].buffer).dtype;
    bool fits = true;
    const std::vector<std::uint8_t> bytes = to_bytes(type, read(reads), fits);
    if (!fits) return problem(id, "compresses values that its type cannot hold exactly");
    if (!codec_.encode) return problem(id, "compresses, but the run was given no codec");
    const auto [early, late] = codec_.encode(codec, type, bytes);
    for (std::size_t i = 0; i < writes.size(); ++i) {
      std::vector<double> cells;
      if (i == 0) store(cells, early);
      if (i == 1 || writes.size() == 1) store(cells, late);
      if (cells.size() > writes[i].elements()) return problem(id, "the coded bytes do not fit");
      write(writes.subspan(i, 1), cells, false);
    }
  }

  static void store(std::vector<double>& cells, const std::vector<std::uint8_t>& bytes) {
    for (int i = 0; i < 4; ++i) cells.push_back(static_cast<double>((bytes.size() >> (8 * i)) & 255U));
    cells.insert(cells.end(), bytes.begin(), bytes.end());
  }

  static bool load(const std::vector<double>& cells, std::size_t& at, std::vector<std::uint8_t>& bytes) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      if (at + i >= cells.size() || !(cells[at + i] >= 0)) return false;  // also NaN
      length |= static_cast<std::size_t>(cells[at + i]) << (8 * i);
    }
    at += 4;
    if (at + length > cells.size()) return false;
    for (const std::size_t end = at + length; at < end; ++at) {
      if (!(cells[at] >= 0)) return false;
      bytes.push_back(static_cast<std::uint8_t>(cells[at]));
    }
    return true;
  }

  void decompress(OpId id, Codec codec, std::span<const Slice> reads, std::span<const Slice> writes) {
    if (!codec_.decode) return problem(id, "decompresses, but the run was given no codec");
    std::vector<std::uint8_t> planes[2];
    std::size_t at = 0;
    std::vector<double> cells = read(reads.subspan(0, 1));
    bool good = load(cells, at, planes[0]);
    if (reads.size() > 1) {
      cells = read(reads.subspan(1, 1));
      at = 0;
    }
    good = good && load(cells, at, planes[1]);
    if (!good) return problem(id, "decompresses bytes that no compress wrote");
    const DType type = g_.buffer(writes[0].buffer).dtype;
    write(writes, from_bytes(type, codec_.decode(codec, type, planes[0], planes[1])), false);
  }

  // Extents of a problem and its product.
  struct Problem {
    std::uint32_t rows = 0;
    std::uint32_t inner = 0;
    std::uint32_t cols = 0;
    bool has_w = false;
    std::vector<double> y;
    std::vector<bool> covered;
  };

  // Y = X W. A problem without weights is a bare collective: W is a stack of identities as wide as Y.
  std::map<std::uint32_t, Problem> products() const {
    std::map<std::uint32_t, Problem> all;
    for (const Placement& p : g_.inputs()) {
      Problem& q = all[p.problem];
      if (p.matrix == Matrix::w) {
        q.has_w = true;
        q.cols = std::max(q.cols, p.global_col + p.slice.cols);
      } else {
        q.rows = std::max(q.rows, p.global_row + p.slice.rows);
        q.inner = std::max(q.inner, p.global_col + p.slice.cols);
      }
    }
    for (const Placement& p : g_.outputs()) {
      Problem& q = all[p.problem];
      if (!q.has_w) q.cols = std::max(q.cols, p.global_col + p.slice.cols);
    }
    for (auto& [number, q] : all) {
      q.y.assign(std::size_t{q.rows} * q.cols, 0.0);
      q.covered.assign(q.y.size(), false);
      for (std::uint32_t i = 0; i < q.rows; ++i)
        for (std::uint32_t k = 0; k < q.inner && q.cols > 0; ++k) {
          const double x = reference_value(Matrix::x, number, i, k);
          double* row = q.y.data() + std::size_t{i} * q.cols;
          if (!q.has_w) {
            row[k % q.cols] += x;
            continue;
          }
          for (std::uint32_t j = 0; j < q.cols; ++j) row[j] += x * reference_value(Matrix::w, number, k, j);
        }
    }
    return all;
  }

  void compare() {
    std::map<std::uint32_t, Problem> all = products();
    std::set<std::uint32_t> used;  // a schedule may leave a problem of the layer alone
    for (const Placement& p : g_.outputs()) {
      Problem& q = all[p.problem];
      used.insert(p.problem);
      const std::vector<double> got = read(std::span(&p.slice, 1));
      for (std::uint32_t i = 0; i < p.slice.rows; ++i)
        for (std::uint32_t j = 0; j < p.slice.cols; ++j) {
          const std::size_t at = std::size_t{p.global_row + i} * q.cols + p.global_col + j;
          if (at >= q.y.size() || p.global_col + j >= q.cols) return problems_.push_back("an output lies outside Y");
          const double value = got[std::size_t{i} * p.slice.cols + j];
          q.covered[at] = true;
          if (value == q.y[at]) continue;
          problems_.push_back(fmt::format("Y[{}][{}] of problem {} on device {} is {}, not {}", p.global_row + i,
                                          p.global_col + j, p.problem, g_.buffer(p.slice.buffer).device.v, value,
                                          q.y[at]));
          if (problems_.size() >= 5) return;
          i = p.slice.rows - 1;  // one message a placement is enough
          break;
        }
    }
    if (g_.outputs().empty()) problems_.push_back("the graph has no output");
    for (const auto& [number, q] : all)
      if (used.contains(number) && std::find(q.covered.begin(), q.covered.end(), false) != q.covered.end())
        problems_.push_back(fmt::format("no device holds all of Y of problem {}", number));
  }

  const OpGraph& g_;
  EventGraph events_;
  SplitMix random_;
  const CodecHook& codec_;
  std::vector<std::vector<double>> memory_;  // by buffer
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> reference_run(const OpGraph& graph, std::uint64_t seed, const CodecHook& codec) {
  return Reference(graph, seed, codec).run();
}

}  // namespace overlap
