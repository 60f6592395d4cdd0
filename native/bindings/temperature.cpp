#include "temperature/temperature.h"

#include <nanobind/stl/pair.h>

#include "core/border.h"

using nb::literals::operator""_a;

static std::pair<double, double> temperature_derivatives(nb::handle scores_, nb::handle own_, nb::handle weight_,
                                                         double slope) {
  const border::Input scores(scores_, "scores"), own(own_, "own"), weight(weight_, "weight");
  const auto s = scores.array<double, 2>();
  const auto o = own.array<double, 1>(), w = weight.array<double, 1>();
  border::check_at_least(s, 1, 1, "classes");
  border::check_length(o, 0, s.shape[0], "rows of scores");
  border::check_length(w, 0, s.shape[0], "rows of scores");
  border::check_scalar(slope >= 0.0, "slope", "at least 0", slope);
  double first = 0.0, second = 0.0;
  nb::gil_scoped_release released;
  temperature_table().derivatives({s.data, o.data, w.data, s.shape[0], s.shape[1]}, slope, &first, &second);
  return {first, second};
}

void bind_temperature(nb::module_& m) {
  m.def("temperature_derivatives", &temperature_derivatives, "scores"_a, "own"_a, "weight"_a, "slope"_a);
}
