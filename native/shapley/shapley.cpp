// A vector has some anchors of a panel. The columns pass twice for each group of nodes: forward for the products of all
// columns before, backward for those of all columns behind.
#include "shapley/shapley.h"

#include "core/functions.h"

namespace LEVEL {

typedef Vec<double> V;
constexpr int64_t WIDTH = LANES<double>;
constexpr int GROUP = int(SHAPLEY_NODES);
static_assert(SHAPLEY_LANES % WIDTH == 0, "a panel is a number of vectors");

INLINE V exponent(const ShapleyFactors& f, int64_t k, double x, V anchor) {
  const V apart = x - anchor;
  V e = {};
  if (f.square) e += f.square[k] * apart * apart;
  if (f.absolute) e += f.absolute[k] * absolute_lanes<double>(apart);
  if (f.chi_squared) {
    const V both = x + anchor;
    e += both != V{} ? f.chi_squared[k] * apart * apart / both : V{};
  }
  return e;
}

// gain[a] += sum over the nodes of the rule of weight * prod_{b != a} (low_b + node * step_b), for the active columns
INLINE void integrate(const ShapleyRules& rules, int64_t rule, int64_t active, ShapleyScratch s) {
  for (int64_t a = 0; a < active; a++) store(s.gain + a * WIDTH, V{});
  for (int64_t q = rules.start[rule]; q < rules.start[rule + 1]; q += GROUP) {
    const double *node = rules.node + q, *weight = rules.weight + q;
    V at[GROUP], product[GROUP];
    unrolled<GROUP>([&](auto g) { at[g] = splat(node[g]), product[g] = splat(1.0); });
    for (int64_t a = 0; a < active; a++) {
      const V low = load(s.low + a * WIDTH), step = load(s.step + a * WIDTH);
      unrolled<GROUP>([&](auto g) {
        store(s.prefix + (a * GROUP + g) * WIDTH, product[g]);
        product[g] *= low + at[g] * step;
      });
    }
    unrolled<GROUP>([&](auto g) { product[g] = splat(weight[g]); });
    for (int64_t a = active - 1; a >= 0; a--) {
      const V low = load(s.low + a * WIDTH), step = load(s.step + a * WIDTH);
      V gain = load(s.gain + a * WIDTH);
      unrolled<GROUP>([&](auto g) {
        gain += load(s.prefix + (a * GROUP + g) * WIDTH) * product[g];
        product[g] *= low + at[g] * step;
      });
      store(s.gain + a * WIDTH, gain);
    }
  }
}

// sum[t, column] += coefficient[t] * gain(a), for the active columns
template <class F>
INLINE void collect(const ShapleyProblem& p, const double* coefficient, int64_t active, ShapleyScratch s, double* sum,
                    F&& gain) {
  for (int64_t t = 0; t < p.outputs; t++, sum += p.columns * WIDTH) {
    const V c = load(coefficient + t * SHAPLEY_LANES);
    if (p.outputs > 1 && maximum_of<double>(absolute_lanes<double>(c)) == 0.0) continue;
    for (int64_t a = 0; a < active; a++) {
      double* place = sum + s.active[a] * WIDTH;
      store(place, load(place) + c * gain(a));
    }
  }
}

// The first rule that is exact for `active` columns, or as good as exact for sigma.
INLINE int64_t rule_for(const ShapleyRules& rules, int64_t active, double sigma) {
  int64_t rule = 0;
  while (rule + 1 < rules.count && 2 * (rules.start[rule + 1] - rules.start[rule]) < active && rules.limit[rule] < sigma)
    rule++;
  return rule;
}

// Exponents and factors of one point and the anchors of a vector, column by column: table (columns, 2)
INLINE void tabulate(const ShapleyFactors& f, const double* x, int64_t columns, const double* panel, double* table) {
  for (int64_t k = 0; k < columns; k++, table += 2 * WIDTH) {
    const V e = exponent(f, k, x[k], load(panel + k * SHAPLEY_LANES));
    store(table, e);
    store(table + WIDTH, exp2_in_range<double>(cut_below<double>(-e)));
  }
}

// One row against one background b (null: columns left out), whose table is `far`.
INLINE void product_of_vector(const ShapleyProblem& p, const ShapleyRules& rules, const double* x, const double* b,
                              const double* far, const double* coefficient, ShapleyScratch s, double* sum) {
  constexpr double LOG_2 = 0.6931471805599453;
  V total = {}, sigma = {}, outside = splat(1.0);
  int64_t active = 0;
  for (int64_t k = 0; k < p.columns; k++) {
    const V here = load(s.near + 2 * k * WIDTH), z = load(s.near + (2 * k + 1) * WIDTH);
    V there = {}, r = splat(1.0);
    if (b) {
      if (x[k] == b[k]) {
        total += here, outside *= z;
        continue;
      }
      there = load(far + 2 * k * WIDTH), r = load(far + (2 * k + 1) * WIDTH);
      total += minimum(here, there);
    } else if (maximum_of<double>(here) == 0.0) {
      continue;
    }
    const V y = LOG_2 * absolute_lanes<double>(here - there);
    sigma += minimum(splat(1.0), y - y * y * (0.5 - y * (1.0 / 6.0)));  // at least u_k = 1 - e^-y
    store(s.low + active * WIDTH, r);
    store(s.step + active * WIDTH, z - r);
    s.active[active++] = k;
  }
  if (active == 0 || minimum_of<double>(total) > Exp2<double>::RANGE) return;
  integrate(rules, rule_for(rules, active, maximum_of<double>(sigma)), active, s);
  collect(p, coefficient, active, s, sum,
          [&](int64_t a) { return load(s.gain + a * WIDTH) * load(s.step + a * WIDTH) * outside; });
}

constexpr int TERMS = SHAPLEY_MAX_DEGREE + 1;

// The series e^(s u) of one column: factor[e] = ((1 - t) r^e + t z^e) / e!, and apart[e] = (z^e - r^e) / e!.
INLINE void series(V z, V r, double t, int degree, V* factor, V* apart) {
  V above = splat(1.0), below = splat(1.0);
  for (int e = 1; e <= degree; e++) {
    above *= z / double(e), below *= r / double(e);
    apart[e] = above - below;
    factor[e] = below + t * apart[e];
  }
}

INLINE void power_of_vector(const ShapleyProblem& p, const ShapleyPower& w, const ShapleyRules& rules, const double* x,
                            const double* b, const double* panel, const double* coefficient, ShapleyScratch s,
                            double* sum) {
  const int degree = w.degree;
  V constant = splat(w.constant);
  int64_t active = 0;
  for (int64_t k = 0; k < p.columns; k++) {
    const V scaled = w.scale[k] * load(panel + k * SHAPLEY_LANES);
    const V z = x[k] * scaled, r = b ? b[k] * scaled : V{};
    if (maximum_of<double>(absolute_lanes<double>(z - r)) == 0.0) {
      constant += z;
      continue;
    }
    store(s.low + active * WIDTH, r);
    store(s.step + active * WIDTH, z);
    store(s.gain + active * WIDTH, V{});
    s.active[active++] = k;
  }
  double factorial = 1.0;
  for (int e = 2; e <= degree; e++) factorial *= e;
  V all[TERMS], others[TERMS], factor[TERMS], apart[TERMS];
  for (int64_t q = rules.start[0]; q < rules.start[1]; q++) {
    if (rules.weight[q] == 0.0) continue;
    all[0] = splat(1.0);
    for (int e = 1; e <= degree; e++) all[e] = all[e - 1] * constant / double(e);
    for (int64_t a = 0; a < active; a++) {
      series(load(s.step + a * WIDTH), load(s.low + a * WIDTH), rules.node[q], degree, factor, apart);
      for (int e = degree; e >= 1; e--)
        for (int i = 1; i <= e; i++) all[e] += all[e - i] * factor[i];
    }
    others[0] = all[0];
    for (int64_t a = 0; a < active; a++) {
      series(load(s.step + a * WIDTH), load(s.low + a * WIDTH), rules.node[q], degree, factor, apart);
      V value = {};
      for (int e = 1; e < degree; e++) {  // the product of all columns, divided by this one
        others[e] = all[e];
        for (int i = 1; i <= e; i++) others[e] -= factor[i] * others[e - i];
      }
      for (int e = 1; e <= degree; e++) value += apart[e] * others[degree - e];
      double* gain = s.gain + a * WIDTH;
      store(gain, load(gain) + rules.weight[q] * factorial * value);
    }
  }
  collect(p, coefficient, active, s, sum, [&](int64_t a) { return load(s.gain + a * WIDTH); });
}

// vector(panel, coefficient, x, rows, sum): adds to sum (rows, outputs, columns), for some rows and each vector of anchors
template <class F>
INLINE void each_vector(const ShapleyProblem& p, const double* x, int64_t rows, double weight, ShapleyScratch s,
                        double* out, F&& vector) {
  const int64_t size = p.outputs * p.columns;
  for (int64_t i = 0; i < rows; i += SHAPLEY_ROWS) {
    const int64_t some = minimum(SHAPLEY_ROWS, rows - i);
    for (int64_t k = 0; k < some * size; k++) store(s.sum + k * WIDTH, V{});
    for (int64_t j = 0; j < p.panels; j++)
      for (int64_t v = 0; v < SHAPLEY_LANES; v += WIDTH)
        vector(p.panel + j * p.columns * SHAPLEY_LANES + v, p.coefficient + j * p.outputs * SHAPLEY_LANES + v,
               x + i * p.columns, some);
    for (int64_t k = 0; k < some * size; k++) out[i * size + k] += weight * sum_of<double>(load(s.sum + k * WIDTH));
  }
}

INLINE const double* background_of(const ShapleyProblem& p, int64_t b) {
  return p.background ? p.background + b * p.columns : nullptr;
}

void product(const ShapleyProblem& p, const ShapleyFactors& f, const ShapleyRules& rules, const double* x, int64_t rows,
             double weight, ShapleyScratch s, double* out) {
  const int64_t size = p.outputs * p.columns * WIDTH, table = 2 * p.columns * WIDTH;
  each_vector(p, x, rows, weight, s, out, [&](const double* panel, const double* c, const double* at, int64_t some) {
    if (p.background)
      for (int64_t b = 0; b < p.backgrounds; b++)
        tabulate(f, background_of(p, b), p.columns, panel, s.far + b * table);
    for (int64_t i = 0; i < some; i++, at += p.columns) {
      tabulate(f, at, p.columns, panel, s.near);
      for (int64_t b = 0; b < p.backgrounds; b++)
        product_of_vector(p, rules, at, background_of(p, b), s.far + b * table, c, s, s.sum + i * size);
    }
  });
}

void power(const ShapleyProblem& p, const ShapleyPower& w, const ShapleyRules& rules, const double* x, int64_t rows,
           double weight, ShapleyScratch s, double* out) {
  const int64_t size = p.outputs * p.columns * WIDTH;
  each_vector(p, x, rows, weight, s, out, [&](const double* panel, const double* c, const double* at, int64_t some) {
    for (int64_t i = 0; i < some; i++, at += p.columns)
      for (int64_t b = 0; b < p.backgrounds; b++)
        power_of_vector(p, w, rules, at, background_of(p, b), panel, c, s, s.sum + i * size);
  });
}

const ShapleyTable shapley_table = {product, power};

}  // namespace LEVEL
