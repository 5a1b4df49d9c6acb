// One declaration a kind of topology; each is defined in the file of its name.
#pragma once

#include "topology/generator.hpp"

namespace overlap {

Generator ring_kind();
Generator full_mesh_kind();
Generator switched_kind();
Generator torus_kind();
Generator numa_pcie_kind();
Generator listed_kind();

}  // namespace overlap
