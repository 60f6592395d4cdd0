// Points of a batch in the form that tiles take: columns of panels, scaled, in float32 or float64.
#pragma once
#include "batch/tile.h"

namespace LEVEL::batch_code {

// ---- memory that a thread uses again and again; its size is computed beforehand (arena_bytes)
template <class U> INLINE U* take(Arena* arena, int64_t count) {
  const size_t at = (arena->used + 63) & ~size_t(63);
  arena->used = at + size_t(count) * sizeof(U);
  if (arena->used > arena->size) __builtin_trap();
  return reinterpret_cast<U*>(arena->base + at);
}

INLINE int64_t rounded_up(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }
INLINE int64_t rows_in(const Segments& s, int64_t segment) { return s.start[segment + 1] - s.start[segment]; }

template <class T> INLINE T* panels_of(const Packed& p);
template <> INLINE float* panels_of<float>(const Packed& p) { return p.panels32; }
template <> INLINE double* panels_of<double>(const Packed& p) { return p.panels64; }
template <class T> INLINE T* v_of(const Packed& p);
template <> INLINE float* v_of<float>(const Packed& p) { return p.v32; }
template <> INLINE double* v_of<double>(const Packed& p) { return p.v64; }

// v of slots that are padding: their kernel values are next to zero, and finite for every kernel.
INLINE double padding_v(const Form& form) { return form.norms ? -126.0 : 0.0; }

template <class T> INLINE T u_of(const Form& form, T v) { return form.norms ? v : T(form.bias); }

// ---- dense rows into panels; PACK_COLUMNS columns of a panel stay in the first-level cache while rows pass by
constexpr int64_t PACK_COLUMNS = 16;

template <class T, class S>
void pack_dense(const Points& p, const S* X, const int64_t* rows, int64_t count, int64_t slots, T* panels, T* v) {
  double squares[WIDTH<T>];
  for (int64_t t0 = 0; t0 < slots; t0 += WIDTH<T>) {
    T* panel = panels + t0 * p.d;
    const int64_t real = count - t0 < 0 ? 0 : minimum<int64_t>(count - t0, WIDTH<T>);
    for (int64_t c = 0; c < WIDTH<T>; c++) squares[c] = 0;
    for (int64_t q0 = 0; q0 < p.d; q0 += PACK_COLUMNS) {
      const int64_t q1 = minimum(q0 + PACK_COLUMNS, p.d);
      for (int64_t c = 0; c < real; c++) {
        const S* x = X + rows[t0 + c] * p.d;
        for (int64_t q = q0; q < q1; q++) {
          const T value = T((double(x[q]) - (p.shift ? p.shift[q] : 0.0)) * p.form.root);
          panel[q * WIDTH<T> + c] = value;
          squares[c] += double(value) * double(value);
        }
      }
      for (int64_t q = q0; q < q1; q++)
        for (int64_t c = real; c < WIDTH<T>; c++) panel[q * WIDTH<T> + c] = 0;
    }
    for (int64_t c = 0; c < WIDTH<T>; c++)
      v[t0 + c] = T(c >= real ? padding_v(p.form) : p.form.norms ? -0.5 * squares[c] : 0.0);
  }
}

template <class T>
void pack_rows(const Points& p, const int64_t* rows, int64_t count, int64_t slots, T* panels, T* v) {
  if (p.dense64)
    pack_dense<T, double>(p, p.dense64, rows, count, slots, panels, v);
  else
    pack_dense<T, float>(p, p.dense32, rows, count, slots, panels, v);
}

// The nearly dense columns of CSR rows; v is of all columns.
template <class T> void pack_sparse(const Batch& s, int64_t segment, T* panels, T* v) {
  const Points& p = s.points;
  const int64_t columns = s.packed.columns, count = rows_in(s.segments, segment);
  const int64_t* rows = s.segments.order + s.segments.start[segment];
  __builtin_memset(panels, 0, size_t(s.segments.padded[segment] * columns) * sizeof(T));
  for (int64_t t = 0; t < s.segments.padded[segment]; t++) {
    T* to = panels + t / WIDTH<T> * WIDTH<T> * columns + t % WIDTH<T>;
    double squares = 0;
    if (t < count)
      for (int64_t e = p.indptr[rows[t]]; e < p.indptr[rows[t] + 1]; e++) {
        const T value = T(p.data[e] * p.form.root);
        squares += double(value) * double(value);
        const int64_t place = s.columns.place[p.indices[e]];
        if (place >= 0) to[place * WIDTH<T>] = value;
      }
    v[t] = T(t >= count ? padding_v(p.form) : p.form.norms ? -0.5 * squares : 0.0);
  }
}

template <class T> void pack_segment(const Batch& s, int64_t segment) {
  const int64_t slot = s.segments.slot[segment];
  T *panels = panels_of<T>(s.packed) + slot * s.packed.columns, *v = v_of<T>(s.packed) + slot;
  if (s.points.indptr) return pack_sparse<T>(s, segment, panels, v);
  pack_rows<T>(s.points, s.segments.order + s.segments.start[segment], rows_in(s.segments, segment),
               s.segments.padded[segment], panels, v);
}

// One packed point, its entries next to each other.
template <class T> INLINE void unpack(const T* panels, int64_t columns, int64_t slot, T* to) {
  const T* from = panels + slot / WIDTH<T> * WIDTH<T> * columns + slot % WIDTH<T>;
  for (int64_t q = 0; q < columns; q++) to[q] = from[q * WIDTH<T>];
}

// ---- blocks of K
template <class T> INLINE T* block_of(const Blocks& blocks, int64_t count, int64_t a, int64_t b);
template <> INLINE float* block_of<float>(const Blocks& blocks, int64_t count, int64_t a, int64_t b) {
  return a == b ? blocks.own32[a] : blocks.cross32[a * count + b];
}
template <> INLINE double* block_of<double>(const Blocks& blocks, int64_t count, int64_t a, int64_t b) {
  return a == b ? blocks.own64[a] : blocks.cross64[a * count + b];
}

// The first of entries t, ..., stop of a column whose slot is at least `slot`.
INLINE int64_t first_entry(const Columns& columns, int64_t t, int64_t stop, int64_t slot) {
  for (int64_t high = stop; t < high;) {
    const int64_t middle = (t + high) / 2;
    if (columns.slot[middle] < slot)
      t = middle + 1;
    else
      high = middle;
  }
  return t;
}

// Sums over the sparse columns of some rows of segment a with all slots of segments first..last (Gustavson 1978): each
// entry of a row runs through its column.
void sparse_products(const Batch& s, int64_t a, int64_t first_row, int64_t last_row, int64_t first, int64_t last,
                     double* sums) {
  const Segments& g = s.segments;
  const int64_t begin = g.slot[first], end = g.slot[last - 1] + g.padded[last - 1];
  for (int64_t local = first_row; local < last_row; local++) {
    __builtin_memset(sums + begin, 0, size_t(end - begin) * sizeof(double));
    const int64_t row = g.order[g.start[a] + local];
    for (int64_t e = s.points.indptr[row]; e < s.points.indptr[row + 1]; e++) {
      const int64_t column = s.points.indices[e];
      if (s.columns.place[column] >= 0) continue;
      const double value = s.points.data[e] * s.points.form.root;
      const int64_t all = s.columns.start[column + 1];
      const int64_t from = first_entry(s.columns, s.columns.start[column], all, begin);
      const int64_t stop = last == g.count ? all : first_entry(s.columns, from, all, end);
      for (int64_t t = from; t < stop; t++) sums[s.columns.slot[t]] += value * s.columns.value[t];
    }
    for (int64_t b = first; b < last; b++)
      __builtin_memcpy(block_of<double>(s.blocks, g.count, a, b) + local * g.padded[b], sums + g.slot[b],
                       size_t(g.padded[b]) * sizeof(double));
  }
}

// Rows that share a pass over the panels, which are more than a cache holds.
constexpr int64_t PASS_ROWS = 24 / TILE_ROWS * TILE_ROWS;

// The kernel's function on the block of segments a and b, whose rows hold the sparse sums of CSR points.
template <class T, int KIND> void finish_block(const Batch& s, int64_t a, int64_t b, Arena* arena) {
  const Segments& g = s.segments;
  const int64_t columns = s.packed.columns, n = rows_in(g, a), wide = g.padded[b];
  const T *panels = panels_of<T>(s.packed), *v = v_of<T>(s.packed);
  T* out = block_of<T>(s.blocks, g.count, a, b);
  const size_t before = arena->used;
  T *rows = take<T>(arena, PASS_ROWS * columns), *begin = take<T>(arena, TILE_ROWS * WIDTH<T>);
  for (int64_t i = 0; i < n; i += PASS_ROWS) {
    const T* at[PASS_ROWS];
    T u[PASS_ROWS], *to[PASS_ROWS];
    const int64_t in_pass = minimum<int64_t>(PASS_ROWS, n - i);
    for (int64_t r = 0; r < PASS_ROWS; r++) {
      const int64_t local = minimum(i + r, n - 1);
      if (r < in_pass) unpack(panels, columns, g.slot[a] + local, rows + r * columns);
      at[r] = rows + minimum(r, in_pass - 1) * columns;
      u[r] = u_of<T>(s.points.form, v[g.slot[a] + local]), to[r] = out + local * wide;
    }
    for (int64_t p = 0; p < wide; p += WIDTH<T>)
      for (int64_t r0 = 0; r0 < in_pass; r0 += TILE_ROWS) {
        const int64_t real = minimum<int64_t>(TILE_ROWS, in_pass - r0);
        T* const* here = to + r0;
        if (s.points.indptr)  // a row that only fills up the tile must not be finished twice
          for (int64_t r = 0; r < real; r++) __builtin_memcpy(begin + r * WIDTH<T>, here[r] + p, WIDTH<T> * sizeof(T));
        tile<T, KIND, TILE_ROWS>(at + r0, u + r0, panels + (g.slot[b] + p) * columns, v + g.slot[b] + p, columns,
                                 s.points.form.degree, s.points.indptr ? begin : static_cast<const T*>(nullptr),
                                 [=](auto r, auto k, Vec<T> value) {
                                   if (r < real) store(here[r] + p + k * LANES<T>, value);
                                 });
      }
  }
  arena->used = before;
}

// out (columns x to_width) = block' (rows x width); the rest of each row of out is zero.
template <class T>
void transposed(const T* block, int64_t rows, int64_t columns, int64_t width, T* out, int64_t to_width) {
  constexpr int64_t TRANSPOSE_ROWS = 16;  // one line of the cache of float32
  for (int64_t t = 0; t < columns; t++)
    for (int64_t i = rows; i < to_width; i++) out[t * to_width + i] = 0;
  for (int64_t i0 = 0; i0 < rows; i0 += TRANSPOSE_ROWS)
    for (int64_t t = 0; t < columns; t++)
      for (int64_t i = i0; i < minimum(i0 + TRANSPOSE_ROWS, rows); i++) out[t * to_width + i] = block[i * width + t];
}

}  // namespace LEVEL::batch_code
