// Fitted values by definition, apart from the tiles and the pair steps. Baseline code, but for the sums of dense points
// (native/pair_sums).
//
//     f_r = sum_u a_u k(x_r, x_u)        k from the points themselves: differences, libm's exp and tanh, float64
//
// for a sample of the rows and those farthest from the centre, where the tiles' sums cancel most; and for every row that
// could decide the violation: with e the largest error found so far, those whose gradient is within 4 e of its group's
// extremes (as in maxmargin/problems/verification.py). A problem whose verified violation misses tol is no longer
// optimal. A problem that is stopped meanwhile is not verified, and has status STOPPED.
//
// Each row's sum is its own, in the order of the support vectors, so rows may be computed by several threads.
#pragma once
#include <functional>
#include <vector>

#include "batch/batch.h"

namespace batch {

// Does work(0, stop), ..., work(count - 1, stop), on one thread or several.
using EachTask = std::function<void(int64_t count, const std::function<void(int64_t, const Stop*)>& work)>;

class Verifier {
 public:
  explicit Verifier(const Batch& batch);
  void verify(int64_t problem, const EachTask& each) const;

 private:
  std::vector<int64_t> first_rows(int64_t first, int64_t second, int64_t n) const;
  const Batch& s_;
  std::vector<double> length_;  // root^2 |x - shift|^2 of each row that is used; empty for a stored matrix
};

}  // namespace batch
