// The tile of points on a lattice (batch/lattice.h): products of two-byte integers, two columns at a time, summed exactly
// in four bytes. Only for kernels of the distance,
//
//     s_ij = -scale (|k_i|^2 + |k_j|^2 - 2 k_i'k_j),        value = function(s_ij).
//
// A panel has for each pair of columns WIDTH pairs of integers; a row has its pairs next to each other.
#pragma once
#include "batch/tile.h"

namespace LEVEL::batch_code {

typedef int16_t Shorts __attribute__((vector_size(REGISTER_BYTES)));
typedef Ints<float> Sums;
constexpr int64_t NORM_MAX = (int64_t(1) << 29) - 1;  // |k|^2: a squared distance, at most 4 times as large, fits into four bytes

// Sums of two products each: lane t is a[2t] b[2t] + a[2t + 1] b[2t + 1].
#if defined(__x86_64__) && defined(__AVX512BW__)
constexpr bool INTEGER_TILES = true;
#if defined(__clang__)
INLINE Sums pair_products(Shorts a, Shorts b) { return (Sums)__builtin_ia32_pmaddwd512(a, b); }
#else
INLINE Sums pair_products(Shorts a, Shorts b) { return (Sums)__builtin_ia32_pmaddwd512_mask(a, b, Sums{}, uint16_t(-1)); }
#endif
#elif defined(__x86_64__) && defined(__AVX2__)
constexpr bool INTEGER_TILES = true;
INLINE Sums pair_products(Shorts a, Shorts b) { return (Sums)__builtin_ia32_pmaddwd256(a, b); }
#elif defined(__x86_64__) && !defined(__AVX__)
constexpr bool INTEGER_TILES = true;
INLINE Sums pair_products(Shorts a, Shorts b) { return (Sums)__builtin_ia32_pmaddwd128(a, b); }
#else  // no such instruction: float32 is as fast
constexpr bool INTEGER_TILES = false;
INLINE Sums pair_products(Shorts, Shorts) { return Sums{}; }
#endif

INLINE Shorts load_shorts(const int16_t* p) {
  Shorts v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
INLINE Sums load_sums(const int32_t* p) {
  Sums v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
INLINE Shorts splat_pair(const int16_t* p) {
  int32_t pair;
  __builtin_memcpy(&pair, p, sizeof pair);
  return (Shorts)(pair - Sums{});
}
INLINE Vec<float> exponent_of(Sums products, int32_t own, Sums norms, float scale) {
  return -scale * __builtin_convertvector(own + norms - 2 * products, Vec<float>);
}

// `pairs` of columns; use(r, k, value) takes vector k of row r.
template <int KIND, int ROWS, class Use>
NOINLINE void integer_tile(const int16_t* const* rows, const int32_t* own, const int16_t* panel, const int32_t* norms,
                           int64_t pairs, float scale, Use use) {
  Sums sum[ROWS][TILE_VECTORS];
  const int16_t* a[ROWS];
  unrolled<ROWS>([&](auto r) {
    a[r] = rows[r];
    unrolled<TILE_VECTORS>([&](auto k) { sum[r][k] = Sums{}; });
  });
  for (int64_t q = 0; q < pairs; q++, panel += 2 * WIDTH<float>) {
    Shorts b[TILE_VECTORS];
    unrolled<TILE_VECTORS>([&](auto k) { b[k] = load_shorts(panel + k * 2 * LANES<float>); });
    unrolled<ROWS>([&](auto r) {
      const Shorts entry = splat_pair(a[r] + 2 * q);
      unrolled<TILE_VECTORS>([&](auto k) { sum[r][k] += pair_products(entry, b[k]); });
    });
  }
  unrolled<ROWS>([&](auto r) {
    unrolled<TILE_VECTORS>([&](auto k) {
      use(r, k, kernel_function<float, KIND>(exponent_of(sum[r][k], own[r], load_sums(norms + k * LANES<float>), scale), 1));
    });
  });
}

// One row with several panels at once.
template <int KIND>
NOINLINE void integer_strip(const int16_t* row, int32_t own, const int16_t* panels, const int32_t* norms, int64_t pairs,
                            float scale, float* out) {
  Sums sum[STRIP_PANELS][TILE_VECTORS] = {};
  for (int64_t q = 0; q < pairs; q++) {
    const Shorts entry = splat_pair(row + 2 * q);
    unrolled<STRIP_PANELS>([&](auto p) {
      unrolled<TILE_VECTORS>([&](auto k) {
        sum[p][k] += pair_products(entry, load_shorts(panels + ((p * pairs + q) * WIDTH<float> + k * LANES<float>) * 2));
      });
    });
  }
  unrolled<STRIP_PANELS>([&](auto p) {
    unrolled<TILE_VECTORS>([&](auto k) {
      const int64_t at = (p * TILE_VECTORS + k) * LANES<float>;
      store(out + at, kernel_function<float, KIND>(exponent_of(sum[p][k], own, load_sums(norms + at), scale), 1));
    });
  });
}

// ---- packing
INLINE int64_t pairs_of(int64_t columns) { return (columns + 1) / 2; }

// Integers of dense rows into panels; false where a point is not on the lattice, or too far away on it.
template <class S>
bool pack_integers_of(const Batch& s, const S* X, int64_t segment) {
  constexpr double OFF_LATTICE = sizeof(S) == sizeof(double) ? 1e-7 : 2e-4;  // of a step: beyond rounding of the input
  const int64_t d = s.points.d, pairs = pairs_of(d), count = s.segments.start[segment + 1] - s.segments.start[segment];
  const int64_t slot = s.segments.slot[segment];
  const int64_t* rows = s.segments.order + s.segments.start[segment];
  int16_t* panels = s.integers.panels + slot * 2 * pairs;
  int32_t* norms = s.integers.norms + slot;
  const S* origin = X + s.integers.lattice.origin * d;
  const double per_step = 1.0 / s.integers.lattice.step;
  for (int64_t t = 0; t < s.segments.padded[segment]; t++) {
    int16_t* to = panels + t / WIDTH<float> * WIDTH<float> * 2 * pairs + t % WIDTH<float> * 2;
    if (d % 2 || t >= count) to[(pairs - 1) * 2 * WIDTH<float> + 1] = 0;
    if (t >= count) {  // far away from all points
      for (int64_t q = 0; q < d; q++) to[q / 2 * 2 * WIDTH<float> + q % 2] = 0;
      norms[t] = int32_t(NORM_MAX);
      continue;
    }
    const S* x = X + rows[t] * d;
    int64_t norm = 0;
    double off = 0;
    for (int64_t q = 0; q < d; q++) {
      const double k = (double(x[q]) - double(origin[q])) * per_step;
      const double whole = __builtin_rint(k);
      if (!(absolute(whole) <= 32767)) return false;
      off = maximum(off, absolute(k - whole));
      to[q / 2 * 2 * WIDTH<float> + q % 2] = int16_t(whole);
      norm += int64_t(whole) * int64_t(whole);
    }
    if (!(off <= OFF_LATTICE) || norm > NORM_MAX) return false;
    norms[t] = int32_t(norm);
  }
  return true;
}

INLINE bool pack_integers_of_segment(const Batch& s, int64_t segment) {
  return s.points.dense64 ? pack_integers_of(s, s.points.dense64, segment) : pack_integers_of(s, s.points.dense32, segment);
}

// One packed point, its pairs next to each other.
INLINE void unpack_integers(const int16_t* panels, int64_t pairs, int64_t slot, int16_t* to) {
  const int16_t* from = panels + slot / WIDTH<float> * WIDTH<float> * 2 * pairs + slot % WIDTH<float> * 2;
  for (int64_t q = 0; q < pairs; q++, from += 2 * WIDTH<float>, to += 2) to[0] = from[0], to[1] = from[1];
}

}  // namespace LEVEL::batch_code
