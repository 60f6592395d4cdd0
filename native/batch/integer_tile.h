// The tile of points on a lattice (batch/lattice.h): products of integers, several columns at a time, summed exactly in
// four bytes. Only for kernels of the distance,
//
//     s_ij = -scale (|k_i|^2 + |k_j|^2 - 2 k_i'k_j),        value = function(s_ij).
//
// A cell of four bytes has two columns as two-byte integers, or four columns as bytes: where the processor multiplies
// bytes (AVX-512 VNNI) and no column's integers spread over more than 255. A panel has for each group of columns WIDTH
// cells, one for each point; a row has its cells next to each other.
//
// That instruction takes bytes u = k - min k of the row without a sign, and u - 128 of the panel with one:
//
//     |u_i - u_j|^2 = (|u_i|^2 - 256 sum_q u_iq) + |u_j|^2 - 2 u_i'(u_j - 128).
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

INLINE Sums load_sums(const int32_t* p) {
  Sums v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
INLINE Sums splat_cell(int32_t cell) { return cell - Sums{}; }

// sum + the products of a row's cells with a panel's. The instruction for bytes belongs to no level: only processors
// that have it come here (run.cpp), and the compiler, which takes it for unknown, is given it by name.
#if defined(__x86_64__) && defined(__AVX512BW__) && defined(__GNUC__) && !defined(__clang__)
constexpr bool BYTE_TILES = true;
#else
constexpr bool BYTE_TILES = false;
#endif
template <bool BYTES> INLINE Sums add_products(Sums sum, Sums row, Sums panel) {
#if defined(__x86_64__) && defined(__AVX512BW__) && defined(__GNUC__) && !defined(__clang__)
  if constexpr (BYTES) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(row), "v"(panel));
    return sum;
  }
#endif
  return sum + pair_products((Shorts)row, (Shorts)panel);
}
INLINE Vec<float> exponent_of(Sums products, int32_t own, Sums norms, float scale) {
  return -scale * __builtin_convertvector(own + norms - 2 * products, Vec<float>);
}

// `cells` of a row; use(r, k, value) takes vector k of row r.
template <int KIND, bool BYTES, int ROWS, class Use>
NOINLINE void integer_tile(const int32_t* const* rows, const int32_t* own, const int32_t* panel, const int32_t* norms,
                           int64_t cells, float scale, Use use) {
  Sums sum[ROWS][TILE_VECTORS];
  const int32_t* a[ROWS];
  unrolled<ROWS>([&](auto r) {
    a[r] = rows[r];
    unrolled<TILE_VECTORS>([&](auto k) { sum[r][k] = Sums{}; });
  });
  for (int64_t q = 0; q < cells; q++, panel += WIDTH<float>) {
    Sums b[TILE_VECTORS];
    unrolled<TILE_VECTORS>([&](auto k) { b[k] = load_sums(panel + k * LANES<float>); });
    unrolled<ROWS>([&](auto r) {
      const Sums cell = splat_cell(a[r][q]);
      unrolled<TILE_VECTORS>([&](auto k) { sum[r][k] = add_products<BYTES>(sum[r][k], cell, b[k]); });
    });
  }
  unrolled<ROWS>([&](auto r) {
    unrolled<TILE_VECTORS>([&](auto k) {
      use(r, k, kernel_function<float, KIND>(exponent_of(sum[r][k], own[r], load_sums(norms + k * LANES<float>), scale), 1));
    });
  });
}

