// Values of either precision, in float64. For level sources.
#pragma once
#include "core/simd.h"

namespace LEVEL {

// As many values as a vector of float64 holds.
INLINE Vec<double> load_double(const double* p) { return load(p); }
INLINE Vec<double> load_double(const float* p) {
  typedef float Half __attribute__((vector_size(LANES<double> * sizeof(float))));
  Half half;
  __builtin_memcpy(&half, p, sizeof half);
  return __builtin_convertvector(half, Vec<double>);
}

}  // namespace LEVEL
