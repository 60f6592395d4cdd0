#include "active_set/active_set.h"

#include "core/border.h"
#include "core/scratch.h"

using nb::literals::operator""_a;

static nb::tuple solve_active_set(nb::handle K_, nb::handle row_, nb::handle linear_, nb::handle lower_,
                                  nb::handle upper_, nb::handle d_, nb::handle f_, double goal, double ridge,
                                  int64_t max_steps, int64_t max_free) {
  const border::Input K_in(K_, "K"), row_in(row_, "row"), linear_in(linear_, "linear"), lower_in(lower_, "lower"),
      upper_in(upper_, "upper");
  const border::Output d_out(d_, "d"), f_out(f_, "f");
  const auto K = K_in.strided<double, 2>();
  const auto row = row_in.array<int64_t, 1>();
  const auto linear = linear_in.array<double, 1>(), lower = lower_in.array<double, 1>(),
             upper = upper_in.array<double, 1>();
  const auto d = d_out.array<double, 1>(), f = f_out.array<double, 1>();
  const int64_t n = d.shape[0], rows = K.shape[0];
  border::check_row_order(K);
  border::check_length(K, 1, rows, "rows of K");
  border::check_indices(row, rows, "rows");
  border::check_length(row, 0, n, "variables");
  for (const auto* array : {&linear, &lower, &upper}) border::check_length(*array, 0, n, "variables");
  border::check_length(f, 0, rows, "rows");
  border::check_scalar(ridge > 0, "ridge", "above 0", ridge);
  border::check_scalar(max_steps >= 0, "max_steps", "at least 0", double(max_steps));
  border::check_scalar(max_free >= 0 && max_free <= n, "max_free", "between 0 and the number of variables", double(max_free));
  const ActiveSet problem{K.data, K.strides[0], row.data, linear.data, lower.data, upper.data, n,
                          rows,   d.data,       f.data,   goal,        ridge,      max_steps,  max_free};
  ActiveSetResult result;
  {
    nb::gil_scoped_release released;
    const int64_t r_stride = max_free + 9;  // no power of two: rows would fall on the same lines of the cache
    Scratch memory(bytes_of<double>(max_free * r_stride) + 3 * bytes_of<double>(max_free) + bytes_of<double>(rows) +
                   bytes_of<int64_t>(max_free) + bytes_of<uint8_t>(n));
    ActiveSetScratch scratch{};
    scratch.R = memory.take<double>(max_free * r_stride), scratch.r_stride = r_stride;
    scratch.free = memory.take<int64_t>(max_free), scratch.inside = memory.take<uint8_t>(n);
    for (double** part : {&scratch.p, &scratch.forward, &scratch.ones}) *part = memory.take<double>(max_free);
    scratch.change = memory.take<double>(rows);
    result = active_set_table().solve(problem, scratch);
  }
  return nb::make_tuple(result.steps, result.violation);
}

void bind_active_set(nb::module_& m) {
  m.def("solve_active_set", &solve_active_set, "K"_a, "row"_a, "linear"_a, "lower"_a, "upper"_a, "d"_a, "f"_a, "goal"_a,
        "ridge"_a, "max_steps"_a, "max_free"_a);
}
