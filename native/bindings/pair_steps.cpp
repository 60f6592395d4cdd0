#include "pair_steps/pair_steps.h"

#include "core/border.h"

using nb::literals::operator""_a;

static int64_t solve_pairs(nb::handle K_, nb::handle g_, nb::handle a_, nb::handle lower_, nb::handle upper_,
                           nb::handle rise_, nb::handle fall_, nb::handle diagonal_, nb::handle starts_,
                           nb::handle stops_, double goal, int64_t max_steps) {
  const border::Input K(K_, "K"), lower(lower_, "lower"), upper(upper_, "upper"), diagonal(diagonal_, "diagonal"),
      starts(starts_, "starts"), stops(stops_, "stops");
  const border::Output g(g_, "g"), a(a_, "a"), rise(rise_, "rise"), fall(fall_, "fall");
  return border::for_real(g, [&](auto zero) -> int64_t {
    using T = decltype(zero);
    const auto matrix = K.strided<T, 2>();
    const auto gradient = g.array<T, 1>(), may_rise = rise.array<T, 1>(), may_fall = fall.array<T, 1>();
    const auto own = diagonal.array<T, 1>();
    const auto x = a.array<double, 1>();
    const auto low = lower.array<double, 1>(), high = upper.array<double, 1>();
    const auto begin = starts.array<int64_t, 1>(), end = stops.array<int64_t, 1>();
    const int64_t size = gradient.shape[0];
    border::check_row_order(matrix);
    border::check_at_least(matrix, 0, size, "slots");
    border::check_at_least(matrix, 1, size, "slots");
    border::check_length(may_rise, 0, size, "slots");
    border::check_length(may_fall, 0, size, "slots");
    border::check_length(own, 0, size, "slots");
    border::check_length(x, 0, size, "slots");
    border::check_length(low, 0, size, "slots");
    border::check_length(high, 0, size, "slots");
    border::check_length(end, 0, begin.shape[0], "groups");
    for (int64_t k = 0; k < begin.shape[0]; k++) {
      border::check_range(begin.data[k], end.data[k], size, "slots of a group");
      if (begin.data[k] % SLOT_UNIT || end.data[k] % SLOT_UNIT)
        border::refuse_value("starts and stops must be multiples of SLOT_UNIT, got " + std::to_string(begin.data[k]) +
                             " and " + std::to_string(end.data[k]));
    }
    border::check_scalar(max_steps >= 0, "max_steps", "at least 0", double(max_steps));
    const PairProblem<T> problem{matrix.data, matrix.strides[0], gradient.data, x.data,     low.data, high.data,
                                 may_rise.data, may_fall.data, own.data, begin.data, end.data, begin.shape[0]};
    nb::gil_scoped_release released;
    return functions_of<T>(pair_steps_table()).solve_pairs(problem, goal, max_steps);
  });
}

void bind_pair_steps(nb::module_& m) {
  m.attr("SLOT_UNIT") = SLOT_UNIT;
  m.attr("PAIR_BARRIER") = PAIR_BARRIER;
  m.def("solve_pairs", &solve_pairs, "K"_a, "g"_a, "a"_a, "lower"_a, "upper"_a, "rise"_a, "fall"_a, "diagonal"_a,
        "starts"_a, "stops"_a, "goal"_a, "max_steps"_a);
}
