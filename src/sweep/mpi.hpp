// Sweeps over many machines with MPI. The MPI half is a module of its own (overlapsim_mpi.so beside the program),
// loaded only under mpirun, so that a plain run does not pay for it and a build without MPI works.
#pragma once

#include "overlap/sweep.hpp"

namespace overlap::sweep {

// Whether mpirun (srun with PMI) started more than one of us, and which one this is: 0 where not.
bool under_mpi();
int mpi_rank();

// Rank 0 hands out cells one by one and writes; the others evaluate. Throws InputError when the module is missing.
SweepOutcome run_under_mpi(const Study& study, const SweepOptions& options);

// The module's entry point.
using RunMpi = void (*)(const Study&, const SweepOptions&, SweepOutcome&);
inline constexpr const char* kMpiEntry = "overlapsim_run_mpi";

}  // namespace overlap::sweep
