// Fits of a table of library kernels (overlap/kernel_table.hpp).
#pragma once

#include <vector>

#include "calibrate/fit.hpp"
#include "cost/kernel_model.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap::calibrate {

cost::KernelCase case_of(const KernelTable& t, const MeasuredGemm& g);
// Rows with kernel names into the table: kernels that it lacks are added, a GEMM that it has is replaced.
void add_rows(KernelTable& t, const std::vector<TimedGemm>& rows);
// Coefficients of time; those of the larger kernels go into `fit` (may be null).
void fit_kernel_times(KernelTable& t, Fit* fit);
// Coefficients of the library's own estimate, so that the kernels that ran are the likeliest choices. Returns the share
// of plain GEMMs whose kernel and split the table then names.
double fit_choice(KernelTable& t);

}  // namespace overlap::calibrate
