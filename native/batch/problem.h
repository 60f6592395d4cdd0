// One problem from start to certificate.
//
//   1. float32 pair steps over rows of K on demand; f = K a summed in float64, and more steps if rounding left a
//      violation;
//   2. f in float64 kernel values for the rows that decide the violation; if tol is missed, 1. again in float64.
//
// Values that are float64 from the beginning (blocks of CSR points, a stored matrix, few rows) need 1. only. A problem
// that takes more than its steps, or misses tol after all, is left where it is: its status says so.
#pragma once
#include "batch/kernel_rows.h"

namespace LEVEL::batch_code {

constexpr double FLOAT32_LEAST_GOAL = 3e-5;       // a violation that float32 can tell from rounding, at gradients of one
constexpr int64_t CREEP_STEPS_PER_VARIABLE = 50;  // after so many steps per variable, and
constexpr int64_t CREEP_STEPS = 20000;            // so many more, another solver is faster
constexpr int REFRESHES_MAX = 6;                  // times f is computed anew

template <class T> struct State {
  const Batch& s;
  const Layout& layout;
  const int64_t problem;
  Variables<T> x;
  double *linear, *f, *gradient;
  double* summed;  // the variables whose values are in f

  State(const Batch& batch, const Layout& of, int64_t p, Arena* arena) : s(batch), layout(of), problem(p) {
    const int64_t n = layout.size;
    x.g = take<T>(arena, n), x.rise = take<T>(arena, n), x.fall = take<T>(arena, n);
    x.diagonal = take<T>(arena, n);
    x.a = take<double>(arena, n), x.lower = take<double>(arena, n), x.upper = take<double>(arena, n);
    linear = take<double>(arena, n), f = take<double>(arena, n), gradient = take<double>(arena, n);
    summed = take<double>(arena, n);
    x.runs = layout.runs, x.joined = s.problems.joined || layout.runs == 1;
    x.check_step = s.problems.check_step, x.most_entering = s.problems.most_entering;
    x.limited = x.check_step > 0 && !s.problems.goes_on ? TRIED : LIMIT;
    int64_t at = s.problems.at[problem], slot = 0;
    for (int k = 0; k < layout.runs; k++) {
      const int64_t rows = rows_in(s.segments, layout.segment[k]);
      x.begin[k] = slot, x.end[k] = slot + rounded_up(rows, STEP_UNIT<T>);
      for (int64_t t = 0; t < layout.padded[k]; t++, slot++) {
        const bool real = t < rows;
        x.lower[slot] = real ? s.problems.lower[at + t] : 0.0, x.upper[slot] = real ? s.problems.upper[at + t] : 0.0;
        linear[slot] = real ? s.problems.linear[at + t] : 0.0;
        x.a[slot] = real ? s.problems.a[at + t] : 0.0;
        summed[slot] = real && s.problems.begun ? s.problems.begun[at + t] : 0.0;
        f[slot] = real && s.problems.begun ? s.problems.f[at + t] : 0.0;
      }
      at += rows;
    }
  }

  // Both sides of each group, and the largest difference.
  double conditions(double* rise, double* fall) {
    double worst = 0;
    for (int k = 0; k < x.runs; k++) {
      if (k == 0 || !x.joined) rise[k] = BARRED, fall[k] = -BARRED;
      const int group = x.joined ? 0 : k;
      for (int64_t v = x.begin[k]; v < x.end[k]; v++) {
        gradient[v] = f[v] + linear[v];
        if (x.a[v] < x.upper[v] && gradient[v] < rise[group]) rise[group] = gradient[v];
        if (x.a[v] > x.lower[v] && gradient[v] > fall[group]) fall[group] = gradient[v];
      }
    }
    for (int k = 0; k < (x.joined ? 1 : x.runs); k++) worst = maximum(worst, fall[k] - rise[k]);
    return worst;
  }

  // f = K a, by what has changed since the last time.
  template <class Rows> void sum_rows(Rows& rows) {
    const int runs = layout.twins ? 1 : x.runs;
    for (int64_t u = 0; u < layout.kernel_size; u++) {
      double a = x.a[u] - summed[u];
      if (layout.twins) a += x.a[u + layout.padded[0]] - summed[u + layout.padded[0]];
      if (a == 0) continue;
      for (int k = 0; k < runs; k++) {
        const T* row = rows(u, k);
        for (int64_t v = x.begin[k]; v < x.end[k]; v++) f[v] += a * double(row[v]);
      }
    }
    if (layout.twins) __builtin_memcpy(f + layout.padded[0], f, size_t(layout.padded[0]) * sizeof(double));
    __builtin_memcpy(summed, x.a, size_t(layout.size) * sizeof(double));
  }

  // From a and its f to a violation of at most `goal`, as far as T can tell.
  template <bool ONES, class Rows> Ended descend_to(double goal, Rows& rows, int64_t max_steps, const Stop* stop, int64_t& steps) {
    Ended ended = REACHED;
    for (int round = 0; round < REFRESHES_MAX; round++) {
      double rise[2], fall[2];
      if (conditions(rise, fall) <= goal) return REACHED;
      if (steps >= max_steps) return LIMIT;
      double middle[2];
      for (int k = 0; k < x.runs; k++) {
        const int group = x.joined ? 0 : k;
        middle[k] = 0.5 * (rise[group] + fall[group]);
        for (int64_t v = x.begin[k]; v < x.end[k]; v++) {
          const bool real = layout.real(v);
          x.g[v] = real ? T(gradient[v] - middle[k]) : T(0);
          x.mark(v);
        }
      }
      ended = pair_steps<T, ONES>(x, rows, T(0.9 * goal), max_steps, stop, steps);
      if (ended == ASKED || ended == TRIED) {  // who stops a run does not wait for f to be computed anew
        for (int k = 0; k < x.runs; k++)
          for (int64_t v = x.begin[k]; v < x.end[k]; v++) f[v] = double(x.g[v]) + middle[k] - linear[v];
        return ended;
      }
      sum_rows(rows);
    }
    double rise[2], fall[2];
    return conditions(rise, fall) <= goal ? REACHED : ended == LIMIT ? LIMIT : NO_STEP;
  }
};

// k(x, x) of every slot, from packed points.
template <class T>
void diagonal_of(const Batch& s, const Layout& layout, const T* const* panels, const T* const* v, T* out) {
  for (int64_t t = 0; t < layout.size; t++) {
    const int run = layout.run(t);
    const int64_t local = layout.local(t);
    const T* at = panels[run] + local / WIDTH<T> * WIDTH<T> * s.points.d + local % WIDTH<T>;
    double sum = double(u_of<T>(s.points.form, v[run][local])) + double(v[run][local]);
    for (int64_t q = 0; q < s.points.d; q++) sum += double(at[q * WIDTH<T>]) * double(at[q * WIDTH<T>]);
    for_kind(s.points.form.kind, [&](auto kind) {
      const Vec<T> value = kernel_function<T, kind>(splat<T>(T(sum)), s.points.form.degree);
      out[t] = value[0];
    });
  }
}

// Whether k(x, x) is one for every x.
INLINE bool ones(int kind) { return kind == EXP2 || kind == DECAY; }

template <class T>
MadeRows<T> made_rows(State<T>& z, const T* const* panels, const T* const* v, bool shared, Arena* arena) {
  const int64_t n = z.layout.kernel_size, d = z.s.points.d;
  const bool alone = z.layout.runs == 1 || z.layout.twins;  // all of a row of K is shared, and nothing its own
  const int64_t width = !shared ? n : alone ? 1 : maximum(z.layout.padded[0], z.layout.padded[1]);
  int64_t capacity = int64_t(z.s.row_bytes / double(width * int64_t(sizeof(T))));
  capacity = minimum(maximum<int64_t>(capacity, 2 * MADE_ROWS_MAX), n + 2 * MADE_ROWS_MAX);
  const bool trial = z.s.problems.check_step > 0;  // which most problems that are tried do not pass
  const int64_t at_once = trial ? minimum<int64_t>(TILE_ROWS, z.s.rows_at_once) : z.s.rows_at_once;
  MadeRows<T> rows{z.s,     z.layout, z.x,     {panels[0], panels[1]}, {v[0], v[1]}, at_once, width, capacity, 0, 0, 0,
                   nullptr, nullptr,  nullptr, nullptr,                {-1, -1},     shared};
  rows.points = take<T>(arena, MADE_ROWS_MAX * (d + 1));
  rows.of = take<T*>(arena, n);
  rows.owner = take<int64_t>(arena, capacity);
  rows.memory = take<T>(arena, capacity * width);
  for (int64_t t = 0; t < n; t++) rows.of[t] = nullptr;
  for (int64_t t = 0; t < capacity; t++) rows.owner[t] = -1;
  return rows;
}

// f in float64 for the rows that decide the violation, after a sample of all rows has shown how far float32 is off.
inline void refine_deciding_rows(State<float>& z, Arena* arena) {
  const Batch& s = z.s;
  const Layout& layout = z.layout;
  const int64_t n = layout.kernel_size, d = s.points.d;
  constexpr double ALL_ROWS_MAX_VALUES = 20000;  // kernel values that are computed again without a choice of rows
  const int64_t sample_rows = s.problems.begun ? 12 : 64;  // only changes are summed in float32 where f was known
  const size_t before = arena->used;
  int64_t *used = take<int64_t>(arena, n), *wanted = take<int64_t>(arena, n), *rows_of = take<int64_t>(arena, n + PASS_ROWS);
  char* done = take<char>(arena, n);
  int64_t count = 0;
  const auto coefficient = [&](int64_t u) { return layout.twins ? z.x.a[u] + z.x.a[u + n] : z.x.a[u]; };
  for (int64_t u = 0; u < n; u++) {
    done[u] = !layout.real(u);
    if (coefficient(u) != 0) rows_of[count] = layout.row(u), used[count++] = u;
  }
  const int64_t slots = rounded_up(count, WIDTH<double>);
  double *panels = take<double>(arena, slots * d), *v = take<double>(arena, slots), *coef = take<double>(arena, slots);
  // the rows of a pass are packed before they are laid out: at narrow levels they take more than one panel
  const int64_t row_slots = rounded_up(PASS_ROWS, WIDTH<double>);
  double *row_panels = take<double>(arena, row_slots * d), *row_v = take<double>(arena, row_slots);
  double* points = take<double>(arena, PASS_ROWS * d);
  for (int64_t t = 0; t < slots; t++) coef[t] = t < count ? coefficient(used[t]) : 0.0;
  pack_rows<double>(s.points, rows_of, count, slots, panels, v);
  double rise[2], fall[2];
  const double spread = z.conditions(rise, fall);
  double reach = 0.05 * spread;
  bool all = double(n) * double(count) <= ALL_ROWS_MAX_VALUES;
  const int64_t every = maximum<int64_t>(1, n / sample_rows);
  for (bool first = true;; first = false) {
    int64_t m = 0;
    for (int64_t u = 0; u < n; u++) {
      bool decides = false;
      for (int64_t w = u; w < layout.size; w += layout.twins ? n : layout.size) {
        const int group = z.x.joined ? 0 : layout.run(w);
        decides = decides || (z.x.a[w] < z.x.upper[w] && z.gradient[w] < rise[group] + reach) ||
                  (z.x.a[w] > z.x.lower[w] && z.gradient[w] > fall[group] - reach);
      }
      if (!done[u] && (decides || all || (first && u % every == 0))) wanted[m++] = u;
    }
    double error = 0;
    for (int64_t t = 0; t < m; t += PASS_ROWS) {
      const double* at[PASS_ROWS];
      double u[PASS_ROWS], sums[PASS_ROWS] = {};
      const int64_t real = minimum<int64_t>(PASS_ROWS, m - t), in_tiles = rounded_up(real, TILE_ROWS);
      for (int64_t r = 0; r < in_tiles; r++) rows_of[r] = layout.row(wanted[t + minimum(r, real - 1)]);
      pack_rows<double>(s.points, rows_of, in_tiles, rounded_up(in_tiles, WIDTH<double>), row_panels, row_v);
      for (int64_t r = 0; r < in_tiles; r++) {
        unpack(row_panels, d, r, points + r * d);
        at[r] = points + r * d, u[r] = u_of<double>(s.points.form, row_v[r]);
      }
      for (int64_t p = 0; p < slots; p += WIDTH<double>)
        for (int64_t r0 = 0; r0 < in_tiles; r0 += TILE_ROWS) {
          const double* weight = coef + p;
          double* to = sums + r0;
          for_kind(s.points.form.kind, [&](auto kind) {
            tile<double, kind, TILE_ROWS>(at + r0, u + r0, panels + p * d, v + p, d, s.points.form.degree,
                                          static_cast<const double*>(nullptr), [=](auto r, auto k, Vec<double> value) {
                                            to[r] += sum_of<double>(value * load(weight + k * LANES<double>));
                                          });
          });
        }
      for (int64_t r = 0; r < real; r++) {
        const int64_t w = wanted[t + r];
        error = maximum(error, absolute(sums[r] - z.f[w]));
        z.f[w] = sums[r], done[w] = 1;
        if (layout.twins) z.f[w + n] = sums[r];
      }
    }
    bool finished = true;
    for (int64_t u = 0; u < n; u++) finished = finished && done[u];
    if (finished || 4 * error <= reach) break;
    all = all || !(error <= 0.01 * (1 + spread));
    reach = 8 * error;
    z.conditions(rise, fall);
  }
  arena->used = before;
}

// ---- certificate: both objectives, the violation and the other conditions, from a and f
template <class T> void publish(State<T>& z, Ended ended, int64_t steps, int64_t evaluations) {
  const Batch& s = z.s;
  const Problems& q = s.problems;
  const Results& out = s.results;
  const int64_t p = z.problem;
  double rise[2], fall[2], offset[2] = {}, sums[2] = {};
  const double violation = z.conditions(rise, fall);
  const int groups = z.x.joined ? 1 : z.x.runs;
  for (int k = 0; k < groups; k++) {
    double free_sum = 0;
    int64_t n_free = 0;
    for (int64_t v = z.x.begin[k]; v < (z.x.joined ? z.x.end[z.x.runs - 1] : z.x.end[k]); v++) {
      if (z.x.a[v] > z.x.lower[v] && z.x.a[v] < z.x.upper[v]) free_sum += z.gradient[v], n_free++;
      sums[k] += z.x.a[v];
    }
    const bool up = rise[k] < BARRED, down = fall[k] > -BARRED;
    if (q.rule == ONE_CLASS) {  // the largest rho that leaves all points below their bound inside
      const double end = up ? rise[k] : fall[k];
      offset[k] = end - 1e-12 * absolute(end);
    } else if (n_free) {
      offset[k] = free_sum / double(n_free);
    } else {
      offset[k] = up && down ? 0.5 * (rise[k] + fall[k]) : up ? rise[k] : down ? fall[k] : 0.0;
    }
  }
  double b = -offset[0], third = 0;
  if (q.rule == EPS_SVR) third = q.epsilon;
  if (q.rule == ONE_CLASS) third = offset[0];
  if (q.rule == NU_SVC || q.rule == NU_SVR) {
    b = -0.5 * (offset[0] + offset[1]);
    third = (q.rule == NU_SVC ? 0.5 : -0.5) * (offset[0] - offset[1]);
  }
  double own = 0, linear = 0, losses = 0, total = 0, product = 0, outside = 0;
  int64_t at = q.at[p], support = 0;
  for (int k = 0; k < z.x.runs; k++) {
    const int64_t rows = rows_in(s.segments, z.layout.segment[k]);
    const double multiplier = offset[z.x.joined ? 0 : k];
    for (int64_t t = 0; t < rows; t++, at++) {
      const int64_t v = z.x.begin[k] + t;
      const double a = z.x.a[v], f = z.f[v], y = q.target[at], bound = z.x.upper[v] - z.x.lower[v];
      q.a[at] = a, q.f[at] = f;
      own += a * f, linear += a * z.linear[v], total += absolute(a);
      if (a != 0) support++;
      const double pull = z.gradient[v] - multiplier;
      product = maximum(product, absolute(pull) * (pull > 0 ? a - z.x.lower[v] : z.x.upper[v] - a));
      outside = maximum(outside, maximum(z.x.lower[v] - a, a - z.x.upper[v]));
      double slack = 0;
      if (q.rule == C_SVC) slack = 1 - y * (f + b);
      if (q.rule == NU_SVC) slack = third - y * (f + b);
      if (q.rule == ONE_CLASS) slack = -pull;
      if (q.rule == EPS_SVR || q.rule == NU_SVR) slack = k == 0 ? absolute(y - f - b) - third : 0.0;
      if (slack > 0) losses += bound * slack;
      if (q.rule == QUANTILE) losses -= pull * (pull > 0 ? z.x.lower[v] : z.x.upper[v]);
    }
  }
  if (q.rule == NU_SVC || q.rule == ONE_CLASS) losses -= third * total;
  if (q.rule == NU_SVR) losses += third * total;
  const double norm2 = maximum(own, 0.0);
  out.offset[2 * p] = offset[0], out.offset[2 * p + 1] = offset[1];
  out.violation[p] = violation, out.primal[p] = 0.5 * norm2 + losses, out.dual[p] = -(0.5 * own + linear);
  out.stationarity[p] = maximum(absolute(sums[0] - q.totals[2 * p]), absolute(sums[1] - q.totals[2 * p + 1]));
  out.outside[p] = outside, out.complementarity[p] = product, out.norm[p] = square_root(norm2);
  out.steps[p] = steps, out.evaluations[p] = evaluations, out.support[p] = support;
  out.status[p] = violation <= q.tol      ? OPTIMAL
                  : ended == ASKED        ? STOPPED
                  : ended == TRIED        ? GIVEN_UP
                  : steps >= q.max_steps  ? MAX_STEPS
                                          : CREEPS;
}

}  // namespace LEVEL::batch_code
