// All-gather and reduce-scatter out of transfers, or as one library collective.
#include <array>

#include "schedule/blocks.hpp"

namespace overlap::blocks {
namespace {

DeviceId id(std::uint32_t rank) {
  return DeviceId(rank);
}

// First row of each owner's piece in a stack of pieces.
std::vector<std::uint32_t> offsets(std::span<const std::uint32_t> rows) {
  std::vector<std::uint32_t> out(rows.size() + 1, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) out[i + 1] = out[i] + rows[i];
  return out;
}

Slice sub_rows(const Slice& s, std::uint32_t row, std::uint32_t rows) {
  return {s.buffer, s.row + row, rows, s.col, s.cols};
}

Label numbered(Label l, DeviceId a, DeviceId b) {
  l.a = a.v;
  l.b = b.v;
  return l;
}

std::vector<LaneId> member_lanes(GraphBuilder& b, const Comm& comm) {
  std::vector<LaneId> lanes;
  for (std::uint32_t r = 0; r < comm.ranks; ++r) lanes.push_back(comm_lane(b, id(r), comm.first_lane));
  return lanes;
}

std::vector<std::uint32_t> gather_offsets(const GatherPlan& plan) {
  std::vector<std::uint32_t> rows;
  for (const auto& stack : plan.from) rows.push_back(rows_of(stack));
  return offsets(rows);
}

void library_gather(GraphBuilder& b, const Comm& comm, const GatherPlan& plan, Arrivals& arrivals) {
  std::vector<Slice> reads;
  std::vector<Dep> deps;
  for (std::uint32_t r = 0; r < comm.ranks; ++r) {
    reads.insert(reads.end(), plan.from[r].begin(), plan.from[r].end());
    if (plan.from[r].empty()) reads.push_back(sub_rows(plan.to[r], 0, 0));  // nothing to give
    deps.insert(deps.end(), plan.ready[r].begin(), plan.ready[r].end());
  }
  const OpId op =
      b.collective(member_lanes(b, comm), {CollectiveKind::all_gather, CollectiveAlgorithm::automatic, comm.channels},
                   reads, plan.to, {.deps = deps, .label = b.label("all-gather")});
  for (std::uint32_t h = 0; h < comm.ranks; ++h)
    for (std::uint32_t o = 0; o < comm.ranks; ++o) arrivals.at(id(h), id(o)) = {op, {}};
}

void direct_gather(GraphBuilder& b, const Comm& comm, const GatherPlan& plan, Arrivals& arrivals) {
  for (std::uint32_t shift = 1; shift < comm.ranks; ++shift) {
    for (std::uint32_t o = 0; o < comm.ranks; ++o) {
      const std::uint32_t rows = plan.first_row[o + 1] - plan.first_row[o];
      const DeviceId holder = comm.next(id(o), shift);
      if (rows == 0) continue;
      const Slice to = gathered_piece(plan, holder, id(o));
      const OpId op =
          b.transfer(comm_lane(b, id(o), comm.first_lane + (shift - 1) % comm.lanes), comm.transfer, plan.from[o],
                     std::array{to}, {.deps = plan.ready[o], .label = numbered(plan.label, id(o), holder)});
      arrivals.at(holder, id(o)) = {op, {}};
    }
  }
}

void ring_gather(GraphBuilder& b, const Comm& comm, const GatherPlan& plan, Arrivals& arrivals) {
  std::vector<Dep> last(comm.ranks);  // by owner: the hop before
  for (std::uint32_t hop = 0; hop + 1 < comm.ranks; ++hop) {
    for (std::uint32_t o = 0; o < comm.ranks; ++o) {
      const std::uint32_t rows = plan.first_row[o + 1] - plan.first_row[o];
      if (rows == 0) continue;
      const DeviceId from = comm.next(id(o), hop);
      const DeviceId holder = comm.next(id(o), hop + 1);
      const Slice to = gathered_piece(plan, holder, id(o));
      const LaneId lane = comm_lane(b, from, comm.first_lane);
      const Label label = numbered(plan.label, id(o), holder);
      if (hop == 0) {
        last[o].op =
            b.transfer(lane, comm.transfer, plan.from[o], std::array{to}, {.deps = plan.ready[o], .label = label});
      } else {
        const Slice source = gathered_piece(plan, from, id(o));
        last[o].op = b.transfer(lane, comm.transfer, std::array{source}, std::array{to},
                                {.deps = std::array{last[o]}, .label = label});
      }
      arrivals.at(holder, id(o)) = last[o];
    }
  }
}

// Buffers that receive partial pieces from other ranks; slot `j` of owner-sized rows.
struct Landing {
  BufferId buffer;
  std::uint32_t next_row = 0;
};

class Reducer {
 public:
  Reducer(GraphBuilder& b, const Comm& comm, const ReducePlan& plan, DType wire)
      : b_(b), comm_(comm), plan_(plan), add_(b.label("add piece {}")) {
    for (const Slice& s : plan.to) rows_.push_back(s.rows);
    at_ = offsets(rows_);
    wire_ = wire;
  }

