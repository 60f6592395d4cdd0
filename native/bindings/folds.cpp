#include "folds/folds.h"

#include "core/border.h"
#include "core/scratch.h"

using nb::literals::operator""_a;

static int64_t whole_units(int64_t count) { return (count + SLOT_UNIT - 1) / SLOT_UNIT * SLOT_UNIT; }

// The arrays of a fold in slots, checked against each other; all must stay in scope while the Fold is used.
struct FoldInput {
  const border::Input K, a, lower, upper, folds, starts, stops;
  const border::Output g, x, rise, fall;

  FoldInput(nb::handle problem, nb::handle state)
      : K(part(problem, 7, 0), "K"), a(part(problem, 7, 1), "a"), lower(part(problem, 7, 2), "lower"),
        upper(part(problem, 7, 3), "upper"), folds(part(problem, 7, 4), "folds"), starts(part(problem, 7, 5), "starts"),
        stops(part(problem, 7, 6), "stops"), g(part(state, 4, 0), "g"), x(part(state, 4, 1), "x"),
        rise(part(state, 4, 2), "rise"), fall(part(state, 4, 3), "fall") {}

  template <class T> Fold<T> fold(int64_t which, int64_t equalities) const {
    const auto matrix = K.strided<T, 2>();
    const auto all = a.array<double, 1>(), low = lower.array<double, 1>(), high = upper.array<double, 1>();
    const auto of = folds.array<int64_t, 1>(), begin = starts.array<int64_t, 1>(), end = stops.array<int64_t, 1>();
    const auto gradient = g.array<T, 1>(), up = rise.array<T, 1>(), down = fall.array<T, 1>();
    const auto variables = x.array<double, 1>();
    const int64_t size = gradient.shape[0];
    border::check_row_order(matrix);
    border::check_at_least(matrix, 0, size, "slots");
    border::check_at_least(matrix, 1, size, "slots");
    for (const auto* array : {&all, &low, &high}) border::check_length(*array, 0, size, "slots");
    border::check_length(of, 0, size, "slots");
    border::check_length(up, 0, size, "slots");
    border::check_length(down, 0, size, "slots");
    border::check_length(variables, 0, size, "slots");
    border::check_at_least(begin, 0, 1, "groups");
    border::check_length(end, 0, begin.shape[0], "groups");
    for (int64_t k = 0; k < begin.shape[0]; k++)
      border::check_range(begin.data[k], end.data[k], size, "slots of a group");
    border::check_scalar(equalities == 0 || equalities == begin.shape[0], "equalities", "none, or one per group",
                         double(equalities));
    const PairProblem<T> pairs{matrix.data, matrix.strides[0], gradient.data, variables.data, low.data,       high.data,
                               up.data,     down.data,         nullptr,       begin.data,     end.data,       begin.shape[0]};
    return {pairs, size, all.data, of.data, which, nullptr, equalities};
  }

 private:
  static nb::handle part(nb::handle tuple, int size, int k) {
    if (!PyTuple_Check(tuple.ptr()) || PyTuple_Size(tuple.ptr()) != size)
      border::refuse_type(size == 7 ? "problem must be a tuple (K, a, lower, upper, folds, starts, stops)"
                                    : "state must be a tuple (g, x, rise, fall)");
    return PyTuple_GetItem(tuple.ptr(), k);
  }
};

static void start_fold(nb::handle problem, nb::handle state, int64_t fold, nb::handle totals_) {
  const FoldInput given(problem, state);
  const border::Input totals(totals_, "totals");
  border::for_real(given.g, [&](auto zero) {
    using T = decltype(zero);
    const auto sums = totals.array<double, 1>();
    Fold<T> one = given.fold<T>(fold, sums.shape[0]);
    one.totals = sums.data;
    nb::gil_scoped_release released;
    functions_of<T>(folds_table().one).start(one);
  });
}

static void fold_offsets(nb::handle problem, nb::handle state, int64_t fold, nb::handle out_) {
  const FoldInput given(problem, state);
  const border::Output out(out_, "out");
  border::for_real(given.g, [&](auto zero) {
    using T = decltype(zero);
    const auto offsets = out.array<double, 1>();
    const Fold<T> one = given.fold<T>(fold, offsets.shape[0]);
    nb::gil_scoped_release released;
    functions_of<T>(folds_table().one).offsets(one, offsets.data);
  });
}

