// Device files as values: what a command edits and writes again.
#pragma once

#include <string>
#include <string_view>

#include "config/value.hpp"
#include "overlap/device.hpp"

namespace overlap::config {

// The file with its bases merged in. Throws InputError.
[[nodiscard]] Value device_value(const std::string& path);
// The device that such a value describes; `file` stands in messages, and its folder is where files are looked up.
[[nodiscard]] Device device_from(const Value& value, const std::string& file);

// Sets a member of an object, at "gemm/fixed"; objects on the way are made where they are missing.
void set_member(Value& object, std::string_view path, Value value);
[[nodiscard]] Value text_value(std::string_view text);
[[nodiscard]] Value number_value(double v);
[[nodiscard]] Value bool_value(bool v);

}  // namespace overlap::config
