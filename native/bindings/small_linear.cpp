#include "small_linear/small_linear.h"

#include "bindings/linear_rows.h"
#include "core/scratch.h"

using nb::literals::operator""_a;
using border::Input;
using border::Output;

static LossesView losses_of(const Input& y, const Input& above, const Input& below, int64_t n, double eps, bool squared) {
  border::check_scalar(eps >= 0.0, "epsilon", "at least 0", eps);
  return {vector_of(y, n, "rows of X"), vector_of(above, n, "rows of X"), vector_of(below, n, "rows of X"), eps, squared, n};
}

// The rows of Z: X minus its means, or with a constant column; zero beyond.
static void fill_rows(const double* X, int64_t n, int64_t d, int64_t stride, bool free, double scaling, double* Z, double* means) {
  for (int64_t k = 0; k < d; k++) means[k] = 0.0;
  if (free) {
    for (int64_t i = 0; i < n; i++)
      for (int64_t k = 0; k < d; k++) means[k] += X[i * d + k];
    for (int64_t k = 0; k < d; k++) means[k] /= double(n > 0 ? n : 1);
  }
  for (int64_t i = 0; i < n; i++) {
    double* z = Z + i * stride;
    for (int64_t k = 0; k < d; k++) z[k] = X[i * d + k] - means[k];
    for (int64_t k = d; k < stride; k++) z[k] = 0.0;
    if (scaling > 0.0) z[d] = scaling;
  }
}

static nb::tuple solve_small_linear(nb::handle X_, nb::handle y_, nb::handle above_, nb::handle below_, double eps, bool squared,
                                    bool free, double scaling, double start, double centre, double tol, int64_t max_iter,
                                    nb::handle w_, nb::handle f_, nb::handle beta_, nb::handle records_) {
  const Input X(X_, "X"), y(y_, "y"), above(above_, "above"), below(below_, "below");
  const Output w(w_, "w"), f(f_, "f"), beta(beta_, "beta"), records(records_, "records");
  const auto points = X.array<double, 2>();
  const int64_t n = points.shape[0], d = points.shape[1], columns = d + (scaling > 0.0);
  border::check_scalar(!(free && scaling > 0.0), "scaling", "0 for a free intercept", scaling);
  const int64_t stride = (columns + SMALL_LINEAR_UNIT - 1) / SMALL_LINEAR_UNIT * SMALL_LINEAR_UNIT;
  const auto record = records.array<double, 2>();
  border::check_length(record, 1, SMALL_LINEAR_RECORD, "numbers of a record");
  border::check_scalar(max_iter >= 0 && max_iter < record.shape[0], "max_iter", "less than the records", double(max_iter));
  SmallLinear p{};
  p.rows = n, p.features = d, p.stride = stride, p.losses = losses_of(y, above, below, n, eps, squared);
  p.free = free, p.start = start, p.centre = centre, p.tol = tol, p.max_iter = max_iter;
  double* weights = vector_of(w, d, "columns of X");
  p.f = vector_of(f, n, "rows of X"), p.beta = vector_of(beta, n, "rows of X"), p.records = record.data;
  const int64_t vectors = SMALL_LINEAR_VECTORS * (eps > 0.0 ? 2 : 1) * n;
  Scratch memory(bytes_of<double>(n * stride) + bytes_of<double>(vectors) + bytes_of<double>(SMALL_LINEAR_COLUMNS * stride) +
                 2 * bytes_of<double>(stride * stride) + 2 * bytes_of<double>(stride));
  double* Z = memory.take<double>(n * stride);
  p.vectors = memory.take<double>(vectors), p.columns = memory.take<double>(SMALL_LINEAR_COLUMNS * stride);
  p.M = memory.take<double>(stride * stride), p.factor = memory.take<double>(stride * stride);
  p.w = memory.take<double>(stride), p.Z = Z;
  double* means = memory.take<double>(stride);
  SmallLinearResult found;
  {
    nb::gil_scoped_release released;
    for (int64_t k = 0; k < stride; k++) p.w[k] = 0.0;
    for (int64_t i = 0; i < n; i++) p.f[i] = p.beta[i] = 0.0;
    fill_rows(points.data, n, d, stride, free, scaling, Z, means);
    found = small_linear_table().solve(p);
    // back to X: what the means and the constant column add belongs to b
    double moved = 0.0;
    for (int64_t k = 0; k < d; k++) weights[k] = p.w[k], moved += p.w[k] * means[k];
    const double b = free ? found.b - moved : (scaling > 0.0 ? scaling * p.w[d] : 0.0);
    for (int64_t i = 0; i < n; i++) p.f[i] += found.b - b;
    found.b = b;
  }
  return nb::make_tuple(found.b, found.primal, found.dual, found.iterations, found.records);
}

static nb::tuple certify_linear(const LinearRows& X, nb::handle y_, nb::handle above_, nb::handle below_, double eps,
                                bool squared, bool free, double scaling, double centre, nb::handle w_, double b,
                                nb::handle beta_, nb::handle f_, nb::handle support_) {
  const Input y(y_, "y"), above(above_, "above"), below(below_, "below"), w(w_, "w");
  const Output beta(beta_, "beta"), f(f_, "f"), support(support_, "support");
  const int64_t n = X.view.rows, d = X.view.columns;
  border::check_scalar(X.view.shift == nullptr, "shift", "absent", 1.0);
  const auto used = support.array<bool, 1>();
  border::check_length(used, 0, n, "rows of X");
  Scratch memory(2 * bytes_of<double>(d));
  LinearConditions p{};
  p.X = X.view, p.losses = losses_of(y, above, below, n, eps, squared);
  p.free = free, p.scaling = scaling, p.centre = centre, p.w = vector_of(w, d, "columns of X"), p.b = b;
  p.beta = vector_of(beta, n, "rows of X"), p.f = vector_of(f, n, "rows of X"), p.support = used.data;
  p.means = memory.take<double>(d), p.sums = memory.take<double>(d);
  LinearConditionsResult r;
  {
    nb::gil_scoped_release released;
    r = small_linear_table().certify(p);
  }
  return nb::make_tuple(r.primal, r.dual, r.moved, r.in_w, r.in_b, r.size, r.complementarity, r.norm);
}

void bind_small_linear(nb::module_& m) {
  m.def("solve_small_linear", &solve_small_linear, "X"_a, "y"_a, "above"_a, "below"_a, "epsilon"_a, "squared"_a, "free"_a,
        "scaling"_a, "start"_a, "centre"_a, "tol"_a, "max_iter"_a, "w"_a, "f"_a, "beta"_a, "records"_a);
  m.def("certify_linear", &certify_linear, "X"_a, "y"_a, "above"_a, "below"_a, "epsilon"_a, "squared"_a, "free"_a,
        "scaling"_a, "centre"_a, "w"_a, "b"_a, "beta"_a, "f"_a, "support"_a);
}