  void library(std::vector<OpId>& done);
  void direct(std::vector<OpId>& done);
  void ring(std::vector<OpId>& done);

 private:
  [[nodiscard]] const std::vector<Dep>& ready(DeviceId rank, DeviceId owner) const {
    return plan_.ready[rank.index() * comm_.ranks + owner.index()];
  }
  [[nodiscard]] Slice partial(DeviceId rank, DeviceId owner) const {
    return sub_rows(plan_.partial[rank.index()], at_[owner.index()], rows_[owner.index()]);
  }
  [[nodiscard]] Elementwise add_work(DeviceId at) const {
    Elementwise e;
    e.kind = ElementwiseKind::add;
    if (!plan_.add_ctas.empty()) e.ctas = plan_.add_ctas[at.index()];
    return e;
  }
  // A buffer of `rows` rows on each device, as `rows_on` says.
  template <class RowsOn>
  void make_landings(RowsOn rows_on) {
    for (std::uint32_t r = 0; r < comm_.ranks; ++r) {
      const std::uint32_t cols = plan_.partial[r].cols;
      landing_.push_back({b_.buffer(id(r), rows_on(r), cols, wire_, BufferRole::scratch, "received partial")});
    }
  }
  Slice land(DeviceId d, std::uint32_t rows) {
    Landing& l = landing_[d.index()];
    const Slice s = b_.rows(l.buffer, l.next_row, rows);
    l.next_row += rows;
    return s;
  }
  void ring_hop(std::uint32_t hop, std::vector<OpId>& done);

