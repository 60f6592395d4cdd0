#include "stored_rows/stored_rows.h"

#include "bindings/smoothed_losses.h"

using nb::literals::operator""_a;

template <class T> static RowMatrix<T> row_matrix(const border::Input& input) {
  const auto array = input.strided<T, 2>();
  border::check_row_order(array);
  return {array.data, array.shape[0], array.shape[1], array.strides[0]};
}

static int64_t evaluate_rows(nb::handle K_, nb::handle B_, double b, nb::handle loss_, nb::handle F_, nb::handle y_,
                             nb::handle c_, nb::handle centre_, nb::handle g_, nb::handle sums_,
                             nb::handle gradient_) {
  const SmoothedLoss loss = border::smoothed_loss(loss_);
  const border::Input K(K_, "K"), B(B_, "B", border::OPTIONAL);
  const border::LossRowsInput given(y_, c_, centre_);
  const border::Output F(F_, "F"), g(g_, "g"), sums(sums_, "sums"), gradient(gradient_, "gradient");
  return border::for_real(K, [&](auto zero) {
    using T = decltype(zero);
    const RowMatrix<T> k = row_matrix<T>(K);
    const auto f = F.array<double, 2>(), grad = gradient.array<double, 2>();
    border::check_length(f, 0, k.rows, "rows of K");
    border::check_length(f, 1, 1, "one output");
    const LossRows rows = given.rows(f);
    border::check_length(grad, 1, k.columns, "columns of K");
    border::check_scalar(grad.shape[0] == 1 || grad.shape[0] == 2, "gradient.shape[0]", "1 or 2 sides",
                         double(grad.shape[0]));
    RowEvaluation evaluation{nullptr, b, f.data, border::output_like(f, g).data, border::loss_sums(sums, 1).data,
                             grad.data, grad.shape[0]};
    if (B.given()) {
      const auto coefficients = B.array<double, 1>();
      border::check_length(coefficients, 0, k.columns, "columns of K");
      evaluation.B = coefficients.data;
    }
    nb::gil_scoped_release released;
    return functions_of<T>(stored_rows_table()).evaluate(k, loss, rows, evaluation);
  });
}

static void take_rows(nb::handle K_, nb::handle keep_, nb::handle out_) {
  const border::Input K(K_, "K"), keep(keep_, "keep");
  const border::Output out(out_, "out");
  border::for_real(K, [&](auto zero) {
    using T = decltype(zero);
    const RowMatrix<T> k = row_matrix<T>(K);
    const auto at = keep.array<int64_t, 1>();
    const auto o = out.array<T, 2>();
    border::check_indices(at, k.rows, "rows of K");
    border::check_length(o, 0, at.shape[0], "entries of keep");
    border::check_length(o, 1, k.columns, "columns of K");
    nb::gil_scoped_release released;
    functions_of<T>(stored_rows_table()).take(k, at.data, at.shape[0], o.data);
  });
}

static void add_weighted_rows(nb::handle X_, nb::handle w_, nb::handle mean_, bool squared, nb::handle sums_) {
  const border::Input X(X_, "X"), w(w_, "w"), mean(mean_, "mean");
  const border::Output sums(sums_, "sums");
  border::for_real(X, [&](auto zero) {
    using T = decltype(zero);
    const RowMatrix<T> x = row_matrix<T>(X);
    const auto weights = w.array<double, 1>(), around = mean.array<double, 1>();
    const auto out = sums.array<double, 1>();
    border::check_length(weights, 0, x.rows, "rows of X");
    border::check_length(around, 0, x.columns, "columns of X");
    border::check_length(out, 0, x.columns, "columns of X");
    nb::gil_scoped_release released;
    functions_of<T>(stored_rows_table()).add_weighted(x, weights.data, around.data, squared, out.data);
  });
}

void bind_stored_rows(nb::module_& m) {
  m.def("evaluate_rows", &evaluate_rows, "K"_a, "B"_a.none(), "b"_a, "loss"_a, "F"_a, "y"_a, "c"_a, "centre"_a.none(),
        "g"_a, "sums"_a, "gradient"_a);
  m.def("take_rows", &take_rows, "K"_a, "keep"_a, "out"_a);
  m.def("add_weighted_rows", &add_weighted_rows, "X"_a, "w"_a, "mean"_a, "squared"_a, "sums"_a);
}
