#include <array>

#include "topology/kinds.hpp"

namespace overlap {

std::span<const Generator> generators() {
  static const std::array table = {
      ring_kind(), full_mesh_kind(), switched_kind(), torus_kind(), numa_pcie_kind(), listed_kind(),
  };
  return table;
}

}  // namespace overlap
