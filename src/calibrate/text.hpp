// Small parts of text that the readers share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/statistics.hpp"

namespace overlap::calibrate {

std::string lower(std::string_view text);
std::string_view trimmed(std::string_view text);
std::vector<std::string> words(std::string_view text);  // separated by blanks
std::vector<std::string> csv_fields(std::string_view line, char separator);
std::vector<std::string_view> lines_of(std::string_view text);
bool contains(std::string_view text, std::string_view part);
// The whole field as a finite number; NaN, infinities and anything else give nothing.
std::optional<double> number(std::string_view field);
// The collective that a name means ("all_reduce_perf", "AllReduce", "alltoall"), as tables call it; empty if none.
std::string collective_kind(std::string_view text);
// Bus bandwidth over algorithm bandwidth of a collective over n devices (nccl-tests' definition).
double bus_factor(std::string_view kind, double members);

}  // namespace overlap::calibrate
