// Time of a phase of equal flows that start together, for closed forms: the lone time of one flow, or what the most
// loaded link or port of the network allows (loads counted from the routes, rates shared evenly).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "schedule/blocks.hpp"

namespace overlap::blocks {

struct PhaseTime {
  Seconds time;
  bool uniform = false;  // every flow is as slow as the slowest, so that phases do not run into each other
};

PhaseTime phase_time(const Topology& topology, const PieceTimes& times,
                     std::span<const std::pair<DeviceId, DeviceId>> flows, Bytes each);
// No link and no limited port serves flows of both sets.
bool apart(const Topology& topology, std::span<const std::pair<DeviceId, DeviceId>> a,
           std::span<const std::pair<DeviceId, DeviceId>> b);
// One server that takes work as it becomes ready: end of all of it. Sorts `work` by date.
struct Release {
  Seconds at;
  Seconds work;
};
Seconds end_of(std::vector<Release>& work);
// P-1 hops round the ring.
PhaseTime ring_phase(const Topology& topology, const PieceTimes& times, const Comm& comm, Bytes each);
// Every rank to every other at once.
PhaseTime direct_phase(const Topology& topology, const PieceTimes& times, const Comm& comm, Bytes each);

}  // namespace overlap::blocks
