#include "active_set/active_set.h"

#include "core/border.h"
#include "core/scratch.h"

using nb::literals::operator""_a;

static nb::tuple solve_active_set(nb::handle K_, nb::handle row_, nb::handle linear_, nb::handle lower_,
                                  nb::handle upper_, nb::handle d_, nb::handle f_, nb::handle R_, nb::handle free_,
                                  int64_t n_free, double goal, double ridge, int64_t max_steps, int64_t blocks) {
  const border::Input K_in(K_, "K"), row_in(row_, "row"), linear_in(linear_, "linear"), lower_in(lower_, "lower"),
      upper_in(upper_, "upper");
  const border::Output d_out(d_, "d"), f_out(f_, "f"), R_out(R_, "R"), free_out(free_, "free");
  const auto K = K_in.strided<double, 2>();
  const auto row = row_in.array<int64_t, 1>();
  const auto linear = linear_in.array<double, 1>(), lower = lower_in.array<double, 1>(),
             upper = upper_in.array<double, 1>();
  const auto d = d_out.array<double, 1>(), f = f_out.array<double, 1>();
  const auto R = R_out.array<double, 2>();
  const auto free = free_out.array<int64_t, 1>();
  const int64_t n = d.shape[0], rows = K.shape[0], capacity = free.shape[0];
  border::check_row_order(K);
  border::check_length(K, 1, rows, "rows of K");
  border::check_indices(row, rows, "rows");
  border::check_length(row, 0, n, "variables");
  for (const auto* array : {&linear, &lower, &upper}) border::check_length(*array, 0, n, "variables");
  border::check_length(f, 0, rows, "rows");
  border::check_scalar(ridge > 0, "ridge", "above 0", ridge);
  border::check_scalar(max_steps >= 0, "max_steps", "at least 0", double(max_steps));
  border::check_scalar(blocks >= 0, "blocks", "at least 0", double(blocks));
  border::check_length(R, 0, capacity, "places of free");
  border::check_at_least(R, 1, capacity, "places of free");
  border::check_scalar(n_free >= 0 && n_free <= capacity, "n_free", "between 0 and the length of free", double(n_free));
  border::check_indices(free.data, n_free, n, "free", "variables");
  const ActiveSet problem{K.data, K.strides[0], row.data, linear.data, lower.data, upper.data, n,     rows,
                          d.data, f.data,       goal,     ridge,       max_steps,  blocks};
  ActiveSetResult result;
  {
    nb::gil_scoped_release released;
    Scratch memory(3 * bytes_of<double>(capacity) + bytes_of<uint8_t>(capacity) + 2 * bytes_of<double>(rows) +
                   bytes_of<double>(n) + bytes_of<uint8_t>(n));
    ActiveSetScratch scratch{};
    scratch.inside = memory.take<uint8_t>(n), scratch.ends = memory.take<uint8_t>(capacity);
    for (double** part : {&scratch.p, &scratch.ones, &scratch.rest}) *part = memory.take<double>(capacity);
    for (double** part : {&scratch.change, &scratch.best_f}) *part = memory.take<double>(rows);
    scratch.best_d = memory.take<double>(n);
    result = active_set_table().solve(problem, {R.data, R.shape[1], free.data, n_free, capacity}, scratch);
  }
  return nb::make_tuple(result.steps, result.n_free, result.violation);
}

void bind_active_set(nb::module_& m) {
  m.def("solve_active_set", &solve_active_set, "K"_a, "row"_a, "linear"_a, "lower"_a, "upper"_a, "d"_a, "f"_a, "R"_a, "free"_a,
        "n_free"_a, "goal"_a, "ridge"_a, "max_steps"_a, "blocks"_a);
}
