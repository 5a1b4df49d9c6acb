// Keys of every kind of object in our files. A test holds them against the JSON Schemas.
#pragma once

#include "config/reader.hpp"

namespace overlap::config {

KeySet device_keys();
KeySet peak_keys();
KeySet gemm_keys();
KeySet stream_keys();
KeySet collective_keys();
KeySet knot_keys();
KeySet power_keys();
KeySet sm_groups_keys();
KeySet own_kernels_keys();

KeySet workload_file_keys();
KeySet layer_keys();

KeySet experiment_keys();
KeySet workload_choice_keys();  // {"file": ..., "layers": ...} in an experiment
KeySet device_choice_keys();
KeySet schedule_choice_keys();
KeySet cost_keys();
KeySet effect_keys();
KeySet penalty_keys();
KeySet simulation_keys();
KeySet background_keys();
KeySet straggler_keys();

}  // namespace overlap::config
