#include "overlap/dtype.hpp"

#include <array>
#include <utility>

namespace overlap {
namespace {
struct Row {
  DType type;
  std::string_view name;
  double bytes;
};
constexpr std::array kRows = {
    Row{DType::f64, "f64", 8},   Row{DType::f32, "f32", 4},           Row{DType::f16, "f16", 2},
    Row{DType::bf16, "bf16", 2}, Row{DType::fp8_e4m3, "fp8_e4m3", 1}, Row{DType::fp8_e5m2, "fp8_e5m2", 1},
    Row{DType::u8, "u8", 1}};
}  // namespace

Bytes size_of(DType t) {
  return Bytes(kRows[static_cast<std::size_t>(t)].bytes);
}
std::string_view to_text(DType t) {
  return kRows[static_cast<std::size_t>(t)].name;
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (const Row& r : kRows) {
    if (r.name == text) return r.type;
  }
  return std::nullopt;
}

}  // namespace overlap