  GraphBuilder& b_;
  const Comm& comm_;
  const ReducePlan& plan_;
  DType wire_ = DType::bf16;
  Label add_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> at_;
  std::vector<Landing> landing_;
  std::vector<Dep> deps_;
  std::vector<OpId> held_;    // by owner: op that completed the travelling sum
  std::vector<Slice> moved_;  // by owner: where it landed in this hop
};

void Reducer::library(std::vector<OpId>& done) {
  std::vector<Dep> deps;
  for (const auto& list : plan_.ready)
    for (const Dep& d : list)
      if (deps.empty() || deps.back() != d) deps.push_back(d);
  const OpId op = b_.collective(member_lanes(b_, comm_),
                                {CollectiveKind::reduce_scatter, CollectiveAlgorithm::automatic, comm_.channels},
                                plan_.partial, plan_.to, {.deps = deps, .label = b_.label("reduce-scatter")});
  done.assign(comm_.ranks, op);
}

void Reducer::direct(std::vector<OpId>& done) {
  const std::uint32_t p = comm_.ranks;
  make_landings([&](std::uint32_t r) { return rows_[r] * (p - 1); });
  std::vector<std::vector<Slice>> reads(p);
  std::vector<std::vector<Dep>> arrived(p);
  for (std::uint32_t o = 0; o < p; ++o) {
    reads[o].push_back(partial(id(o), id(o)));
    arrived[o] = ready(id(o), id(o));
  }
  for (std::uint32_t shift = 1; shift < p; ++shift) {
    for (std::uint32_t r = 0; r < p; ++r) {
      const DeviceId owner = comm_.next(id(r), shift);
      const std::uint32_t rows = rows_[owner.index()];
      if (rows == 0) continue;
      const Slice to = land(owner, rows);
      const OpId op = b_.transfer(comm_lane(b_, id(r), comm_.first_lane + (shift - 1) % comm_.lanes), comm_.transfer,
                                  std::array{partial(id(r), owner)}, std::array{to},
                                  {.deps = ready(id(r), owner), .label = numbered(plan_.label, owner, owner)});
      reads[owner.index()].push_back(to);
      arrived[owner.index()].push_back({op, {}});
    }
  }
  done.assign(p, {});
  for (std::uint32_t o = 0; o < p; ++o) {
    if (rows_[o] == 0) continue;
    done[o] = b_.elementwise(reduce_lane(b_, id(o), comm_.first_lane), add_work(id(o)), reads[o],
                             std::array{plan_.to[o]}, {.deps = arrived[o], .label = numbered(add_, id(o), id(o))});
  }
}

// The sum for owner o starts on the next rank of the ring and comes home after P-1 hops. Copies land beside the partial
// piece and an add joins them; SM-driven movers add into it, except on the last hop, which lands and is added to `to`.
void Reducer::ring(std::vector<OpId>& done) {
  const std::uint32_t p = comm_.ranks;
  const bool adds = comm_.transfer.mover == Mover::sm;
  make_landings([&](std::uint32_t r) {
    const DeviceId first = comm_.previous(id(r));  // its sum starts here
    return adds ? rows_[r] : at_[p] - rows_[first.index()];
  });
  held_.assign(p, {});
  moved_.assign(p, {});
  done.assign(p, {});
  for (std::uint32_t hop = 0; hop + 1 < p; ++hop) ring_hop(hop, done);
}

void Reducer::ring_hop(std::uint32_t hop, std::vector<OpId>& done) {
  const std::uint32_t p = comm_.ranks;
  const bool last = hop + 2 == p;
  for (std::uint32_t o = 0; o < p; ++o) {
    if (rows_[o] == 0) continue;
    const DeviceId from = comm_.next(id(o), hop + 1);
    const DeviceId to = comm_.next(id(o), hop + 2);
    deps_.clear();
    if (hop == 0) deps_ = ready(from, id(o));
    if (hop > 0) deps_.push_back({held_[o], {}});
    Transfer work = comm_.transfer;
    work.accumulate = comm_.transfer.mover == Mover::sm && !last;
    if (work.accumulate) deps_.insert(deps_.end(), ready(to, id(o)).begin(), ready(to, id(o)).end());
    moved_[o] = work.accumulate ? partial(to, id(o)) : land(to, rows_[o]);
    held_[o] = b_.transfer(comm_lane(b_, from, comm_.first_lane), work, std::array{partial(from, id(o))},
                           std::array{moved_[o]}, {.deps = deps_, .label = numbered(plan_.label, id(o), to)});
  }
  for (std::uint32_t o = 0; o < p; ++o) {
    if (rows_[o] == 0 || (comm_.transfer.mover == Mover::sm && !last)) continue;
    const DeviceId at = comm_.next(id(o), hop + 2);
    deps_ = ready(at, id(o));
    deps_.push_back({held_[o], {}});
    const Slice own = partial(at, id(o));
    held_[o] =
        b_.elementwise(reduce_lane(b_, at, comm_.first_lane), add_work(at), std::array{own, moved_[o]},
                       std::array{last ? plan_.to[o] : own}, {.deps = deps_, .label = numbered(add_, id(o), at)});
    if (last) done[o] = held_[o];
  }
}

}  // namespace

void all_gather(GraphBuilder& b, const Comm& comm, GatherPlan& plan, Arrivals& arrivals) {
  plan.first_row = gather_offsets(plan);
  if (comm.ranks == 1) return;
  if (comm.path != Path::library) {
    const std::size_t copies = std::size_t{comm.ranks} * (comm.ranks - 1);
    b.reserve({.ops = copies, .slices = 2 * copies, .deps = copies});
  }
  switch (comm.path) {
    case Path::library:
      return library_gather(b, comm, plan, arrivals);
    case Path::direct:
      return direct_gather(b, comm, plan, arrivals);
    case Path::ring:
      return ring_gather(b, comm, plan, arrivals);
  }
}

Slice gathered_piece(const GatherPlan& plan, DeviceId holder, DeviceId owner) {
  std::uint32_t row = plan.first_row[owner.index()];
  if (plan.remote_only && owner.v > holder.v)
    row -= plan.first_row[holder.index() + 1] - plan.first_row[holder.index()];
  return sub_rows(plan.to[holder.index()], row, plan.first_row[owner.index() + 1] - plan.first_row[owner.index()]);
}

void gathered_stack(const Comm& comm, const GatherPlan& plan, DeviceId holder, std::vector<Slice>& stack) {
  if (comm.ranks > 1 && comm.path == Path::library) return push(stack, plan.to[holder.index()]);
  for (std::uint32_t o = 0; o < comm.ranks; ++o) {
    if (id(o) == holder) {
      for (const Slice& s : plan.from[o]) push(stack, s);
    } else {
      push(stack, gathered_piece(plan, holder, id(o)));
    }
  }
}

void reduce_scatter(GraphBuilder& b, const Comm& comm, const ReducePlan& plan, DType wire, std::vector<OpId>& done) {
  Reducer reducer(b, comm, plan, wire);
  switch (comm.path) {
    case Path::library:
      return reducer.library(done);
    case Path::direct:
      return reducer.direct(done);
    case Path::ring:
      return reducer.ring(done);
  }
}

}  // namespace overlap::blocks
