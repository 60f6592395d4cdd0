#include "moments/moments.h"

#include <memory>
#include <new>

#include "core/border.h"

using nb::literals::operator""_a;

namespace {

double power_sum(nb::handle X_, nb::handle weights_, double centre, int power) {
  const border::Input X(X_, "X"), weights(weights_, "weights");
  border::check_scalar(power == 1 || power == 2, "power", "1 or 2", power);
  const auto w = weights.array<double, 1>();
  return border::for_real(X, [&](auto zero) {
    using T = decltype(zero);
    const auto x = X.array<T, 2>();
    border::check_length(w, 0, x.shape[0], "rows of X");
    nb::gil_scoped_release released;
    return functions_of<T>(moments_table().of).power_sum(x.data, w.data, x.shape[0], x.shape[1], centre, power == 2);
  });
}

void column_sums(nb::handle X_, nb::handle weights_, nb::handle out_) {
  const border::Input X(X_, "X"), weights(weights_, "weights");
  const border::Output out(out_, "out");
  const auto w = weights.array<double, 1>();
  const auto o = out.array<double, 1>();
  border::for_real(X, [&](auto zero) {
    using T = decltype(zero);
    const auto x = X.array<T, 2>();
    border::check_length(w, 0, x.shape[0], "rows of X");
    border::check_length(o, 0, x.shape[1], "columns of X");
    nb::gil_scoped_release released;
    functions_of<T>(moments_table().of).column_sums(x.data, w.data, x.shape[0], x.shape[1], o.data);
  });
}

void row_distances(nb::handle X_, nb::handle centre_, nb::handle out_) {
  const border::Input X(X_, "X"), centre(centre_, "centre");
  const border::Output out(out_, "out");
  const auto c = centre.array<double, 1>();
  const auto o = out.array<double, 1>();
  border::for_real(X, [&](auto zero) {
    using T = decltype(zero);
    const auto x = X.array<T, 2>();
    border::check_length(c, 0, x.shape[1], "columns of X");
    border::check_length(o, 0, x.shape[0], "rows of X");
    nb::gil_scoped_release released;
    functions_of<T>(moments_table().of).row_distances(x.data, c.data, x.shape[0], x.shape[1], o.data);
  });
}

void robust_centre(nb::handle X_, nb::handle weights_, double factor, nb::handle centre_) {
  const border::Input X(X_, "X"), weights(weights_, "weights");
  const border::Output centre(centre_, "centre");
  const auto x = X.array<double, 2>();
  const auto w = weights.array<double, 1>();
  const auto c = centre.array<double, 1>();
  border::check_length(w, 0, x.shape[0], "rows of X");
  border::check_length(c, 0, x.shape[1], "columns of X");
  border::check_at_least(x, 0, 1, "rows");
  nb::gil_scoped_release released;
  const auto& table = moments_table();
  constexpr std::align_val_t REGISTER{64};
  const auto release = [](double* p) { ::operator delete[](p, REGISTER); };
  const size_t count = 2 * size_t(x.shape[0]) * size_t(table.lanes);
  const std::unique_ptr<double[], decltype(release)> scratch(new (REGISTER) double[count], release);
  table.robust_centre(x.data, w.data, x.shape[0], x.shape[1], factor, c.data, scratch.get());
}

}  // namespace

void bind_moments(nb::module_& m) {
  m.def("power_sum", &power_sum, "X"_a, "weights"_a, "centre"_a, "power"_a);
  m.def("column_sums", &column_sums, "X"_a, "weights"_a, "out"_a);
  m.def("row_distances", &row_distances, "X"_a, "centre"_a, "out"_a);
  m.def("robust_centre", &robust_centre, "X"_a, "weights"_a, "factor"_a, "centre"_a);
}
