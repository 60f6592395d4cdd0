#include "path/path.h"

#include "core/border.h"
#include "core/scratch.h"

using nb::literals::operator""_a;

static nb::tuple advance_path(nb::handle K_, nb::handle y_, nb::handle bound_, nb::handle a_, nb::handle f_,
                              nb::handle W_, nb::handle held_, nb::handle M_, double goal, int64_t max_steps) {
  const border::Input K_in(K_, "K"), y_in(y_, "y"), bound_in(bound_, "bound");
  const border::Output a_out(a_, "a"), f_out(f_, "f"), W_out(W_, "W"), held_out(held_, "held"), M_out(M_, "M");
  const auto K = K_in.strided<float, 2>();
  const auto y = y_in.array<double, 1>(), bound = bound_in.array<double, 1>();
  const auto a = a_out.array<double, 1>(), f = f_out.array<double, 1>();
  const auto W = W_out.array<int64_t, 1>(), held = held_out.array<int64_t, 1>();
  const auto M = M_out.strided<float, 2>();
  const int64_t n = a.shape[0], size = (n + SLOT_UNIT - 1) / SLOT_UNIT * SLOT_UNIT;
  border::check_row_order(K);
  border::check_at_least(K, 0, n, "rows");
  border::check_at_least(K, 1, size, "rows, padded to SLOT_UNIT");
  border::check_length(y, 0, n, "rows");
  border::check_length(bound, 0, n, "rows");
  border::check_length(f, 0, n, "rows");
  border::check_length(held, 0, 1, "a single number");
  border::check_row_order(M);
  border::check_at_least(M, 1, M.shape[0], "rows of M");
  border::check_at_least(W, 0, M.shape[0], "rows of M");
  border::check_scalar(0 <= held.data[0] && held.data[0] <= M.shape[0], "held", "from 0 to the rows of M",
                       double(held.data[0]));
  border::check_indices(W.data, held.data[0], n, "W", "rows");
  border::check_scalar(max_steps >= 0, "max_steps", "at least 0", double(max_steps));
  const PathProblem problem{K.data, K.strides[0], n, y.data, bound.data, goal, max_steps};
  const PathState state{a.data, f.data, W.data, held.data, M.data, M.shape[0], M.strides[0]};
  PathResult result;
  {
    nb::gil_scoped_release released;
    Scratch memory(bytes_of<uint8_t>(n) + 3 * bytes_of<double>(n) + bytes_of<int64_t>(n) + 3 * bytes_of<double>(size) +
                   4 * bytes_of<float>(size));
    PathScratch s{};
    s.inside = memory.take<uint8_t>(n);
    for (double** part : {&s.lower, &s.upper, &s.change}) *part = memory.take<double>(n);
    s.changed = memory.take<int64_t>(n);
    for (double** part : {&s.x, &s.low, &s.high}) *part = memory.take<double>(size);
    for (float** part : {&s.g, &s.diagonal, &s.rise, &s.fall}) *part = memory.take<float>(size);
    result = path_table().advance(problem, state, s);
  }
  return nb::make_tuple(result.steps, result.violation, result.offset);
}

void bind_path(nb::module_& m) {
  m.def("advance_path", &advance_path, "K"_a, "y"_a, "bound"_a, "a"_a, "f"_a, "W"_a, "held"_a, "M"_a, "goal"_a,
        "max_steps"_a);
}
