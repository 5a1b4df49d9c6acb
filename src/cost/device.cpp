#include "overlap/device.hpp"

#include "overlap/error.hpp"

namespace overlap {

FlopRate Device::peak_of(DType t) const {
  if (const auto& p = peak[static_cast<std::size_t>(t)]) return *p;
  std::string known;
  for (std::size_t i = 0; i < peak.size(); ++i) {
    if (peak[i]) known += (known.empty() ? "" : ", ") + std::string(to_text(static_cast<DType>(i)));
  }
  throw InputError("", "device " + name + " states no peak rate for " + std::string(to_text(t)) + " (it knows " +
                           (known.empty() ? "none" : known) + ")");
}

}  // namespace overlap
