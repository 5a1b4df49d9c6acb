// How files spell the kinds of nodes and links, in the order of the enumerations.
#pragma once

#include <array>
#include <string_view>

namespace overlap {

inline constexpr std::array<std::string_view, 8> kNodeKinds = {"gpu",         "tpu",  "nvswitch", "switch",
                                                               "pcie_switch", "numa", "nic",      "host_memory"};
inline constexpr std::array<std::string_view, 8> kLinkKinds = {"nvlink", "pcie",     "inter_socket", "xgmi",
                                                               "ici",    "ethernet", "infiniband",   "internal"};

}  // namespace overlap
