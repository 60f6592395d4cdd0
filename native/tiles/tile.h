// The register tile: sums of a few rows with a panel of columns, and the kernel's function of them. For level sources.
#pragma once
#include "core/functions.h"
#include "tiles/tiles.h"

namespace LEVEL {

// TILE_ROWS * TILE_VECTORS sums stay in registers, beside TILE_VECTORS of the panel and one entry of a row (without FMA
// also a product): 29 of 32 registers, or 15 of 16.
constexpr int TILE_VECTORS = REGISTERS == 32 ? 4 : 2;
constexpr int TILE_ROWS = 6;
template <class T> constexpr int PANEL_WIDTH = TILE_VECTORS * LANES<T>;

// What is added up: products, absolute or squared differences; and whether u and v are terms of the sum.
template <int KIND> constexpr bool SQUARES = KIND == TILE_MATERN || KIND == TILE_RATIONAL;
template <int KIND> constexpr bool TERMS = KIND <= TILE_DECAY;

template <class T, int KIND> INLINE Vec<T> first_sum(T u, const T* v) {
  if constexpr (TERMS<KIND>) return splat<T>(u) + load(v);
  return Vec<T>{};
}
template <class T, int KIND> INLINE void add_term(Vec<T>& sum, Vec<T> a, Vec<T> b) {
  if constexpr (KIND == TILE_DECAY) {
    sum += absolute_lanes<T>(a - b);
  } else if constexpr (SQUARES<KIND>) {
    const Vec<T> difference = a - b;
    sum += difference * difference;
  } else {
    sum += a * b;
  }
}

// The functions of a sum s with the terms u and v
template <class T, int KIND> INLINE Vec<T> kernel_function(Vec<T> s, int degree) {
  if constexpr (KIND == TILE_EXP2) return exp2_in_range<T>(cut_below<T>(cut_above<T>(s, T(0))));
  if constexpr (KIND == TILE_DECAY) return exp2_in_range<T>(cut_below<T>(cut_above<T>(-s, T(0))));
  if constexpr (KIND == TILE_TANH) return tanh_of_exponent<T>(s);
  if constexpr (KIND == TILE_POWER) return integer_power<T>(s, degree);
}

// J_n(t) / pi for c = cos t
template <class T> INLINE Vec<T> angle_function(Vec<T> c, int order) {
  constexpr T INVERSE_PI = T(0.3183098861837906715);
  const Vec<T> share = T(1) - INVERSE_PI * arc_cosine<T>(c);
  if (order == 0) return share;
  const Vec<T> size = absolute_lanes<T>(c), sine = square_root_lanes<T>((T(1) - size) * (T(1) + size));
  if (order == 1) return INVERSE_PI * sine + share * c;
  return T(3) * INVERSE_PI * sine * c + share * (T(1) + T(2) * c * c);
}

// The functions of a sum t, u and v
template <class T, int KIND> INLINE Vec<T> kernel_function(Vec<T> t, T u, const T* v, double degree) {
  if constexpr (TERMS<KIND>) return kernel_function<T, KIND>(t, int(degree));
  if constexpr (KIND == TILE_MATERN) {
    const Vec<T> exponent = cut_above<T>(square_root_lanes<T>(t), Exp2<T>::RANGE), value = exp2_in_range<T>(-exponent);
    if (degree == 1) return value;
    const Vec<T> r = T(0.6931471805599453094) * exponent;
    return degree == 3 ? value * (T(1) + r) : value * (T(1) + r + r * r * T(1.0 / 3));
  }
  if constexpr (KIND == TILE_RATIONAL) return exp2_in_range<T>(cut_below<T>(T(-degree) * log2_of_one_plus<T>(t)));
  if constexpr (KIND == TILE_ANGLE) {
    const Vec<T> size = u * load(v);
    const Vec<T> c = minimum(splat<T>(T(1)), t / (size > T(0) ? size : splat<T>(T(1))));
    const Vec<T> J = angle_function<T>(maximum(splat<T>(T(-1)), c), int(degree));
    return degree == 0 ? J : degree == 1 ? J * size : J * size * size;
  }
  if constexpr (KIND == TILE_TANIMOTO) {
    const Vec<T> either = splat<T>(u) + load(v) - t;
    return either > T(0) ? t / either : T(1) + t;  // t is zero with the points, or NaN
  }
}

// use(r, k, values) receives vector k of row r, for R rows given by pointers. A function of its own: where it is inlined
// into a loop over tiles, GCC keeps the constants of the kernel's function in registers, and spills sums.
template <class T, int KIND, int R, class Use>
NOINLINE void dense_tile(const T* const (&rows)[R], const T (&u)[R], const T* panel, const T* v, int64_t d,
                         double degree, Use use) {
  Vec<T> s[R][TILE_VECTORS];
  unrolled<R>([&](auto r) {
    unrolled<TILE_VECTORS>([&](auto k) { s[r][k] = first_sum<T, KIND>(u[r], v + k * LANES<T>); });
  });
  const T* a[R];
  unrolled<R>([&](auto r) { a[r] = rows[r]; });
  for (int64_t q = 0; q < d; q++, panel += PANEL_WIDTH<T>) {
    Vec<T> b[TILE_VECTORS];
    unrolled<TILE_VECTORS>([&](auto k) { b[k] = load(panel + k * LANES<T>); });
    unrolled<R>([&](auto r) {
      const Vec<T> entry = splat<T>(a[r][q]);
      unrolled<TILE_VECTORS>([&](auto k) { add_term<T, KIND>(s[r][k], entry, b[k]); });
    });
  }
  unrolled<R>([&](auto r) {
    unrolled<TILE_VECTORS>(
        [&](auto k) { use(r, k, kernel_function<T, KIND>(s[r][k], u[r], v + k * LANES<T>, degree)); });
  });
}

// One sparse row with several panels, `panel_size` values apart; use(p, k, values) receives vector k of panel p.
template <class T, int KIND, int PANELS, class I, class Use>
NOINLINE void csr_tile(const I* indices, const T* data, int64_t entries, T u, const T* panels, int64_t panel_size,
                       const T* v, double degree, Use use) {
  Vec<T> s[PANELS][TILE_VECTORS];
  unrolled<PANELS>([&](auto p) {
    unrolled<TILE_VECTORS>(
        [&](auto k) { s[p][k] = first_sum<T, KIND>(u, v + p * PANEL_WIDTH<T> + k * LANES<T>); });
  });
  for (int64_t e = 0; e < entries; e++) {
    const T* columns = panels + int64_t(indices[e]) * PANEL_WIDTH<T>;
    const Vec<T> entry = splat<T>(data[e]);
    unrolled<PANELS>([&](auto p) {
      unrolled<TILE_VECTORS>([&](auto k) { s[p][k] += entry * load(columns + p * panel_size + k * LANES<T>); });
    });
  }
  unrolled<PANELS>([&](auto p) {
    unrolled<TILE_VECTORS>([&](auto k) {
      use(p, k, kernel_function<T, KIND>(s[p][k], u, v + p * PANEL_WIDTH<T> + k * LANES<T>, degree));
    });
  });
}

}  // namespace LEVEL
