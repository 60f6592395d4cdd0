// The fused tile: kernel values of a few rows with a panel of WIDTH columns, all sums in registers.
//
//     s_ij = u_i + v_j + sum_k a_ik b_jk        (Laplacian: sum_k |a_ik - b_jk|),        value = function(s_ij)
//
//     EXP2   min(1, 2^s)          RBF: a = sqrt(2 gamma log2 e) x, u = v = -|a|^2 / 2
//     POWER  s^degree             linear, polynomial: a = sqrt(gamma) x, u = coef0
//     TANH   1 - 2 / (1 + 2^s)    sigmoid: a = sqrt(2 gamma log2 e) x, u = 2 log2(e) coef0
//     DECAY  2^-s                 Laplacian: a = gamma log2(e) x
//
// 2^t = 2^round(t) p(t - round(t)): adding 1.5 * 2^mantissa leaves round(t) in the low bits, from where it is shifted
// into the exponent; p has least relative error on [-1/2, 1/2] with p(0) = 1.
#pragma once
#include "batch/batch.h"
#include "core/simd.h"

namespace LEVEL::batch_code {
using namespace batch;

constexpr int TILE_ROWS = 6, TILE_VECTORS = REGISTERS == 32 ? 4 : 2;  // 24 or 12 sums leave registers for the operands
template <class T> constexpr int WIDTH = TILE_VECTORS * LANES<T>;

template <class T> struct Exponential;
template <> struct Exponential<float> {
  static constexpr int degree = 6, mantissa = 23;
  static constexpr float lowest = -100.0f;  // as good as zero, and sums of it are no slow subnormal numbers
  static constexpr float coefficients[] = {1.0f,           0.6931472055770995f, 0.24022648462281218f, 0.05550329035153784f,
                                           0.009618373251353281f, 0.0013399848290628f, 0.00015370704815769604f};
};
template <> struct Exponential<double> {
  static constexpr int degree = 12, mantissa = 52;
  static constexpr double lowest = -1000.0;
  static constexpr double coefficients[] = {1.0,
                                            0.6931471805599457,
                                            0.2402265069591023,
                                            0.05550410866479766,
                                            0.009618129107528638,
                                            0.0013333558152070699,
                                            0.000154035305918657,
                                            1.5252728390834948e-05,
                                            1.321531513067591e-06,
                                            1.018034643926382e-07,
                                            7.1217946569896405e-09,
                                            4.1062259441195653e-10,
                                            -7.068576522446367e-11};
};

template <class T> INLINE Vec<T> exp2(Vec<T> t) {
  using E = Exponential<T>;
  const Vec<T> magic = splat<T>(T(3) * T(int64_t(1) << (E::mantissa - 1)));
  t = maximum(minimum(t, splat<T>(-E::lowest)), splat<T>(E::lowest));
  const Vec<T> shifted = t + magic, rest = t - (shifted - magic);
  Vec<T> p = splat<T>(E::coefficients[E::degree]);
  unrolled<E::degree>([&](auto k) { p = p * rest + splat<T>(E::coefficients[E::degree - 1 - k]); });
  return (Vec<T>)((Ints<T>)p + ((Ints<T>)shifted << E::mantissa));
}

template <class T, int KIND> INLINE Vec<T> kernel_function(Vec<T> s, int degree) {
  if constexpr (KIND == EXP2) return exp2<T>(minimum(s, Vec<T>{}));
  if constexpr (KIND == DECAY) return exp2<T>(-s);
  if constexpr (KIND == TANH) return T(1) - T(2) / (T(1) + exp2<T>(s));
  if constexpr (KIND == POWER) {
    Vec<T> power = s;
    for (int k = 1; k < degree; k++) power *= s;
    return power;
  }
}

// use(r, k, value) takes vector k of row r. Sums begin with `begin` (rows x WIDTH values) where it is given.
// Not inlined: GCC would hoist the exponential's constants out of the caller's loops and spill sums for them.
template <class T, int KIND, int ROWS, class Use>
NOINLINE void tile(const T* const* rows, const T* u, const T* panel, const T* v, int64_t d, int degree, const T* begin,
                   Use use) {
  Vec<T> sum[ROWS][TILE_VECTORS];
  const T* a[ROWS];
  unrolled<ROWS>([&](auto r) {
    a[r] = rows[r];
    unrolled<TILE_VECTORS>([&](auto k) { sum[r][k] = splat<T>(u[r]) + load(v + k * LANES<T>); });
  });
  if (begin)
    unrolled<ROWS>([&](auto r) {
      unrolled<TILE_VECTORS>([&](auto k) { sum[r][k] += load(begin + r * WIDTH<T> + k * LANES<T>); });
    });
  for (int64_t q = 0; q < d; q++, panel += WIDTH<T>) {
    Vec<T> b[TILE_VECTORS];
    unrolled<TILE_VECTORS>([&](auto k) { b[k] = load(panel + k * LANES<T>); });
    unrolled<ROWS>([&](auto r) {
      const Vec<T> entry = splat<T>(a[r][q]);
      unrolled<TILE_VECTORS>([&](auto k) {
        if constexpr (KIND == DECAY)
          sum[r][k] += absolute_lanes<T>(entry - b[k]);
        else
          sum[r][k] += entry * b[k];
      });
    });
  }
  unrolled<ROWS>([&](auto r) {
    unrolled<TILE_VECTORS>([&](auto k) { use(r, k, kernel_function<T, KIND>(sum[r][k], degree)); });
  });
}

// One row with several panels at once: as fast as a tile while the panels are in the cache.
constexpr int STRIP_PANELS = 8 / TILE_VECTORS;
template <class T, int KIND>
NOINLINE void strip(const T* row, T u, const T* panels, const T* v, int64_t d, int degree, T* out) {
  Vec<T> sum[STRIP_PANELS][TILE_VECTORS];
  unrolled<STRIP_PANELS>([&](auto p) {
    unrolled<TILE_VECTORS>([&](auto k) { sum[p][k] = splat<T>(u) + load(v + (p * TILE_VECTORS + k) * LANES<T>); });
  });
  for (int64_t q = 0; q < d; q++) {
    const Vec<T> entry = splat<T>(row[q]);
    unrolled<STRIP_PANELS>([&](auto p) {
      unrolled<TILE_VECTORS>([&](auto k) {
        const Vec<T> b = load(panels + (p * d + q) * WIDTH<T> + k * LANES<T>);
        if constexpr (KIND == DECAY)
          sum[p][k] += absolute_lanes<T>(entry - b);
        else
          sum[p][k] += entry * b;
      });
    });
  }
  unrolled<STRIP_PANELS>([&](auto p) {
    unrolled<TILE_VECTORS>([&](auto k) {
      store(out + (p * TILE_VECTORS + k) * LANES<T>, kernel_function<T, KIND>(sum[p][k], degree));
    });
  });
}

// f(Int<KIND>{}) with the kind as a constant.
template <class F> INLINE void for_kind(int kind, F&& f) {
  if (kind == EXP2) return f(Int<EXP2>{});
  if (kind == POWER) return f(Int<POWER>{});
  if (kind == TANH) return f(Int<TANH>{});
  f(Int<DECAY>{});
}

}  // namespace LEVEL::batch_code
