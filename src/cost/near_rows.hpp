// Correction of the tile model by measured GEMMs whose kernels are not known: the model's error there, carried over to
// GEMMs near by (tile, waves, use of the last wave, m, n, k). A measured GEMM itself gets nearly its measured time.
#pragma once

#include "cost/gemm_plan.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap::cost {

// Fills the places of NearGemm and sorts them; after that near_factor() may be asked.
void place_near(KernelTable& t);
// Measured over predicted time of what lies near; 1 where the table has no rows near by.
double near_factor(const KernelTable& t, GemmShape shape, const GemmPlan& plan);
// Scales the times of a plan of the tile model.
void correct(GemmPlan& plan, const GemmQuery& q, const KernelTable& t);

}  // namespace overlap::cost
