#include "columns/columns.h"

#include "bindings/linear_rows.h"

using nb::literals::operator""_a;
using border::Input;
using border::Output;

static double l1_descend(const LinearRows& X, nb::handle order_, nb::handle y_, nb::handle c_, nb::handle w_, nb::handle slack_) {
  const Input order(order_, "order"), y(y_, "y"), c(c_, "c");
  const Output w(w_, "w"), slack(slack_, "slack");
  const auto columns = order.array<int64_t, 1>();
  border::check_indices(columns, X.view.rows, "columns of the data");
  const double* labels = vector_of(y, X.view.columns, "rows of the data");
  const double* weights = vector_of(c, X.view.columns, "rows of the data");
  double* coefficients = vector_of(w, X.view.rows, "columns of the data");
  double* slacks = vector_of(slack, X.view.columns, "rows of the data");
  nb::gil_scoped_release released;
  return columns_table().descend(X.view, columns.data, columns.shape[0], labels, weights, coefficients, slacks);
}

static void l1_model(nb::handle H_, nb::handle v_, nb::handle q_, double goal, int64_t passes, int64_t rested) {
  const Input H(H_, "H");
  const Output v(v_, "v"), q(q_, "q");
  const auto h = H.array<double, 2>();
  border::check_length(h, 1, h.shape[0], "rows of H");
  double* x = vector_of(v, h.shape[0], "rows of H");
  double* gradient = vector_of(q, h.shape[0], "rows of H");
  nb::gil_scoped_release released;
  columns_table().model(h.data, h.shape[0], x, gradient, goal, passes, rested);
}

void bind_columns(nb::module_& m) {
  m.def("l1_descend", &l1_descend, "X"_a, "order"_a, "y"_a, "c"_a, "w"_a, "slack"_a);
  m.def("l1_model", &l1_model, "H"_a, "v"_a, "q"_a, "goal"_a, "passes"_a, "rested"_a);
}
