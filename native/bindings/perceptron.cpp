#include "perceptron/perceptron.h"

#include <nanobind/stl/pair.h>

#include "core/compound.h"

using nb::literals::operator""_a;

// y, order, v and s against the shape of X.
struct PassArguments {
  const border::Input y, order;
  const border::Output v, s;
  PerceptronPass pass(int64_t rows, int64_t columns, int64_t t, double eta, double intercept) const {
    const auto signs = y.array<double, 1>();
    const auto at = order.array<int64_t, 1>();
    const auto weights = v.array<double, 1>(), sums = s.array<double, 1>();
    border::check_length(signs, 0, rows, "rows of X");
    border::check_indices(at, rows, "rows of X");
    border::check_length(weights, 0, columns + 1, "columns of X, and the intercept");
    border::check_length(sums, 0, columns + 1, "columns of X, and the intercept");
    return {signs.data, at.data, at.shape[0], weights.data, sums.data, t, eta, intercept, 0, 0.0};
  }
};

static std::pair<int64_t, double> perceptron_pass(nb::handle X_, nb::handle y_, nb::handle order_, nb::handle v_,
                                                  nb::handle s_, int64_t t, double eta, double intercept) {
  const border::Input X(X_, "X");
  const PassArguments given{{y_, "y"}, {order_, "order"}, {v_, "v"}, {s_, "s"}};
  return border::for_real(X, [&](auto zero) {
    using T = decltype(zero);
    const auto x = X.array<T, 2>();
    PerceptronPass pass = given.pass(x.shape[0], x.shape[1], t, eta, intercept);
    nb::gil_scoped_release released;
    functions_of<T>(perceptron_table()).dense(x.data, x.shape[1], pass);
    return std::pair<int64_t, double>(pass.mistakes, pass.loss);
  });
}

static std::pair<int64_t, double> perceptron_pass_csr(nb::handle X_, int64_t columns, nb::handle y_,
                                                      nb::handle order_, nb::handle v_, nb::handle s_, int64_t t,
                                                      double eta, double intercept) {
  const border::CsrInput X(X_, "X");
  const PassArguments given{{y_, "y"}, {order_, "order"}, {v_, "v"}, {s_, "s"}};
  border::check_scalar(columns >= 0, "columns", "at least 0", double(columns));
  return border::for_real(X.data, [&](auto zero) {
    using T = decltype(zero);
    return border::for_index(X.indices, [&](auto none) {
      using I = decltype(none);
      const auto indptr = X.indptr.array<I, 1>(), indices = X.indices.array<I, 1>();
      const auto data = X.data.array<T, 1>();
      border::check_at_least(indptr, 0, 1, "rows + 1");
      border::check_length(data, 0, indices.shape[0], "entries of X.indices");
      const Csr<T, I> x{indptr.data, indices.data, data.data, indptr.shape[0] - 1, columns};
      PerceptronPass pass = given.pass(x.rows, columns, t, eta, intercept);
      int64_t passed;
      {
        nb::gil_scoped_release released;
        const auto& functions = functions_of<T>(perceptron_table());
        if constexpr (sizeof(I) == 4)
          passed = functions.csr_i32(x, data.shape[0], pass);
        else
          passed = functions.csr_i64(x, data.shape[0], pass);
      }
      if (passed < pass.count)
        border::refuse_value("X has entries outside of its arrays or of its " + std::to_string(columns) +
                             " columns in row " + std::to_string(pass.order[passed]));
      return std::pair<int64_t, double>(pass.mistakes, pass.loss);
    });
  });
}

void bind_perceptron(nb::module_& m) {
  m.def("perceptron_pass", &perceptron_pass, "X"_a, "y"_a, "order"_a, "v"_a, "s"_a, "t"_a, "eta"_a, "intercept"_a);
  m.def("perceptron_pass_csr", &perceptron_pass_csr, "X"_a, "columns"_a, "y"_a, "order"_a, "v"_a, "s"_a, "t"_a,
        "eta"_a, "intercept"_a);
}
