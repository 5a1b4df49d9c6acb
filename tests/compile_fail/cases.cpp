// One wrong line a case; everything else compiles (case control). CMakeLists.txt names the cases.
#include "overlap/ids.hpp"
#include "overlap/units.hpp"

using namespace overlap;
using namespace overlap::literals;

Seconds transfer(Bytes b, Bandwidth w) {
  return b / w;
}
DeviceId next(DeviceId d) {
  return DeviceId(d.v + 1);
}

int main() {
  Seconds t = transfer(1_MiB, 400_GBps) + 2.5_us;
  const double ratio = t / 1.0_s;
  DeviceId d = next(DeviceId(0U));
#ifdef CASE_add_time_to_bytes
  t = t + 1_MiB;
#endif
#ifdef CASE_bandwidth_from_number
  const Bandwidth b = 400e9;
#endif
#ifdef CASE_time_from_number
  t = 2.5;
#endif
#ifdef CASE_compare_time_with_bytes
  if (t < 1_MiB) return 1;
#endif
#ifdef CASE_wrong_division
  t = 400_GBps / 1_MiB;
#endif
#ifdef CASE_bytes_times_bandwidth_as_time
  t = 1_MiB * 400_GBps;
#endif
#ifdef CASE_id_of_other_kind
  d = LinkId(3U);
#endif
#ifdef CASE_id_from_number
  d = 3U;
#endif
#ifdef CASE_ratio_as_time
  t = t / t;
#endif
#ifdef CASE_gib_as_bandwidth
  t = transfer(1_MiB, 1_MiB);
#endif
#ifdef CASE_flop_as_bytes
  t = transfer(Flops(1), 400_GBps);
#endif
  return ratio > 0 && d.valid() ? 0 : 1;
}
