// Keys of study files; the schema is tested against them.
#pragma once

#include <string>
#include <vector>

#include "config/reader.hpp"

namespace overlap::sweep {

config::KeySet study_keys();
config::KeySet axis_keys();
config::KeySet zip_keys();
config::KeySet filter_keys();
config::KeySet uncertain_keys();
config::KeySet sample_keys();

const std::vector<std::string>& selector_names();

}  // namespace overlap::sweep
