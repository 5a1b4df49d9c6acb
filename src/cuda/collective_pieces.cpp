#include "cuda/collective_pieces.hpp"

#include <algorithm>

#include "overlap/error.hpp"

namespace overlap::cuda {
namespace {

using Stack = std::vector<Slice>;

// The i-th of n equal groups of slices.
Stack group(std::span<const Slice> all, std::size_t n, std::size_t i) {
  const std::size_t each = all.size() / n;
  return {all.begin() + static_cast<std::ptrdiff_t>(i * each),
          all.begin() + static_cast<std::ptrdiff_t>((i + 1) * each)};
}

void append(Stack& to, const Stack& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::uint64_t volume(const Stack& stack) {
  std::uint64_t sum = 0;
  for (const Slice& s : stack) sum += s.elements();
  return sum;
}

// Piece i of n equal volumes of a stack, cut at rows.
Stack share(const Stack& stack, std::size_t n, std::size_t i) {
  const std::uint64_t total = volume(stack);
  const std::uint64_t begin = total * i / n;
  const std::uint64_t end = total * (i + 1) / n;
  Stack out;
  std::uint64_t at = 0;
  for (Slice s : stack) {
    const std::uint64_t from = std::max(begin, at);
    const std::uint64_t to = std::min(end, at + s.elements());
    if (from < to) {
      if ((from - at) % s.cols != 0 || (to - at) % s.cols != 0) {
        throw InputError("", "a collective's pieces do not fall on whole rows");
      }
      Slice cut = s;
      cut.row += static_cast<std::uint32_t>((from - at) / s.cols);
      cut.rows = static_cast<std::uint32_t>((to - from) / s.cols);
      out.push_back(cut);
    }
    at += s.elements();
  }
  return out;
}

struct Members {
  std::vector<Stack> reads;
  std::vector<Stack> writes;
};

Members members_of(const OpGraph& graph, const Op& op, bool one_reader) {
  const std::size_t n = op.lanes.size();
  Members m;
  for (std::size_t i = 0; i < n; ++i) {
    m.reads.push_back(one_reader ? (i == 0 ? group(graph.slices(op.reads), 1, 0) : Stack{})
                                 : group(graph.slices(op.reads), n, i));
    m.writes.push_back(group(graph.slices(op.writes), n, i));
  }
  return m;
}

void native_runs(const OpGraph& graph, const Members& m, CollectivePieces& out) {
  std::vector<Run> send;
  std::vector<Run> recv;
  for (std::size_t i = 0; i < m.writes.size(); ++i) {
    Run r;
    if (!m.reads[i].empty()) {
      if (!contiguous(graph, m.reads[i], r)) return;
    }
    send.push_back(r);
    if (!contiguous(graph, m.writes[i], r)) return;
    recv.push_back(r);
  }
  out.send = send;
  out.recv = recv;
}

// all_gather, all_to_all, broadcast: what each member receives, by copies.
void gather_copies(const OpGraph& graph, CollectiveKind kind, const Members& m, CollectivePieces& out) {
  const std::size_t n = m.writes.size();
  for (std::size_t to = 0; to < n; ++to) {
    Stack from;
    if (kind == CollectiveKind::broadcast) {
      from = m.reads[0];
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        append(from, kind == CollectiveKind::all_to_all ? share(m.reads[i], n, to) : m.reads[i]);
      }
    }
    out.copies.push_back(copy_pieces(graph, from, m.writes[to]));
  }
}

void reduce_sums(const OpGraph& graph, CollectiveKind kind, const Members& m, CollectivePieces& out) {
  const std::size_t n = m.writes.size();
  for (std::size_t to = 0; to < n; ++to) {
    std::vector<Stack> terms;
    for (const Stack& reads : m.reads) terms.push_back(share(reads, n, to));
    const Stack mine = kind == CollectiveKind::all_reduce ? share(m.writes[to], n, to) : m.writes[to];
    out.sums.push_back(sum_pieces(graph, terms, mine, false));
    if (kind != CollectiveKind::all_reduce) continue;
    std::vector<CopyPiece> spread;
    for (std::size_t other = 0; other < n; ++other) {
      if (other == to) continue;
      const auto pieces = copy_pieces(graph, mine, share(m.writes[other], n, to));
      spread.insert(spread.end(), pieces.begin(), pieces.end());
    }
    out.spread.push_back(spread);
  }
}

}  // namespace

bool CollectivePieces::point_to_point() const {
  if (copies.empty()) return false;
  return std::all_of(copies.begin(), copies.end(), [](const std::vector<CopyPiece>& list) {
    return std::all_of(list.begin(), list.end(), [](const CopyPiece& p) { return p.rows == 1; });
  });
}

std::vector<SumPiece> sum_pieces(const OpGraph& graph, const std::vector<std::vector<Slice>>& groups,
                                 std::span<const Slice> writes, bool accumulate) {
  std::vector<std::vector<CopyPiece>> lists;
  for (const Stack& g : groups) lists.push_back(copy_pieces(graph, g, writes));
  if (accumulate) lists.push_back(copy_pieces(graph, writes, writes));
  std::vector<SumPiece> out;
  for (std::size_t p = 0; p < lists.front().size(); ++p) {
    SumPiece sum;
    for (const auto& list : lists) {
      if (list.size() != lists.front().size() || list[p].dst_offset != lists.front()[p].dst_offset ||
          list[p].bytes != lists.front()[p].bytes || list[p].rows != lists.front()[p].rows) {
        throw InputError("", "a sum's terms are cut in different ways");
      }
      sum.terms.push_back(list[p]);
    }
    out.push_back(std::move(sum));
  }
  return out;
}

CollectivePieces collective_pieces(const OpGraph& graph, const Op& op, bool by_copies) {
  const auto& c = std::get<Collective>(op.work);
  const Members m = members_of(graph, op, c.kind == CollectiveKind::broadcast);
  CollectivePieces out;
  native_runs(graph, m, out);
  if (c.kind == CollectiveKind::reduce_scatter || c.kind == CollectiveKind::all_reduce) {
    if (by_copies) reduce_sums(graph, c.kind, m, out);
  } else {
    gather_copies(graph, c.kind, m, out);
  }
  return out;
}

}  // namespace overlap::cuda
