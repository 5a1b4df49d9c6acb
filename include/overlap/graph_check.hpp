// Checks of an OpGraph that need no times: well-formedness, races, and a reference run on real numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "overlap/op_graph.hpp"

namespace overlap {

// Every problem found, one sentence each; empty = well formed. Checks index ranges, slices inside their buffers and on
// the devices of the op's members, shapes of reads against writes and of parts against m, n, k, parts tiling the output
// without gap or overlap, lanes of distinct devices, tokens that can be given back, no cycle (lanes, deps, parts).
std::vector<std::string> validate(const OpGraph& graph);

// Pairs of accesses to overlapping slices, at least one a write, that no chain of lanes and dependencies orders (two
// commutative accumulations excepted). Vector clocks over lanes: O(ops x lanes). At most `limit` are named.
std::vector<std::string> find_races(const OpGraph& graph, std::size_t limit = 20);

// Real codecs for the reference run: bytes of values of a type to coded bytes (those final after the first pass, and
// the rest) and back. A transfer with a codec goes there and back; compress and decompress ops keep the coded bytes in
// u8 buffers: the first pass's in the first slice, the rest in the second (both in one where there is one), each behind
// its length in four cells. Without a codec, transfers just move and compress ops are a problem.
struct CodecHook {
  using ByteList = std::vector<std::uint8_t>;
  std::function<std::pair<ByteList, ByteList>(Codec, DType, std::span<const std::uint8_t>)> encode;
  std::function<ByteList(Codec, DType, const ByteList&, const ByteList&)> decode;
};

// Runs the graph on small integers (exact in double; codecs round-trip real bytes) in one random valid order
// chosen by `seed`, buffers poisoned with NaN first, and compares every output placement with Y = X W; a problem
// without weights is a bare collective (W a stack of identities as wide as Y). Empty = equal.
// Memory is that of the buffers: meant for scaled-down twins (schedule.hpp: twin()).
std::vector<std::string> reference_run(const OpGraph& graph, std::uint64_t seed, const CodecHook& codec = {});

// Same ops, lanes, dependencies, parts and slice counts, whatever the extents: a twin stands for the full graph.
bool same_structure(const OpGraph& a, const OpGraph& b);

// One JSON object: buffers, lanes, ops with dependencies, slices and parts. Stable order and bytes.
std::string to_json(const OpGraph& graph);

}  // namespace overlap
