#include "conditions/conditions.h"

#include "core/border.h"

using nb::literals::operator""_a;

namespace {

struct CheckedVariables {
  border::Input gradient, a, lower, upper, group;
  ConditionVariables variables;
  CheckedVariables(nb::handle gradient_, nb::handle a_, nb::handle lower_, nb::handle upper_, nb::handle group_,
                   int64_t groups)
      : gradient(gradient_, "gradient"), a(a_, "a"), lower(lower_, "lower"), upper(upper_, "upper"),
        group(group_, "group") {
    const auto g = gradient.array<double, 1>(), x = a.array<double, 1>(), low = lower.array<double, 1>(),
               high = upper.array<double, 1>();
    const auto of = group.array<int64_t, 1>();
    for (const auto* array : {&x, &low, &high}) border::check_length(*array, 0, g.shape[0], "variables");
    border::check_length(of, 0, g.shape[0], "variables");
    border::check_between(of, -1, groups, "groups");
    variables = {g.data, x.data, low.data, high.data, of.data, g.shape[0]};
  }
};

void scan_conditions(nb::handle gradient, nb::handle a, nb::handle lower, nb::handle upper, nb::handle group,
                     nb::handle out_) {
  const border::Output out_out(out_, "out");
  const auto out = out_out.array<double, 2>();
  border::check_length(out, 0, 5, "rise, fall, sum of free gradients, their number, sum");
  border::check_at_least(out, 1, 1, "groups + 1");
  const int64_t wide = out.shape[1];
  const CheckedVariables x(gradient, a, lower, upper, group, wide - 1);
  nb::gil_scoped_release released;
  conditions_table().scan(x.variables, wide - 1,
                          {out.data, out.data + wide, out.data + 2 * wide, out.data + 3 * wide, out.data + 4 * wide});
}

nb::tuple slackness(nb::handle gradient, nb::handle a, nb::handle lower, nb::handle upper, nb::handle group,
                    nb::handle offset_) {
  const border::Input offset_in(offset_, "offset");
  const auto offset = offset_in.array<double, 1>();
  const CheckedVariables x(gradient, a, lower, upper, group, offset.shape[0]);
  Slackness worst;
  {
    nb::gil_scoped_release released;
    worst = conditions_table().slackness(x.variables, offset.data);
  }
  return nb::make_tuple(worst.product, worst.outside);
}

}  // namespace

void bind_conditions(nb::module_& m) {
  m.def("scan_conditions", &scan_conditions, "gradient"_a, "a"_a, "lower"_a, "upper"_a, "group"_a, "out"_a);
  m.def("slackness", &slackness, "gradient"_a, "a"_a, "lower"_a, "upper"_a, "group"_a, "offset"_a);
}
