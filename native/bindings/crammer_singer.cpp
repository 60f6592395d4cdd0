#include "crammer_singer/crammer_singer.h"

#include <vector>

#include "core/border.h"

using nb::literals::operator""_a;

static int64_t solve_joint_rows(nb::handle K_, nb::handle G_, nb::handle A_, nb::handle label_, nb::handle bound_,
                                double goal, int64_t max_steps) {
  const border::Input K(K_, "K"), label(label_, "label"), bound(bound_, "bound");
  const border::Output G(G_, "G"), A(A_, "A");
  const auto k = K.array<double, 2>();
  const auto g = G.array<double, 2>(), a = A.array<double, 2>();
  const auto y = label.array<int64_t, 1>();
  const auto u = bound.array<double, 1>();
  const int64_t rows = a.shape[0], classes = a.shape[1];
  border::check_at_least(a, 0, 1, "rows");
  border::check_at_least(a, 1, 2, "classes");
  border::check_length(k, 0, rows, "rows of A");
  border::check_length(k, 1, rows, "rows of A");
  border::check_length(g, 0, rows, "rows of A");
  border::check_length(g, 1, classes, "classes of A");
  border::check_length(u, 0, rows, "rows of A");
  border::check_length(y, 0, rows, "rows of A");
  border::check_indices(y, classes, "classes of A");
  const int64_t padded = (rows + JOINT_PADDING - 1) / JOINT_PADDING * JOINT_PADDING;
  std::vector<double> scratch(2 * classes * padded + 3 * classes);
  double *by_class = scratch.data(), *rise = by_class + classes * padded, *b = rise + classes * padded;
  const JointRows joint{k.data, g.data, a.data, y.data, u.data, rows, classes, by_class, rise, b, b + classes,
                        b + 2 * classes};
  nb::gil_scoped_release released;
  return crammer_singer_table().solve(joint, goal, max_steps);
}

void bind_crammer_singer(nb::module_& m) {
  m.def("solve_joint_rows", &solve_joint_rows, "K"_a, "G"_a, "A"_a, "label"_a, "bound"_a, "goal"_a, "max_steps"_a);
}
