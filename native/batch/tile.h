// The fused tile: kernel values of a few rows with a panel of WIDTH columns, all sums in registers.
//
//     s_ij = u_i + v_j + sum_k a_ik b_jk        (Laplacian: sum_k |a_ik - b_jk|),        value = function(s_ij)
//
// as in tiles/tiles.h; here sums may begin with given values, and one row may meet several panels at once.
#pragma once
#include "batch/batch.h"
#include "tiles/tile.h"

namespace LEVEL::batch_code {
using namespace batch;

template <class T> constexpr int WIDTH = PANEL_WIDTH<T>;
static_assert(EXP2 == int(TILE_EXP2) && POWER == int(TILE_POWER) && TANH == int(TILE_TANH) && DECAY == int(TILE_DECAY));

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
