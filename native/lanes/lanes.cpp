#include "lanes/lanes.h"

#include "design/rows.h"

namespace LEVEL {

template <class W> constexpr int LINE = LINE_BYTES / int(sizeof(W));
template <class W> constexpr int PARTS = LINE<W> / LANES<W>;  // registers per line

// A cache line of weights as registers.
template <class W> struct Line {
  Vec<W> part[PARTS<W>];
};
template <class W> INLINE Line<W> load_line(const W* p) {
  Line<W> line;
  unrolled<PARTS<W>>([&](auto k) { line.part[k] = load(p + k * LANES<W>); });
  return line;
}
template <class W> INLINE void store_line(W* p, const Line<W>& line) {
  unrolled<PARTS<W>>([&](auto k) { store(p + k * LANES<W>, line.part[k]); });
}

// Two running sums (four registers wide at least) hide the latency of memory.
template <class W, class Rows> INLINE Line<W> line_dot(const Rows& X, int64_t i, const W* weights) {
  Line<W> one{}, two{};
  int64_t p = X.indptr[i];
  const int64_t stop = X.indptr[i + 1];
  for (; p + 2 <= stop; p += 2) {
    const W a = W(X.data[p]), b = W(X.data[p + 1]);
    const W *u = weights + int64_t(X.indices[p]) * LINE<W>, *v = weights + int64_t(X.indices[p + 1]) * LINE<W>;
    unrolled<PARTS<W>>([&](auto k) {
      one.part[k] += a * load(u + k * LANES<W>);
      two.part[k] += b * load(v + k * LANES<W>);
    });
  }
  if (p < stop) {
    const W a = W(X.data[p]);
    const W* u = weights + int64_t(X.indices[p]) * LINE<W>;
    unrolled<PARTS<W>>([&](auto k) { one.part[k] += a * load(u + k * LANES<W>); });
  }
  unrolled<PARTS<W>>([&](auto k) { one.part[k] += two.part[k]; });
  return one;
}
template <class W, class Rows> INLINE void line_add(const Rows& X, int64_t i, const Line<W>& change, W* weights) {
  const auto *indices = X.indices, *indptr = X.indptr;  // the compiler cannot know that weights leave X as it is
  const auto* data = X.data;
  const int64_t stop = indptr[i + 1];
  for (int64_t p = indptr[i]; p < stop; p++) {
    const W a = W(data[p]);
    W* u = weights + int64_t(indices[p]) * LINE<W>;
    unrolled<PARTS<W>>([&](auto k) { store(u + k * LANES<W>, load(u + k * LANES<W>) + a * change.part[k]); });
  }
}

// What a row two visits ahead needs: its entries.
template <class T> INLINE void fetch(const T* begin, const T* end) {
  for (const char* p = (const char*)begin; p < (const char*)end; p += LINE_BYTES) __builtin_prefetch(p);
}
template <class Rows> INLINE void fetch_entries(const Rows& X, int64_t i) {
  fetch(X.indices + X.indptr[i], X.indices + X.indptr[i + 1]);
  fetch(X.data + X.indptr[i], X.data + X.indptr[i + 1]);
}
// What the next row needs: the weights of its columns.
template <class W, class Rows> INLINE void fetch_lines(const Rows& X, int64_t i, const W* weights) {
  for (int64_t p = X.indptr[i]; p < int64_t(X.indptr[i + 1]); p++)
    __builtin_prefetch(weights + int64_t(X.indices[p]) * LINE<W>, 1);
}

// The multipliers of row i for x_i'w = f: `change` is what the weights gain; whether any moved.
template <class W> INLINE bool step_row(const LanesState<W>& S, int64_t i, const Line<W>& f, Line<W>& change) {
  const W c = S.bound[i], square = S.squares[i] + S.rho;
  W* alpha = S.A + i * LINE<W>;
  Vec<W> moved{};
  unrolled<PARTS<W>>([&](auto k) {
    Ints<W> lane;
    for (int l = 0; l < LANES<W>; l++) lane[l] = k * LANES<W> + l;
    const auto mine = lane == splat_integer<W>(S.lane[i]);
    const Vec<W> zero{}, one = splat<W>(1), sign = mine ? one : -one, a = load(alpha + k * LANES<W>);
    const Vec<W> total = load(S.total + k * LANES<W>), weight = mine ? c * load(S.own + k * LANES<W>) : splat(c);
    const Vec<W> ridge = S.squared ? (weight > zero ? W(0.5) / weight : zero) : zero;
    const Vec<W> g = sign * (f.part[k] + load(S.b + k * LANES<W>) + S.rho * total) - one + ridge * a;
    Vec<W> next = maximum(a - g / maximum(square + ridge, splat(W(1e-30))), zero);
    next = S.squared ? (weight > zero ? next : zero) : minimum(next, weight);
    const Vec<W> step = load(S.awake + k * LANES<W>) * (next - a);
    change.part[k] = sign * step;
    store(alpha + k * LANES<W>, a + step);
    store(S.total + k * LANES<W>, total + change.part[k]);
    moved = maximum(moved, absolute_lanes<W>(step));
  });
  return maximum_of<W>(moved) > 0;
}

template <class W, class Rows>
int64_t sweep_rows(const Rows& X, const LanesState<W>& S, const int64_t* order, int64_t count, bool every) {
  int64_t visited = 0;
  const auto takes_part = [&](int64_t t) { return t < count && (every || S.quiet[order[t]] < S.quiet_limit); };
  Line<W> change;
  for (int64_t t = 0; t < count; t++) {
    if (takes_part(t + 2)) fetch_entries(X, order[t + 2]);
    if (takes_part(t + 1)) {
      fetch_lines(X, order[t + 1], S.weights);
      __builtin_prefetch(S.A + order[t + 1] * LINE<W>, 1);
    }
    if (!takes_part(t)) continue;
    const int64_t i = order[t];
    visited++;
    if (!step_row(S, i, line_dot(X, i, S.weights), change)) {
      S.quiet[i]++;
      continue;
    }
    S.quiet[i] = 0;
    line_add(X, i, change, S.weights);
  }
  return visited;
}

template <class W> int64_t sweep(const LanesState<W>& S, const int64_t* order, int64_t count, bool every) {
  return with_csr_rows(S.X, [&](auto X) { return sweep_rows(X, S, order, count, every); });
}
template <class W> void values(const RowsView& view, const W* weights, int64_t start, int64_t stop, W* out) {
  with_csr_rows(view, [&](auto X) {
    for (int64_t i = start; i < stop; i++) store_line(out + i * LINE<W>, line_dot(X, i, weights));
  });
}
template <class W> void sums(const RowsView& view, const W* factors, int64_t start, int64_t stop, W* out) {
  with_csr_rows(view, [&](auto X) {
    for (int64_t i = start; i < stop; i++) line_add(X, i, load_line(factors + i * LINE<W>), out);
  });
}
template <class W> void squares(const W* weights, int64_t columns, double* out) {
  for (int l = 0; l < LINE<W>; l++) out[l] = 0.0;
  for (int64_t j = 0; j < columns; j++)
    for (int l = 0; l < LINE<W>; l++) out[l] += double(weights[j * LINE<W> + l]) * double(weights[j * LINE<W> + l]);
}

template <class W> constexpr LanesFunctions<W> LANES_FUNCTIONS = {sweep<W>, values<W>, sums<W>, squares<W>};

const LanesTable lanes_table = {LANES_FUNCTIONS<float>, LANES_FUNCTIONS<double>};

}  // namespace LEVEL
