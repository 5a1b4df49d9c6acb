// What the JSON of an axis value says, as text and as a number.
#pragma once

#include <optional>
#include <string>

#include "config/value.hpp"

namespace overlap::sweep {

// For CSV cells and labels: a string without its quotes, the name of an object that has one, the one item of a list,
// anything else as it stands.
std::string plain_text(const std::string& json);
// The number at the start of a JSON number or of a string with a unit ("20 GB/s"): nullopt when there is none.
std::optional<double> number_of(const std::string& json);

}  // namespace overlap::sweep