// One row with several panels at once.
template <int KIND, bool BYTES>
NOINLINE void integer_strip(const int32_t* row, int32_t own, const int32_t* panels, const int32_t* norms, int64_t cells,
                            float scale, float* out) {
  Sums sum[STRIP_PANELS][TILE_VECTORS] = {};
  for (int64_t q = 0; q < cells; q++) {
    const Sums cell = splat_cell(row[q]);
    unrolled<STRIP_PANELS>([&](auto p) {
      unrolled<TILE_VECTORS>([&](auto k) {
        const int32_t* panel = panels + (p * cells + q) * WIDTH<float> + k * LANES<float>;
        sum[p][k] = add_products<BYTES>(sum[p][k], cell, load_sums(panel));
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
INLINE int64_t cells_of(int64_t columns, bool bytes) { return bytes ? (columns + 3) / 4 : (columns + 1) / 2; }
constexpr int32_t BYTES_128 = int32_t(0x80808080);  // in each byte of a cell: u becomes u - 128, and the other way round

// Two-byte integers of dense rows into panels, and each column's least and largest; false where a point is not on the
// lattice, or too far away on it.
template <class S>
bool pack_integers_of(const Batch& s, const S* X, int64_t segment) {
  constexpr double OFF_LATTICE = sizeof(S) == sizeof(double) ? 1e-7 : 2e-4;  // of a step: beyond rounding of the input
  const int64_t d = s.points.d, cells = cells_of(d, false);
  const int64_t count = s.segments.start[segment + 1] - s.segments.start[segment], slot = s.segments.slot[segment];
  const int64_t* rows = s.segments.order + s.segments.start[segment];
  int32_t *panels = s.integers.panels + slot * cells, *norms = s.integers.norms + slot;
  int16_t *least = s.integers.least + segment * d, *largest = s.integers.largest + segment * d;
  const S* origin = X + s.integers.lattice.origin * d;
  const double per_step = 1.0 / s.integers.lattice.step;
  for (int64_t q = 0; q < d; q++) least[q] = INT16_MAX, largest[q] = INT16_MIN;
  for (int64_t t = 0; t < s.segments.padded[segment]; t++) {
    int16_t* to = reinterpret_cast<int16_t*>(panels + t / WIDTH<float> * WIDTH<float> * cells + t % WIDTH<float>);
    if (d % 2 || t >= count) to[(cells - 1) * 2 * WIDTH<float> + 1] = 0;
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
      const int16_t integer = int16_t(whole);
      to[q / 2 * 2 * WIDTH<float> + q % 2] = integer;
      least[q] = minimum(integer, least[q]), largest[q] = maximum(integer, largest[q]);
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

// The two-byte integers of a segment as bytes less 128, and their norms; `from` is where s.integers had them.
INLINE void pack_bytes_of_segment(const Batch& s, const int32_t* from, int64_t segment) {
  const int64_t d = s.points.d, cells = cells_of(d, false), byte_cells = cells_of(d, true);
  const int64_t count = s.segments.start[segment + 1] - s.segments.start[segment], slot = s.segments.slot[segment];
  for (int64_t t = 0; t < s.segments.padded[segment]; t++) {
    const int64_t panel = slot + t / WIDTH<float> * WIDTH<float>, lane = t % WIDTH<float>;
    const int16_t* k = reinterpret_cast<const int16_t*>(from + panel * cells + lane);
    int32_t* to = s.integers.panels + panel * byte_cells + lane;
    int32_t norm = 0;
    for (int64_t cell = 0; cell < byte_cells; cell++, to += WIDTH<float>) {
      uint32_t bytes = 0;
      for (int64_t q = 4 * cell; q < minimum(d, 4 * cell + 4) && t < count; q++) {
        const int32_t u = k[q / 2 * 2 * WIDTH<float> + q % 2] - s.integers.least[q];
        bytes |= uint32_t(u) << (8 * (q % 4));
        norm += u * u;
      }
      *to = int32_t(bytes) ^ BYTES_128;
    }
    if (t < count) s.integers.norms[slot + t] = norm;
  }
}

// One packed point as a row: its cells next to each other. Returns what its norm becomes as a row's.
template <bool BYTES>
INLINE int32_t unpack_integers(const int32_t* panels, int32_t norm, int64_t cells, int64_t slot, int32_t* to) {
  const int32_t* from = panels + slot / WIDTH<float> * WIDTH<float> * cells + slot % WIDTH<float>;
  if constexpr (!BYTES) {
    for (int64_t q = 0; q < cells; q++, from += WIDTH<float>) to[q] = *from;
    return norm;
  }
  uint32_t sum = 0;
  for (int64_t q = 0; q < cells; q++, from += WIDTH<float>) {
    const uint32_t cell = uint32_t(*from ^ BYTES_128);
    to[q] = int32_t(cell);
    sum += (cell & 255) + (cell >> 8 & 255) + (cell >> 16 & 255) + (cell >> 24);
  }
  return norm - 256 * int32_t(sum);
}

}  // namespace LEVEL::batch_code
