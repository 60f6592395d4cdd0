#include "coefficients/coefficients.h"

#include <vector>

#include "core/border.h"

using nb::literals::operator""_a;

static void distribute_coefficients(nb::handle of_, nb::handle share_, nb::handle coefficients_, nb::handle filled_,
                                    nb::handle bounds_, nb::handle out_) {
  const border::Input of_in(of_, "of"), share_in(share_, "share"), coefficients_in(coefficients_, "coefficients"),
      filled_in(filled_, "filled"), bounds_in(bounds_, "bounds");
  const border::Output out_out(out_, "out");
  const auto of = of_in.array<int64_t, 1>();
  const auto share = share_in.array<double, 1>();
  const auto coefficients = coefficients_in.array<double, 2>(), filled = filled_in.array<double, 2>(),
             bounds = bounds_in.array<double, 2>();
  const auto out = out_out.array<double, 2>();
  const int64_t n = of.shape[0], m = coefficients.shape[1];
  border::check_indices(of, coefficients.shape[0], "rows of coefficients");
  border::check_length(share, 0, n, "input rows");
  border::check_length(filled, 0, coefficients.shape[0], "rows of coefficients");
  border::check_length(filled, 1, m, "columns of coefficients");
  border::check_length(bounds, 0, n, "input rows");
  border::check_length(bounds, 1, m, "columns of coefficients");
  border::check_length(out, 0, n, "input rows");
  border::check_length(out, 1, m, "columns of coefficients");
  nb::gil_scoped_release released;
  std::vector<DistributedShare> done(static_cast<size_t>(coefficients.shape[0]), DistributedShare{0.0, 0});
  coefficients_table().distribute({coefficients.data, filled.data, coefficients.shape[0], m},
                                  {of.data, share.data, bounds.data, n}, done.data(), out.data);
}

void bind_coefficients(nb::module_& m) {
  m.def("distribute_coefficients", &distribute_coefficients, "of"_a, "share"_a, "coefficients"_a, "filled"_a,
        "bounds"_a, "out"_a);
}
