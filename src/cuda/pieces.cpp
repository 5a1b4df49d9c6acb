#include "cuda/pieces.hpp"

#include <algorithm>

#include "overlap/error.hpp"

namespace overlap::cuda {
namespace {

std::uint64_t element(const OpGraph& graph, const Slice& s) {
  return static_cast<std::uint64_t>(size_of(graph.buffer(s.buffer).dtype).si());
}

// Walks a stack row by row, or byte by byte where a slice has no gaps.
class Cursor {
 public:
  Cursor(const OpGraph& graph, std::span<const Slice> stack) : graph_(graph), stack_(merged(stack)) { skip_empty(); }
  [[nodiscard]] bool done() const { return at_ == stack_.size(); }
  [[nodiscard]] BufferId buffer() const { return stack_[at_].buffer; }
  [[nodiscard]] std::uint64_t row_bytes() const { return stack_[at_].cols * element(graph_, stack_[at_]); }
  [[nodiscard]] std::uint64_t pitch() const {
    return graph_.buffer(stack_[at_].buffer).cols * element(graph_, stack_[at_]);
  }
  [[nodiscard]] bool gapless() const { return row_bytes() == pitch() || stack_[at_].rows == 1; }
  [[nodiscard]] bool at_row_start() const { return used_ % row_bytes() == 0; }
  [[nodiscard]] std::uint64_t left() const { return row_bytes() * stack_[at_].rows - used_; }
  [[nodiscard]] std::uint64_t offset() const {
    const Slice& s = stack_[at_];
    const std::uint64_t row = s.row + used_ / row_bytes();
    return row * pitch() + s.col * element(graph_, s) + used_ % row_bytes();
  }
  void take(std::uint64_t bytes) {
    used_ += bytes;
    if (left() == 0) {
      ++at_;
      used_ = 0;
      skip_empty();
    }
  }

 private:
  void skip_empty() {
    while (at_ < stack_.size() && stack_[at_].elements() == 0) ++at_;
  }
  const OpGraph& graph_;
  std::vector<Slice> stack_;
  std::size_t at_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace

std::vector<Slice> merged(std::span<const Slice> stack) {
  std::vector<Slice> out;
  for (const Slice& s : stack) {
    if (!out.empty()) {
      Slice& last = out.back();
      if (last.buffer == s.buffer && last.col == s.col && last.cols == s.cols && last.row + last.rows == s.row) {
        last.rows += s.rows;
        continue;
      }
    }
    out.push_back(s);
  }
  return out;
}

std::vector<CopyPiece> copy_pieces(const OpGraph& graph, std::span<const Slice> reads, std::span<const Slice> writes) {
  std::vector<CopyPiece> out;
  Cursor r(graph, reads);
  Cursor w(graph, writes);
  while (!r.done() && !w.done()) {
    CopyPiece p{r.buffer(), w.buffer(), r.offset(), w.offset(), 0, 0, 0, 1};
    if (r.gapless() && w.gapless()) {
      p.bytes = std::min(r.left(), w.left());
      p.src_pitch = p.dst_pitch = p.bytes;
    } else if (r.row_bytes() == w.row_bytes() && r.at_row_start() && w.at_row_start()) {
      p.bytes = r.row_bytes();
      p.rows = std::min(r.left(), w.left()) / p.bytes;
      p.src_pitch = r.pitch();
      p.dst_pitch = w.pitch();
    } else {
      throw InputError("", "a copy between rows of different length needs both sides without gaps");
    }
    r.take(p.bytes * p.rows);
    w.take(p.bytes * p.rows);
    out.push_back(p);
  }
  if (!r.done() || !w.done()) throw InputError("", "a copy reads and writes different volumes");
  return out;
}

bool contiguous(const OpGraph& graph, std::span<const Slice> stack, Run& run) {
  run = {};
  for (const Slice& s : stack) {
    if (s.elements() == 0) continue;
    const std::uint64_t size = element(graph, s);
    const std::uint64_t pitch = graph.buffer(s.buffer).cols * size;
    if (s.rows > 1 && s.cols * size != pitch) return false;
    const std::uint64_t begin = s.row * pitch + s.col * size;
    if (!run.buffer.valid()) {
      run = {s.buffer, begin, 0};
    } else if (run.buffer != s.buffer || run.offset + run.bytes != begin) {
      return false;
    }
    run.bytes += s.elements() * size;
  }
  return run.buffer.valid();
}

std::vector<Product> products(const OpGraph& graph, const Part& part, bool accumulate) {
  const std::vector<Slice> as = merged(graph.slices(part.a));
  const std::vector<Slice> bs = merged(graph.slices(part.b));
  const std::vector<Slice> cs = merged(graph.slices(part.c));
  std::vector<Product> out;
  std::size_t ia = 0;
  std::size_t ic = 0;
  std::uint32_t used_a = 0;
  std::uint32_t used_c = 0;
  while (ia < as.size() && ic < cs.size()) {
    const std::uint32_t rows = std::min(as[ia].rows - used_a, cs[ic].rows - used_c);
    std::uint32_t k = 0;
    for (const Slice& b : bs) {
      Slice a = as[ia];
      a.row += used_a;
      a.rows = rows;
      a.col += k;
      a.cols = b.rows;
      Slice c = cs[ic];
      c.row += used_c;
      c.rows = rows;
      if (rows > 0 && b.rows > 0) out.push_back({a, b, c, accumulate || k > 0});
      k += b.rows;
    }
    used_a += rows;
    used_c += rows;
    if (used_a == as[ia].rows) ++ia, used_a = 0;
    if (used_c == cs[ic].rows) ++ic, used_c = 0;
  }
  return out;
}

}  // namespace overlap::cuda
