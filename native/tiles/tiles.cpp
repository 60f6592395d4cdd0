#include "tiles/tiles.h"

#include "tiles/tile.h"

namespace LEVEL {

// Rows that stay in the second-level cache while all panels pass by; a multiple of TILE_ROWS.
constexpr int64_t CHUNK_ROWS = 192;
// Values added up in one lane, in the precision of the tile, before the sum goes to float64.
constexpr int FLUSH_VALUES = 32;
constexpr int64_t FLUSH_PANELS = FLUSH_VALUES / TILE_VECTORS;
// Sparse rows: panels at a time, so that eight sums hide the latency of their additions.
constexpr int64_t CSR_PANELS = 8 / TILE_VECTORS;
// Fewer rows than this at the end of a range take tiles of one row; more fill a tile with repetitions of the last.
constexpr int64_t FILLED_TILE_MIN_ROWS = 3;

template <class T> INLINE double lanes_sum(const T* lanes) {
  double total = 0;
  for (int t = 0; t < LANES<T>; t++) total += lanes[t];
  return total;
}

// f(Int<KIND>{}) for the form's kind
template <class F> INLINE void for_kind(int kind, F f) {
  switch (kind) {
    case TILE_EXP2: return f(Int<TILE_EXP2>{});
    case TILE_POWER: return f(Int<TILE_POWER>{});
    case TILE_TANH: return f(Int<TILE_TANH>{});
    case TILE_DECAY: return f(Int<TILE_DECAY>{});
    case TILE_MATERN: return f(Int<TILE_MATERN>{});
    case TILE_RATIONAL: return f(Int<TILE_RATIONAL>{});
    case TILE_ANGLE: return f(Int<TILE_ANGLE>{});
    default: return f(Int<TILE_TANIMOTO>{});
  }
}
template <class F> INLINE void for_csr_kind(int kind, F f) {  // sparse rows have no sums of differences
  switch (kind) {
    case TILE_EXP2: return f(Int<TILE_EXP2>{});
    case TILE_POWER: return f(Int<TILE_POWER>{});
    case TILE_TANH: return f(Int<TILE_TANH>{});
    case TILE_ANGLE: return f(Int<TILE_ANGLE>{});
    default: return f(Int<TILE_TANIMOTO>{});
  }
}

// Rows first..first + count of a range as tiles of R rows: call(tile rows, their u, place of the first row). Rows beyond
// the end of the range repeat its last one, and their values are dropped by the caller.
template <class T, int R> struct TileRows {
  const T* rows[R];
  T u[R];
  INLINE TileRows(const DenseRows<T>& from, int64_t first, int64_t last) {
    unrolled<R>([&](auto r) {
      const int64_t i = minimum(first + int64_t(r), last);
      rows[r] = from.A + i * from.stride, u[r] = from.u[i];
    });
  }
};
template <class T, class Tile> INLINE void each_tile(int64_t start, int64_t stop, Tile tile) {
  int64_t i = start;
  for (; stop - i >= FILLED_TILE_MIN_ROWS; i += TILE_ROWS) tile(Int<TILE_ROWS>{}, i);
  for (; i < stop; i++) tile(Int<1>{}, i);
}

template <class T, int KIND>
void matvec_of_kind(const DenseRows<T>& rows, const PackedColumns<T>& columns, double degree, const T* coef,
                    double* out, int64_t start, int64_t stop) {
  const int64_t panels = (columns.count + PANEL_WIDTH<T> - 1) / PANEL_WIDTH<T>, size = columns.d * PANEL_WIDTH<T>;
  alignas(64) T partial[(CHUNK_ROWS + TILE_ROWS) * LANES<T>];
  for (int64_t i0 = start; i0 < stop; i0 += CHUNK_ROWS) {
    const int64_t i1 = minimum(i0 + CHUNK_ROWS, stop);
    for (int64_t p0 = 0; p0 < panels; p0 += FLUSH_PANELS) {
      __builtin_memset(partial, 0, size_t(i1 - i0 + TILE_ROWS) * REGISTER_BYTES);
      for (int64_t p = p0; p < minimum(p0 + FLUSH_PANELS, panels); p++)
        each_tile<T>(i0, i1, [&](auto height, int64_t i) {
          const TileRows<T, height> tile(rows, i, i1 - 1);
          const T* weights = coef + p * PANEL_WIDTH<T>;
          T* sums = partial + (i - i0) * LANES<T>;
          dense_tile<T, KIND, height>(tile.rows, tile.u, columns.P + p * size, columns.v + p * PANEL_WIDTH<T>,
                                      columns.d, degree, [=](auto r, auto k, Vec<T> values) {
                                        T* to = sums + r * LANES<T>;
                                        store(to, load(to) + values * load(weights + k * LANES<T>));
                                      });
        });
      for (int64_t i = i0; i < i1; i++) out[i] += lanes_sum(partial + (i - i0) * LANES<T>);
    }
  }
}

template <class T, int KIND>
void block_of_kind(const DenseRows<T>& rows, const PackedColumns<T>& columns, double degree, BlockOut<T> out,
                   int64_t start, int64_t stop) {
  constexpr int W = PANEL_WIDTH<T>;
  const int64_t panels = (columns.count + W - 1) / W, size = columns.d * W;
  alignas(64) T values_of_tile[TILE_ROWS * W];
  for (int64_t i0 = start; i0 < stop; i0 += CHUNK_ROWS) {
    const int64_t i1 = minimum(i0 + CHUNK_ROWS, stop);
    for (int64_t p = 0; p < panels; p++) {
      const int64_t width = minimum(columns.count - p * W, int64_t(W));
      each_tile<T>(i0, i1, [&](auto height, int64_t i) {
        const TileRows<T, height> tile(rows, i, i1 - 1);
        const int64_t real = minimum(int64_t(height), i1 - i);
        const bool direct = width == W && real == height;
        T* place = out.data + i * out.stride + p * W;
        T* to = direct ? place : values_of_tile;
        const int64_t stride = direct ? out.stride : W;
        dense_tile<T, KIND, height>(
            tile.rows, tile.u, columns.P + p * size, columns.v + p * W, columns.d, degree,
            [=](auto r, auto k, Vec<T> values) { store(to + r * stride + k * LANES<T>, values); });
        if (!direct)
          for (int64_t r = 0; r < real; r++)
            __builtin_memcpy(place + r * out.stride, to + r * W, size_t(width) * sizeof(T));
      });
    }
  }
}

// f(number of panels, first panel) for groups of panels
template <class F> INLINE void each_panel_group(int64_t first, int64_t last, F f) {
  int64_t p = first;
  for (; p + CSR_PANELS <= last; p += CSR_PANELS) f(Int<CSR_PANELS>{}, p);
  for (; p < last; p++) f(Int<1>{}, p);
}

template <class T, int KIND, class I>
void csr_matvec_of_kind(const CsrRows<T, I>& rows, const PackedColumns<T>& columns, double degree, const T* coef,
                        double* out, int64_t start, int64_t stop) {
  constexpr int W = PANEL_WIDTH<T>;
  const int64_t panels = (columns.count + W - 1) / W, size = columns.d * W;
  const Csr<T, I>& A = rows.matrix;
  alignas(64) T partial[CHUNK_ROWS * LANES<T>];
  for (int64_t t0 = start; t0 < stop; t0 += CHUNK_ROWS) {
    const int64_t t1 = minimum(t0 + CHUNK_ROWS, stop);
    for (int64_t p0 = 0; p0 < panels; p0 += FLUSH_PANELS) {
      __builtin_memset(partial, 0, size_t(t1 - t0) * REGISTER_BYTES);
      each_panel_group(p0, minimum(p0 + FLUSH_PANELS, panels), [&](auto group, int64_t p) {
        for (int64_t t = t0; t < t1; t++) {
          const int64_t i = rows.at[t], first = A.indptr[i];
          T* to = partial + (t - t0) * LANES<T>;
          const T* weights = coef + p * W;
          csr_tile<T, KIND, group>(A.indices + first, A.data + first, int64_t(A.indptr[i + 1]) - first, rows.u[i],
                                   columns.P + p * size, size, columns.v + p * W, degree,
                                   [=](auto panel, auto k, Vec<T> values) {
                                     const T* w = weights + panel * W + k * LANES<T>;
                                     store(to, load(to) + values * load(w));
                                   });
        }
      });
      for (int64_t t = t0; t < t1; t++) out[t] += lanes_sum(partial + (t - t0) * LANES<T>);
    }
  }
}

template <class T, int KIND, class I>
void csr_block_of_kind(const CsrRows<T, I>& rows, const PackedColumns<T>& columns, double degree, BlockOut<T> out,
                       int64_t start, int64_t stop) {
  constexpr int W = PANEL_WIDTH<T>;
  const int64_t panels = (columns.count + W - 1) / W, size = columns.d * W;
  const Csr<T, I>& A = rows.matrix;
  alignas(64) T values_of_row[CSR_PANELS * W];
  for (int64_t t0 = start; t0 < stop; t0 += CHUNK_ROWS)
    each_panel_group(0, panels, [&](auto group, int64_t p) {
      const int64_t width = minimum(columns.count - p * W, int64_t(group * W));
      for (int64_t t = t0; t < minimum(t0 + CHUNK_ROWS, stop); t++) {
        const int64_t i = rows.at[t], first = A.indptr[i];
        T* place = out.data + t * out.stride + p * W;
        T* to = width == group * W ? place : values_of_row;
        csr_tile<T, KIND, group>(
            A.indices + first, A.data + first, int64_t(A.indptr[i + 1]) - first, rows.u[i], columns.P + p * size, size,
            columns.v + p * W, degree,
            [=](auto panel, auto k, Vec<T> values) { store(to + panel * W + k * LANES<T>, values); });
        if (to != place) __builtin_memcpy(place, to, size_t(width) * sizeof(T));
      }
    });
}

// ---- by kind
template <class T>
void matvec_dense(const DenseRows<T>& rows, const PackedColumns<T>& columns, KernelForm form, const T* coef,
                  double* out, int64_t start, int64_t stop) {
  for_kind(form.kind, [&](auto kind) {
    matvec_of_kind<T, kind>(rows, columns, form.degree, coef, out, start, stop);
  });
}
template <class T>
void block_dense(const DenseRows<T>& rows, const PackedColumns<T>& columns, KernelForm form, BlockOut<T> out,
                 int64_t start, int64_t stop) {
  for_kind(form.kind, [&](auto kind) { block_of_kind<T, kind>(rows, columns, form.degree, out, start, stop); });
}
template <class T, class I>
void matvec_csr(const CsrRows<T, I>& rows, const PackedColumns<T>& columns, KernelForm form, const T* coef,
                double* out, int64_t start, int64_t stop) {
  for_csr_kind(form.kind, [&](auto kind) {
    csr_matvec_of_kind<T, kind>(rows, columns, form.degree, coef, out, start, stop);
  });
}
template <class T, class I>
void block_csr(const CsrRows<T, I>& rows, const PackedColumns<T>& columns, KernelForm form, BlockOut<T> out,
               int64_t start, int64_t stop) {
  for_csr_kind(form.kind, [&](auto kind) { csr_block_of_kind<T, kind>(rows, columns, form.degree, out, start, stop); });
}

// ---- packing
template <class T> void pack_v(const T* own_v, const int64_t* at, int64_t count, T* v) {
  for (int64_t t = 0; t < count; t++) v[t] = own_v ? own_v[at[t]] : T(0);
  for (int64_t t = count; t % PANEL_WIDTH<T>; t++) v[t] = 0;
}

template <class T>
void pack_dense(const T* A, int64_t stride, int64_t d, const T* own_v, const int64_t* at, int64_t count, T* P, T* v) {
  constexpr int64_t W = PANEL_WIDTH<T>;
  constexpr int64_t BLOCK = 64 / int64_t(sizeof(T));  // entries of a row in a cache line
  pack_v(own_v, at, count, v);
  for (int64_t t0 = 0; t0 < count; t0 += W, P += d * W) {
    const int64_t width = minimum(W, count - t0);
    for (int64_t q0 = 0; q0 < d; q0 += BLOCK) {
      const int64_t q1 = minimum(q0 + BLOCK, d);
      for (int64_t c = 0; c < width; c++) {
        const T* row = A + at[t0 + c] * stride;
        for (int64_t q = q0; q < q1; q++) P[q * W + c] = row[q];
      }
      for (int64_t c = width; c < W; c++)
        for (int64_t q = q0; q < q1; q++) P[q * W + c] = 0;
    }
  }
}

template <class T, class I>
void pack_csr(const Csr<T, I>& matrix, const T* own_v, const int64_t* at, int64_t count, T* P, T* v) {
  constexpr int64_t W = PANEL_WIDTH<T>;
  pack_v(own_v, at, count, v);
  for (int64_t t0 = 0; t0 < count; t0 += W, P += matrix.columns * W) {
    __builtin_memset(P, 0, size_t(matrix.columns * W) * sizeof(T));
    for (int64_t c = 0; c < minimum(W, count - t0); c++) {
      const int64_t i = at[t0 + c];
      for (int64_t e = matrix.indptr[i]; e < int64_t(matrix.indptr[i + 1]); e++)
        P[int64_t(matrix.indices[e]) * W + c] += matrix.data[e];
    }
  }
}

template <class T> void decays(const T* s, int64_t count, T rate, T* out) {
  for (int64_t i = 0; i < count; i += LANES<T>) {
    const int64_t left = minimum(int64_t(LANES<T>), count - i);
    const Vec<T> exponent = -rate * (left == LANES<T> ? load(s + i) : load_first(s + i, left));
    const Vec<T> values = exp2_in_range<T>(cut_below<T>(cut_above<T>(exponent, T(0))));
    if (left == LANES<T>)
      store(out + i, values);
    else
      store_first(out + i, values, left);
  }
}

template <class T>
constexpr TilesFunctions<T> TILES_FUNCTIONS = {
    PANEL_WIDTH<T>,          matvec_dense<T>,        block_dense<T>,         matvec_csr<T, int32_t>,
    matvec_csr<T, int64_t>,  block_csr<T, int32_t>,  block_csr<T, int64_t>,  pack_dense<T>,
    pack_csr<T, int32_t>,    pack_csr<T, int64_t>,   decays<T>,
};
const TilesTable tiles_table = {TILES_FUNCTIONS<float>, TILES_FUNCTIONS<double>};

}  // namespace LEVEL
