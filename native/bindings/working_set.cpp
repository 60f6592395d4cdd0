#include "working_set/working_set.h"

#include <vector>

#include "core/border.h"
#include "core/scratch.h"

using nb::literals::operator""_a;

namespace {

// g, a, lower, upper and group of all variables, and the groups' number.
struct CheckedVariables {
  border::Input g, a, lower, upper, group;
  BoxVariables variables;
  int64_t count;
  CheckedVariables(nb::handle g_, nb::handle a_, nb::handle lower_, nb::handle upper_, nb::handle group_, int64_t groups)
      : g(g_, "g"), a(a_, "a"), lower(lower_, "lower"), upper(upper_, "upper"), group(group_, "group") {
    const auto gradient = g.array<double, 1>(), x = a.array<double, 1>(), low = lower.array<double, 1>(),
               high = upper.array<double, 1>();
    const auto of = group.array<int64_t, 1>();
    count = gradient.shape[0];
    for (const auto* array : {&x, &low, &high}) border::check_length(*array, 0, count, "variables");
    border::check_length(of, 0, count, "variables");
    border::check_indices(of, groups, "groups");
    variables = {gradient.data, x.data, low.data, high.data, of.data};
  }
};

VariableList list_of(const border::Array<const int64_t, 1>& ids, int64_t variables) {
  border::check_indices(ids, variables, "variables");
  return {ids.data, ids.shape[0]};
}

double group_sides(nb::handle g, nb::handle a, nb::handle lower, nb::handle upper, nb::handle group, nb::handle ids_,
                   bool zero_offset, nb::handle middle_) {
  const border::Output middle_out(middle_, "middle");
  const border::Input ids(ids_, "ids");
  const auto middle = middle_out.array<double, 1>();
  const CheckedVariables x(g, a, lower, upper, group, middle.shape[0]);
  const VariableList list = list_of(ids.array<int64_t, 1>(), x.count);
  std::vector<double> ends(2 * size_t(middle.shape[0]));
  nb::gil_scoped_release released;
  return working_set_table().sides(x.variables, list, middle.shape[0], zero_offset, middle.data, ends.data(),
                                   ends.data() + middle.shape[0]);
}

void side_excess(nb::handle g, nb::handle a, nb::handle lower, nb::handle upper, nb::handle group, nb::handle ids_,
                 nb::handle middle_, nb::handle out_) {
  const border::Input ids(ids_, "ids"), middle_in(middle_, "middle");
  const border::Output out_out(out_, "out");
  const auto middle = middle_in.array<double, 1>();
  const auto out = out_out.array<double, 1>();
  const CheckedVariables x(g, a, lower, upper, group, middle.shape[0]);
  const VariableList list = list_of(ids.array<int64_t, 1>(), x.count);
  border::check_length(out, 0, list.count, "ids");
  nb::gil_scoped_release released;
  working_set_table().excess(x.variables, list, middle.data, out.data);
}

int64_t choose_working_set(nb::handle g, nb::handle a, nb::handle lower, nb::handle upper, nb::handle group,
                           nb::handle ids_, nb::handle previous_, int64_t size, nb::handle middle_, int64_t start,
                           nb::handle W_) {
  const border::Input ids(ids_, "ids"), previous(previous_, "previous"), middle_in(middle_, "middle");
  const border::Output W_out(W_, "W");
  const auto middle = middle_in.array<double, 1>();
  const auto W = W_out.array<int64_t, 1>();
  const int64_t groups = middle.shape[0];
  const CheckedVariables x(g, a, lower, upper, group, groups);
  border::check_scalar(size >= 0, "size", "at least 0", double(size));
  border::check_scalar(start >= 0, "start", "at least 0", double(start));
  border::check_at_least(W, 0, size + 2 * groups, "size + 2 groups");
  const ChooseRequest request{list_of(ids.array<int64_t, 1>(), x.count), list_of(previous.array<int64_t, 1>(), x.count),
                              size, middle.data, groups, start};
  nb::gil_scoped_release released;
  const int64_t m = request.candidates.count + 1;
  Scratch memory(2 * bytes_of<double>(m) + bytes_of<int64_t>(m));
  std::vector<uint8_t> taken(size_t(x.count), 0);
  double* key = memory.take<double>(m);
  double* copy = memory.take<double>(m);
  const ChooseScratch scratch{taken.data(), key, copy, memory.take<int64_t>(m)};
  return working_set_table().choose(x.variables, request, scratch, W.data);
}

}  // namespace

void bind_working_set(nb::module_& m) {
  m.def("group_sides", &group_sides, "g"_a, "a"_a, "lower"_a, "upper"_a, "group"_a, "ids"_a, "zero_offset"_a,
        "middle"_a);
  m.def("side_excess", &side_excess, "g"_a, "a"_a, "lower"_a, "upper"_a, "group"_a, "ids"_a, "middle"_a, "out"_a);
  m.def("choose_working_set", &choose_working_set, "g"_a, "a"_a, "lower"_a, "upper"_a, "group"_a, "ids"_a,
        "previous"_a, "size"_a, "middle"_a, "start"_a, "W"_a);
}
