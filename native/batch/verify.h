// Fitted values by definition, apart from the tiles and the pair steps. Baseline code.
//
//     f_r = sum_u a_u k(x_r, x_u)        k from the points themselves: differences, libm's exp and tanh, float64
//
// for a sample of the rows and those farthest from the centre, where the tiles' sums cancel most; and for every row that
// could decide the violation: with e the largest error found so far, those whose gradient is within 4 e of its group's
// extremes (as in maxmargin/problems/verification.py). A problem whose verified violation misses tol is no longer
// optimal. A problem that is stopped meanwhile is not verified, and has status STOPPED.
#pragma once
#include "batch/batch.h"

namespace batch {

void verify(const Batch& batch, int64_t problem, const Stop* stop);

}  // namespace batch
