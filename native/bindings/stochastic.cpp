#include "stochastic/stochastic.h"

#include <vector>

#include "bindings/linear_rows.h"

using nb::literals::operator""_a;
using border::Input;
using border::Output;

// A run of stochastic steps. One thread at a time may use it.
class StochasticSteps {
 public:
  StochasticSteps(const LinearRows& X, nb::handle y, nb::handle above, nb::handle below, nb::handle weight, nb::handle u,
                  nb::handle v)
      : y_(y, "y"), above_(above, "above"), below_(below, "below"), weight_(weight, "weight"), u_(u, "u"), v_(v, "v") {
    const int64_t n = X.view.rows, d = X.view.columns;
    state.X = X.view;
    state.losses = {vector_of(y_, n, "rows of X"), vector_of(above_, n, "rows of X"), vector_of(below_, n, "rows of X"),
                    0.0, false, n};
    state.weight = vector_of(weight_, n, "rows of X");
    state.u = vector_of(u_, d, "columns of X");
    state.v = vector_of(v_, n, "rows of X");
    own_.assign(size_t(2 * d + 3 * n), 0.0);
    double* at = own_.data();
    state.late_u = at, state.sum_u = at + d, state.late_v = at + 2 * d, state.sum_v = at + 2 * d + n;
    double* squares = at + 2 * d + 2 * n;
    design_table().squares(X.view, nullptr, 0, n, squares);
    state.squares = squares;
    for (int64_t i = 0; i < n; i++) state.total += state.weight[i], state.sum += state.v[i];
    for (int64_t j = 0; j < d; j++) state.norm += state.u[j] * state.u[j];
    state.s = 1.0;
    state.radius = __builtin_inf();
  }
  StepsState state{};

  bool go(nb::handle drawn_, nb::handle eta_) {
    const Input drawn(drawn_, "drawn"), eta(eta_, "eta");
    const auto rows = drawn.array<int64_t, 2>();
    border::check_indices(rows.data, rows.shape[0] * rows.shape[1], state.X.rows, "drawn", "rows of X");
    const double* lengths = vector_of(eta, rows.shape[0], "rows of drawn");
    hit_.resize(size_t(rows.shape[1]));
    nb::gil_scoped_release released;
    return stochastic_table().steps(state, rows.data, rows.shape[0], rows.shape[1], lengths, hit_.data());
  }
  // w and the multipliers: of the last step, or their averages with weights 1, 2, 3, ... whose sum is given
  void last(nb::handle w_, nb::handle beta_) const {
    const Output w(w_, "w"), beta(beta_, "beta");
    write(vector_of(w, state.X.columns, "columns of X"), state.u, state.X.columns);
    write(vector_of(beta, state.X.rows, "rows of X"), state.v, state.X.rows);
  }
  void mean(double weights, nb::handle w_, nb::handle beta_) const {
    const Output w(w_, "w"), beta(beta_, "beta");
    average(vector_of(w, state.X.columns, "columns of X"), state.u, state.late_u, state.sum_u, state.X.columns, weights);
    average(vector_of(beta, state.X.rows, "rows of X"), state.v, state.late_v, state.sum_v, state.X.rows, weights);
  }

 private:
  void write(double* out, const double* u, int64_t size) const {
    for (int64_t j = 0; j < size; j++) out[j] = state.s * u[j];
  }
  void average(double* out, const double* u, const double* late, const double* sum, int64_t size, double weights) const {
    for (int64_t j = 0; j < size; j++) out[j] = (sum[j] + state.late * u[j] - late[j]) / weights;
  }
  Input y_, above_, below_, weight_;
  Output u_, v_;
  std::vector<double> own_, hit_;
};

#define FIELD(name, member, Type)                                                                     \
  .def_prop_rw(#name, [](const StochasticSteps& x) { return x.state.member; }, [](StochasticSteps& x, Type value) { \
    x.state.member = value;                                                                           \
  })

void bind_stochastic(nb::module_& m) {
  nb::class_<StochasticSteps>(m, "StochasticSteps")
      .def(nb::init<const LinearRows&, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(), "X"_a,
           "y"_a, "above"_a, "below"_a, "weight"_a, "u"_a, "v"_a, nb::keep_alive<1, 2>())
      // clang-format off
      FIELD(eps, losses.eps, double) FIELD(squared, losses.squared, bool) FIELD(rho, rho, double) FIELD(free, free, bool)
      FIELD(radius, radius, double) FIELD(b, b, double)
      // clang-format on
      .def_prop_ro("t", [](const StochasticSteps& x) { return int64_t(x.state.t); })
      .def("go", &StochasticSteps::go, "drawn"_a, "eta"_a)
      .def("last", &StochasticSteps::last, "w"_a, "beta"_a)
      .def("mean", &StochasticSteps::mean, "weights"_a, "w"_a, "beta"_a);
}
