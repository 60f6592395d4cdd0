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

template <class T, int KIND> INLINE Vec<T> kernel_function(Vec<T> s, int degree) {
  if constexpr (KIND == TILE_EXP2) return exp2_in_range<T>(cut_below<T>(cut_above<T>(s, T(0))));
  if constexpr (KIND == TILE_DECAY) return exp2_in_range<T>(cut_below<T>(cut_above<T>(-s, T(0))));
  if constexpr (KIND == TILE_TANH) return tanh_of_exponent<T>(s);
  if constexpr (KIND == TILE_POWER) return integer_power<T>(s, degree);
}

// use(r, k, values) receives vector k of row r, for R rows given by pointers. A function of its own: where it is inlined
// into a loop over tiles, GCC keeps the constants of the kernel's function in registers, and spills sums.
template <class T, int KIND, int R, class Use>
NOINLINE void dense_tile(const T* const (&rows)[R], const T (&u)[R], const T* panel, const T* v, int64_t d, int degree,
                         Use use) {
  Vec<T> s[R][TILE_VECTORS];
  unrolled<R>([&](auto r) {
    unrolled<TILE_VECTORS>([&](auto k) { s[r][k] = splat<T>(u[r]) + load(v + k * LANES<T>); });
  });
  const T* a[R];
  unrolled<R>([&](auto r) { a[r] = rows[r]; });
  for (int64_t q = 0; q < d; q++, panel += PANEL_WIDTH<T>) {
    Vec<T> b[TILE_VECTORS];
    unrolled<TILE_VECTORS>([&](auto k) { b[k] = load(panel + k * LANES<T>); });
    unrolled<R>([&](auto r) {
      const Vec<T> entry = splat<T>(a[r][q]);
      unrolled<TILE_VECTORS>([&](auto k) {
        if constexpr (KIND == TILE_DECAY)
          s[r][k] += absolute_lanes<T>(entry - b[k]);
        else
          s[r][k] += entry * b[k];
      });
    });
  }
  unrolled<R>([&](auto r) {
    unrolled<TILE_VECTORS>([&](auto k) { use(r, k, kernel_function<T, KIND>(s[r][k], degree)); });
  });
}

// One sparse row with several panels, `panel_size` values apart; use(p, k, values) receives vector k of panel p.
template <class T, int KIND, int PANELS, class I, class Use>
NOINLINE void csr_tile(const I* indices, const T* data, int64_t entries, T u, const T* panels, int64_t panel_size,
                       const T* v, int degree, Use use) {
  Vec<T> s[PANELS][TILE_VECTORS];
  unrolled<PANELS>([&](auto p) {
    unrolled<TILE_VECTORS>(
        [&](auto k) { s[p][k] = splat<T>(u) + load(v + p * PANEL_WIDTH<T> + k * LANES<T>); });
  });
  for (int64_t e = 0; e < entries; e++) {
    const T* columns = panels + int64_t(indices[e]) * PANEL_WIDTH<T>;
    const Vec<T> entry = splat<T>(data[e]);
    unrolled<PANELS>([&](auto p) {
      unrolled<TILE_VECTORS>([&](auto k) { s[p][k] += entry * load(columns + p * panel_size + k * LANES<T>); });
    });
  }
  unrolled<PANELS>([&](auto p) {
    unrolled<TILE_VECTORS>([&](auto k) { use(p, k, kernel_function<T, KIND>(s[p][k], degree)); });
  });
}

}  // namespace LEVEL
