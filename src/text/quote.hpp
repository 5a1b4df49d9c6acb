// Text put inside other text: JSON strings and numbers, fields of CSV, XML. The one place that escapes.
#pragma once

#include <string>
#include <string_view>

namespace overlap {

std::string json_string(std::string_view text);  // quoted and escaped (RFC 8259)
std::string json_number(double v);               // shortest form that reads back the same; CheckError when not finite
std::string csv_field(std::string_view text);    // quoted when it holds a comma, a quote or a line break (RFC 4180)
std::string xml_text(std::string_view text);     // for element text and attribute values

}  // namespace overlap
