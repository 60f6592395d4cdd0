#include "small_dense/small_dense.h"

#include "core/border.h"
#include <vector>

#include "core/scratch.h"

using nb::literals::operator""_a;

// Slots of all groups, each padded to whole units; without groups one more slot stands for the known offset.
static int64_t slots(const int64_t* group, int64_t variables, int64_t groups) {
  const auto padded = [](int64_t count) { return (count + SLOT_UNIT - 1) / SLOT_UNIT * SLOT_UNIT; };
  if (groups == 0) return padded(variables + 1);
  std::vector<int64_t> count(size_t(groups), 0);
  for (int64_t v = 0; v < variables; v++) count[size_t(group[v])]++;
  int64_t size = 0;
  for (int64_t k = 0; k < groups; k++) size += padded(count[size_t(k)]);
  return size;
}

static nb::tuple solve_small_dense(nb::handle K_, nb::handle at_, nb::handle row_, nb::handle sign_,
                                   nb::handle linear_, nb::handle lower_, nb::handle upper_, nb::handle group_,
                                   int64_t groups, bool in_place, nb::handle a_, nb::handle f_, double goal,
                                   int64_t max_steps) {
  const border::Input K_in(K_, "K"), at_in(at_, "at"), row_in(row_, "row"), sign_in(sign_, "sign"),
      linear_in(linear_, "linear"), lower_in(lower_, "lower"), upper_in(upper_, "upper"), group_in(group_, "group");
  const border::Output a_out(a_, "a"), f_out(f_, "f");
  const auto K = K_in.strided<double, 2>();
  const auto at = at_in.array<int64_t, 1>(), row = row_in.array<int64_t, 1>(), group = group_in.array<int64_t, 1>();
  const auto sign = sign_in.array<double, 1>(), linear = linear_in.array<double, 1>(),
             lower = lower_in.array<double, 1>(), upper = upper_in.array<double, 1>();
  const auto a = a_out.array<double, 1>(), f = f_out.array<double, 1>();
  const int64_t n = a.shape[0], rows = at.shape[0];
  border::check_row_order(K);
  border::check_indices(at, K.shape[0] < K.shape[1] ? K.shape[0] : K.shape[1], "rows and columns of K");
  border::check_indices(row, rows, "rows");
  for (const auto* array : {&sign, &linear, &lower, &upper}) border::check_length(*array, 0, n, "variables");
  border::check_length(row, 0, n, "variables");
  border::check_length(group, 0, n, "variables");
  border::check_length(f, 0, rows, "rows");
  border::check_scalar(groups >= 0, "groups", "at least 0", double(groups));
  border::check_scalar(max_steps >= 0, "max_steps", "at least 0", double(max_steps));
  if (groups > 0) border::check_indices(group, groups, "groups");
  const int64_t size = slots(group.data, n, groups), ranges = groups ? groups : 1;
  if (in_place) {  // every slot is its own row of K
    if (groups > 1 || groups == 0) border::refuse_value("in_place needs one group, got " + std::to_string(groups));
    border::check_length(row, 0, rows, "variables are rows");
    border::check_at_least(K, 0, rows, "rows");
  }
  in_place = in_place && K.shape[1] >= size;
  const SmallDense problem{K.data,     K.strides[0], at.data,    row.data, sign.data, linear.data, lower.data, upper.data,
                           group.data, n,            rows,       groups,   in_place,  a.data,      f.data,     goal,
                           max_steps};
  SmallDenseResult result;
  {
    nb::gil_scoped_release released;
    const int64_t q_stride = size + 16;  // no power of two: rows would fall on the same lines of the cache
    Scratch memory((in_place ? 0 : bytes_of<double>(size * q_stride)) + bytes_of<int64_t>(n) +
                   2 * bytes_of<int64_t>(ranges) + 7 * bytes_of<double>(size) + bytes_of<double>(rows));
    SmallDenseScratch scratch{};
    scratch.size = size, scratch.q_stride = q_stride;
    if (!in_place) scratch.Q = memory.take<double>(size * q_stride);
    scratch.slot = memory.take<int64_t>(n);
    scratch.starts = memory.take<int64_t>(ranges), scratch.stops = memory.take<int64_t>(ranges);
    for (double** part : {&scratch.x, &scratch.low, &scratch.high, &scratch.g, &scratch.rise, &scratch.fall,
                          &scratch.diagonal})
      *part = memory.take<double>(size);
    scratch.coef = memory.take<double>(rows);
    result = small_dense_table().solve(problem, scratch);
  }
  return nb::make_tuple(result.steps, result.violation);
}

void bind_small_dense(nb::module_& m) {
  m.def("solve_small_dense", &solve_small_dense, "K"_a, "at"_a, "row"_a, "sign"_a, "linear"_a, "lower"_a, "upper"_a,
        "group"_a, "groups"_a, "in_place"_a, "a"_a, "f"_a, "goal"_a, "max_steps"_a);
}