static int64_t solve_small_folds(nb::handle K_, nb::handle at_, nb::handle problem_, bool in_place, nb::handle a_,
                                 nb::handle f_, nb::handle folds_, nb::handle totals_, double goal, int64_t max_steps,
                                 int64_t first, int64_t max_operations, nb::handle values_, nb::handle offsets_) {
  if (!PyTuple_Check(problem_.ptr()) || PyTuple_Size(problem_.ptr()) != 5)
    border::refuse_type("problem must be a tuple (sign, linear, lower, upper, group)");
  const border::Input K_in(K_, "K"), at_in(at_, "at"), sign_in(problem_[0], "sign"), linear_in(problem_[1], "linear"),
      lower_in(problem_[2], "lower"), upper_in(problem_[3], "upper"), group_in(problem_[4], "group"), a_in(a_, "a"),
      f_in(f_, "f"), folds_in(folds_, "folds"), totals_in(totals_, "totals");
  const border::Output values_out(values_, "values"), offsets_out(offsets_, "offsets");
  const auto K = K_in.strided<double, 2>();
  const auto at = at_in.array<int64_t, 1>(), group = group_in.array<int64_t, 1>(), of = folds_in.array<int64_t, 1>();
  const auto sign = sign_in.array<double, 1>(), linear = linear_in.array<double, 1>(),
             lower = lower_in.array<double, 1>(), upper = upper_in.array<double, 1>(), a = a_in.array<double, 1>(),
             f = f_in.array<double, 1>();
  const auto totals = totals_in.array<double, 2>();
  const auto offsets = offsets_out.array<double, 2>();
  const auto values = values_out.array<double, 1>();
  const int64_t n = a.shape[0], count = totals.shape[0], groups = totals.shape[1];
  border::check_row_order(K);
  border::check_length(at, 0, n, "variables");
  border::check_indices(at, K.shape[0] < K.shape[1] ? K.shape[0] : K.shape[1], "rows and columns of K");
  for (const auto* array : {&sign, &linear, &lower, &upper, &f}) border::check_length(*array, 0, n, "variables");
  border::check_length(group, 0, n, "variables");
  border::check_length(of, 0, n, "variables");
  border::check_length(values, 0, n, "variables");
  border::check_length(offsets, 0, count, "folds");
  border::check_length(offsets, 1, groups, "groups");
  if (groups > 0) border::check_indices(group, groups, "groups");
  border::check_range(first, count, count, "folds");
  border::check_scalar(max_steps >= 0, "max_steps", "at least 0", double(max_steps));
  border::check_scalar(max_operations > 0, "max_operations", "above 0", double(max_operations));
  int64_t size = groups == 0 ? whole_units(n + 1) : 0;
  for (int64_t k = 0; k < groups; k++) {
    int64_t members = 0;
    for (int64_t v = 0; v < n; v++) members += group.data[v] == k;
    size += whole_units(members);
  }
  if (in_place) {  // every slot is its own row of K
    if (groups != 1) border::refuse_value("in_place needs one group, got " + std::to_string(groups));
    border::check_at_least(K, 0, n, "variables");
  }
  in_place = in_place && K.shape[1] >= size;
  const SmallFolds problem{K.data,     K.strides[0], at.data,  sign.data, linear.data, lower.data,  upper.data,
                           group.data, n,            groups,   in_place,  a.data,      f.data,      of.data,
                           count,      totals.data,  goal,     max_steps, values.data, offsets.data};
  const int64_t ranges = groups ? groups : 1, q_stride = size + 16;  // no power of two: rows would share cache lines
  nb::gil_scoped_release released;
  Scratch memory((in_place ? 0 : bytes_of<double>(size * q_stride)) + bytes_of<int64_t>(n) +
                 2 * bytes_of<int64_t>(ranges) + bytes_of<int64_t>(size) + 9 * bytes_of<double>(size));
  SmallFoldsScratch scratch{};
  scratch.size = size, scratch.q_stride = q_stride;
  if (!in_place) scratch.Q = memory.take<double>(size * q_stride);
  scratch.slot = memory.take<int64_t>(n);
  scratch.starts = memory.take<int64_t>(ranges), scratch.stops = memory.take<int64_t>(ranges);
  scratch.of_slot = memory.take<int64_t>(size);
  for (double** part : {&scratch.all, &scratch.x, &scratch.low, &scratch.high, &scratch.gradient, &scratch.g,
                        &scratch.rise, &scratch.fall, &scratch.diagonal})
    *part = memory.take<double>(size);
  return folds_table().small(problem, scratch, first, max_operations);
}

void bind_folds(nb::module_& m) {
  m.attr("FOLD_OF_PADDING") = FOLD_OF_PADDING;
  m.def("start_fold", &start_fold, "problem"_a, "state"_a, "fold"_a, "totals"_a);
  m.def("fold_offsets", &fold_offsets, "problem"_a, "state"_a, "fold"_a, "out"_a);
  m.def("solve_small_folds", &solve_small_folds, "K"_a, "at"_a, "problem"_a, "in_place"_a, "a"_a, "f"_a, "folds"_a,
        "totals"_a, "goal"_a, "max_steps"_a, "first"_a, "max_operations"_a, "values"_a, "offsets"_a);
}
