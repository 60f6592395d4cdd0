#include "block_steps/block_steps.h"

#include "core/border.h"

using nb::literals::operator""_a;

static int64_t solve_block_coordinates(nb::handle Q_, nb::handle g_, nb::handle a_, nb::handle lower_,
                                       nb::handle upper_, double goal, int64_t max_steps) {
  const border::Input Q(Q_, "Q"), lower(lower_, "lower"), upper(upper_, "upper");
  const border::Output g(g_, "g"), a(a_, "a");
  const auto q = Q.strided<double, 2>();
  const auto gradient = g.array<double, 1>(), x = a.array<double, 1>();
  const auto low = lower.array<double, 1>(), high = upper.array<double, 1>();
  const int64_t n = x.shape[0];
  border::check_row_order(q);
  border::check_length(q, 0, n, "variables");
  border::check_at_least(q, 1, n, "variables");
  border::check_length(gradient, 0, n, "variables");
  border::check_length(low, 0, n, "variables");
  border::check_length(high, 0, n, "variables");
  border::check_scalar(max_steps >= 0, "max_steps", "at least 0", double(max_steps));
  const BlockProblem block{q.data, q.strides[0], gradient.data, x.data, low.data, high.data, n, goal, max_steps};
  nb::gil_scoped_release released;
  return block_steps_table().coordinates(block);
}

void bind_block_steps(nb::module_& m) {
  m.def("solve_block_coordinates", &solve_block_coordinates, "Q"_a, "g"_a, "a"_a, "lower"_a, "upper"_a, "goal"_a,
        "max_steps"_a);
}
