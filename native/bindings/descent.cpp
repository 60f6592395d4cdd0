#include "descent/descent.h"

#include <memory>
#include <vector>

#include "bindings/linear_rows.h"

using nb::literals::operator""_a;
using border::Input;
using border::Output;

// The state of a run. One thread at a time may use it.
class Descent {
 public:
  Descent(const LinearRows& X, nb::handle y, nb::handle q, nb::handle ridge, nb::handle lower, nb::handle upper,
          nb::handle beta, nb::handle w, nb::handle order)
      : y_(y, "y"), q_(q, "q"), ridge_(ridge, "ridge"), lower_(lower, "lower"), upper_(upper, "upper"),
        beta_(beta, "beta"), w_(w, "w"), order_(order, "order") {
    const int64_t n = X.view.rows;
    state.X = X.view;
    state.y = vector_of(y_, n, "rows of X");
    state.q = vector_of(q_, n, "rows of X");
    state.ridge = vector_of(ridge_, n, "rows of X");
    state.lower = vector_of(lower_, n, "rows of X");
    state.upper = vector_of(upper_, n, "rows of X");
    state.beta = vector_of(beta_, n, "rows of X");
    state.w = vector_of(w_, X.view.columns, "columns of X");
    const auto o = order_.array<int64_t, 1>();
    border::check_indices(o.data, o.shape[0], n, "order", "rows of X");
    state.order = o.data;
    state.count = state.active = o.shape[0];
    state.limit = state.gap = __builtin_inf();
    state.seed = 1;
  }
  DescentState state{};

  int64_t sweep(int64_t epochs, int64_t steps, double gap, double pull, bool shrinking) {
    check_places();
    nb::gil_scoped_release released;
    return descent_table().sweep(state, epochs, steps, gap, pull, shrinking);
  }
  double free_step(nb::handle free_, int64_t most) {
    const Input free(free_, "free");
    const auto rows = free.array<int64_t, 1>();
    border::check_indices(rows, state.X.rows, "rows of X");
    const size_t m = size_t(rows.shape[0]);
    std::vector<double> scratch(5 * m + size_t(state.X.columns));
    double* at = scratch.data();
    const FreeStepScratch places{at, at + m, at + 2 * m, at + 3 * m, at + 4 * m, at + 5 * m};
    nb::gil_scoped_release released;
    return descent_table().free_step(state, rows.data, rows.shape[0], most, places);
  }
  void set_active(int64_t active) {
    state.active = active, state.place = 0;
    check_places();
  }
  void set_seed(uint64_t seed) {
    border::check_scalar(seed != 0, "seed", "other than 0", 0.0);
    state.seed = seed;
  }

 private:
  // `order` belongs to the caller, who may have changed it since.
  void check_places() const {
    border::check_scalar(0 <= state.active && state.active <= state.count, "active", "at most the entries of order",
                         double(state.active));
    border::check_indices(state.order, state.count, state.X.rows, "order", "rows of X");
  }
  Input y_, q_, ridge_, lower_, upper_;
  Output beta_, w_, order_;
};

static void rows_combine(const LinearRows& X, nb::handle rows_, nb::handle factors_, nb::handle out_) {
  const Input rows(rows_, "rows"), factors(factors_, "factors");
  const Output out(out_, "out");
  const auto r = rows.array<int64_t, 1>();
  border::check_indices(r, X.view.rows, "rows of X");
  const double* v = vector_of(factors, r.shape[0], "entries of rows");
  double* sums = vector_of(out, X.view.columns, "columns of X");
  nb::gil_scoped_release released;
  descent_table().combine(X.view, r.data, r.shape[0], v, sums);
}

#define STATE(name) \
  .def_prop_rw(#name, [](const Descent& d) { return d.state.name; }, [](Descent& d, double x) { d.state.name = x; })

void bind_descent(nb::module_& m) {
  nb::class_<Descent>(m, "Descent")
      .def(nb::init<const LinearRows&, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle,
                    nb::handle>(),
           "X"_a, "y"_a, "q"_a, "ridge"_a, "lower"_a, "upper"_a, "beta"_a, "w"_a, "order"_a, nb::keep_alive<1, 2>())
      // clang-format off
      STATE(eps) STATE(rho) STATE(t) STATE(b0) STATE(missing) STATE(limit) STATE(pull) STATE(gap) STATE(dual) STATE(met)
      // clang-format on
      .def_prop_rw("free", [](const Descent& d) { return d.state.free; }, [](Descent& d, bool x) { d.state.free = x; })
      .def_prop_rw("active", [](const Descent& d) { return d.state.active; }, &Descent::set_active)
      .def_prop_ro("place", [](const Descent& d) { return d.state.place; })
      .def_prop_ro("visits", [](const Descent& d) { return d.state.visits; })
      .def_prop_rw("seed", [](const Descent& d) { return d.state.seed; }, &Descent::set_seed)
      .def("sweep", &Descent::sweep, "epochs"_a, "steps"_a, "gap"_a, "pull"_a, "shrinking"_a)
      .def("free_step", &Descent::free_step, "free"_a, "most"_a);
  m.def("rows_combine", &rows_combine, "X"_a, "rows"_a, "factors"_a, "out"_a);
}
