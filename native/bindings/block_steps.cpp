#include "block_steps/block_steps.h"

#include <vector>

#include "core/border.h"

using nb::literals::operator""_a;

namespace {

struct CheckedBlock {
  border::Input Q, lower, upper;
  border::Output g, a;
  BlockProblem block{};
  CheckedBlock(nb::handle Q_, nb::handle g_, nb::handle a_, nb::handle lower_, nb::handle upper_, double goal,
               int64_t max_steps)
      : Q(Q_, "Q"), lower(lower_, "lower"), upper(upper_, "upper"), g(g_, "g"), a(a_, "a") {
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
    block.Q = q.data, block.stride = q.strides[0], block.g = gradient.data, block.a = x.data;
    block.lower = low.data, block.upper = high.data, block.count = n, block.goal = goal, block.max_steps = max_steps;
  }
};

int64_t solve_block_pairs(nb::handle Q, nb::handle g, nb::handle a, nb::handle lower, nb::handle upper,
                          nb::handle group_, int64_t groups, double goal, int64_t max_steps) {
  CheckedBlock x(Q, g, a, lower, upper, goal, max_steps);
  const border::Input group_in(group_, "group");
  const auto group = group_in.array<int64_t, 1>();
  border::check_length(group, 0, x.block.count, "variables");
  border::check_scalar(groups >= 1, "groups", "at least 1", double(groups));
  border::check_indices(group, groups, "groups");
  x.block.group = group.data, x.block.groups = groups;
  nb::gil_scoped_release released;
  std::vector<double> ends(2 * size_t(groups)), diagonal(static_cast<size_t>(x.block.count));
  std::vector<int64_t> first(static_cast<size_t>(groups));
  return block_steps_table().pairs(x.block, {ends.data(), ends.data() + groups, first.data(), diagonal.data()});
}

int64_t solve_block_coordinates(nb::handle Q, nb::handle g, nb::handle a, nb::handle lower, nb::handle upper,
                                double goal, int64_t max_steps) {
  const CheckedBlock x(Q, g, a, lower, upper, goal, max_steps);
  nb::gil_scoped_release released;
  return block_steps_table().coordinates(x.block);
}

}  // namespace

void bind_block_steps(nb::module_& m) {
  m.def("solve_block_pairs", &solve_block_pairs, "Q"_a, "g"_a, "a"_a, "lower"_a, "upper"_a, "group"_a, "groups"_a,
        "goal"_a, "max_steps"_a);
  m.def("solve_block_coordinates", &solve_block_coordinates, "Q"_a, "g"_a, "a"_a, "lower"_a, "upper"_a, "goal"_a,
        "max_steps"_a);
}
