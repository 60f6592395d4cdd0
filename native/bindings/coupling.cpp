#include "coupling/coupling.h"

#include <vector>

#include "core/compound.h"

using nb::literals::operator""_a;

static void couple_pairs(nb::handle r_, nb::handle columns_, double least, nb::handle out_) {
  const border::Input r(r_, "r"), columns(columns_, "columns");
  const border::Output out(out_, "out");
  const auto pairs = r.array<double, 2>();
  const auto at = columns.array<int64_t, 1>();
  const auto p = out.array<double, 2>();
  const int64_t classes = p.shape[1];
  border::check_at_least(p, 1, 1, "classes");
  border::check_length(p, 0, pairs.shape[0], "rows of r");
  border::check_length(at, 0, classes * (classes - 1) / 2, "pairs of the classes of out");
  border::check_indices(at, pairs.shape[1], "columns of r");
  border::check_scalar(0.0 < least && least < 0.5, "least", "between 0 and 1/2", least);
  std::vector<double> scratch(classes * (classes + 1) * COUPLING_MAX_LANES);
  const Coupling coupling{pairs.data, pairs.shape[0], pairs.shape[1], at.data, classes, least, p.data, scratch.data()};
  nb::gil_scoped_release released;
  coupling_table().couple(coupling);
}

void bind_coupling(nb::module_& m) {
  m.def("couple_pairs", &couple_pairs, "r"_a, "columns"_a, "least"_a, "out"_a);
}
