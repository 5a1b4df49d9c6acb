// What each lane of a device did, ready to draw.
#pragma once

#include <string>
#include <vector>

#include "overlap/analysis.hpp"

namespace overlap {

struct Bar {
  OpId op;
  Activity activity = Activity::compute;
  Seconds admitted;  // of this device's member
  Seconds begin;
  Seconds end;
};
struct LaneRow {
  LaneId lane;
  std::string name;
  std::vector<Bar> bars;  // in lane order
};
// Rows that did the same at the same times (to 1 % of the makespan) are drawn once: "comm (7 alike)".
std::vector<LaneRow> without_twins(std::vector<LaneRow> rows, Seconds makespan);
// Lanes of the device that have ops, by lane index.
std::vector<LaneRow> lane_rows(const RunView& run, DeviceId device);
// Device whose ops end last; ties: the lowest.
DeviceId last_device_of(const RunView& run);

}  // namespace overlap
