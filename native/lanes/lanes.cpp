#include "lanes/lanes.h"

#include "design/rows.h"

namespace LEVEL {

constexpr int LINE_BYTES = 64;
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
  for (int64_t p = X.indptr[i]; p < int64_t(X.indptr[i + 1]); p++) {
    const W a = W(X.data[p]);
    W* u = weights + int64_t(X.indices[p]) * LINE<W>;
    unrolled<PARTS<W>>([&](auto k) { store(u + k * LANES<W>, load(u + k * LANES<W>) + a * change.part[k]); });
  }
}

template <class W, class Rows>
int64_t sweep_rows(const Rows& X, const LanesState<W>& S, const int64_t* order, int64_t count, bool every) {
  int64_t visited = 0;
  alignas(LINE_BYTES) W f[LINE<W>], change[LINE<W>];
  for (int64_t t = 0; t < count; t++) {
    const int64_t i = order[t];
    if (S.quiet[i] >= S.quiet_limit && !every) continue;
    visited++;
    store_line(f, line_dot(X, i, S.weights));
    const W c = S.bound[i], square = S.squares[i] + S.rho;
    const int64_t mine = S.lane[i];
    W* alpha = S.A + i * LINE<W>;
    W moved = 0;
    for (int l = 0; l < LINE<W>; l++) {
      const W sign = l == mine ? W(1) : W(-1), weight = l == mine ? c * S.own[l] : c;
      const W ridge = S.squared && weight > 0 ? W(0.5) / weight : W(0), a = alpha[l];
      const W g = sign * (f[l] + S.b[l] + S.rho * S.total[l]) - W(1) + ridge * a;
      const W curvature = maximum(square + ridge, W(1e-30));
      W next = maximum(a - g / curvature, W(0));
      next = S.squared ? (weight > 0 ? next : W(0)) : minimum(next, weight);
      const W step = S.awake[l] * (next - a);
      alpha[l] = a + step;
      change[l] = sign * step;
      moved = maximum(moved, absolute(step));
    }
    if (!(moved > 0)) {
      S.quiet[i]++;
      continue;
    }
    S.quiet[i] = 0;
    for (int l = 0; l < LINE<W>; l++) S.total[l] += change[l];
    line_add(X, i, load_line(change), S.weights);
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
template <class W> void squares(const W* weights, int64_t columns, double* out) {
  for (int l = 0; l < LINE<W>; l++) out[l] = 0.0;
  for (int64_t j = 0; j < columns; j++)
    for (int l = 0; l < LINE<W>; l++) out[l] += double(weights[j * LINE<W> + l]) * double(weights[j * LINE<W> + l]);
}

template <class W> constexpr LanesFunctions<W> LANES_FUNCTIONS = {sweep<W>, values<W>, squares<W>};

const LanesTable lanes_table = {LANES_FUNCTIONS<float>, LANES_FUNCTIONS<double>};

}  // namespace LEVEL
