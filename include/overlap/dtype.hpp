// Element types of operands, outputs and wire.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "overlap/units.hpp"

namespace overlap {

enum class DType : std::uint8_t { f64, f32, f16, bf16, fp8_e4m3, fp8_e5m2, u8 };

[[nodiscard]] Bytes size_of(DType t);
[[nodiscard]] std::string_view to_text(DType t);
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view text);

}  // namespace overlap
