#include "shapley/shapley.h"

#include "core/border.h"
#include "core/scratch.h"

using nb::literals::operator""_a;

namespace {

// The arrays that both functions take.
class Arguments {
 public:
  Arguments(nb::handle rows, nb::handle panels, nb::handle coefficients, nb::handle background, nb::tuple tables,
            nb::handle out)
      : rows_(rows, "rows"), panels_(panels, "panels"), coefficients_(coefficients, "coefficients"),
        background_(background, "background", border::OPTIONAL), nodes_(part(tables, 0), "nodes"),
        weights_(part(tables, 1), "weights"), starts_(part(tables, 2), "starts"), limits_(part(tables, 3), "limits"),
        out_(out, "out") {
    const auto x = rows_.array<double, 2>();
    const auto a = panels_.array<double, 3>(), c = coefficients_.array<double, 3>();
    const auto o = out_.array<double, 3>();
    border::check_length(a, 1, x.shape[1], "columns of rows");
    border::check_length(a, 2, SHAPLEY_LANES, "lanes of a panel");
    border::check_length(c, 0, a.shape[0], "panels");
    border::check_length(c, 2, SHAPLEY_LANES, "lanes of a panel");
    border::check_length(o, 0, x.shape[0], "rows");
    border::check_length(o, 1, c.shape[1], "outputs of coefficients");
    border::check_length(o, 2, x.shape[1], "columns of rows");
    problem = {a.data, c.data, nullptr, a.shape[0], x.shape[1], c.shape[1], 1};
    if (background_.given()) {
      const auto b = background_.array<double, 2>();
      border::check_length(b, 1, x.shape[1], "columns of rows");
      problem.background = b.data, problem.backgrounds = b.shape[0];
    }
    x_ = x.data, count_ = x.shape[0], o_ = o.data;
    take_rules();
  }

  // function(scratch) without the GIL
  template <class F> void run(F&& function) {
    const int64_t columns = problem.columns * SHAPLEY_LANES, sums = SHAPLEY_ROWS * problem.outputs * columns;
    const int64_t far = problem.background ? 2 * problem.backgrounds * columns : 0;
    Scratch memory(bytes_of<double>(sums) + bytes_of<double>(far) + bytes_of<double>(2 * columns) +
                   bytes_of<double>(columns * SHAPLEY_NODES) + 3 * bytes_of<double>(columns) +
                   bytes_of<int64_t>(problem.columns));
    ShapleyScratch s;
    s.sum = memory.take<double>(sums), s.far = memory.take<double>(far), s.near = memory.take<double>(2 * columns);
    s.prefix = memory.take<double>(columns * SHAPLEY_NODES);
    s.low = memory.take<double>(columns), s.step = memory.take<double>(columns), s.gain = memory.take<double>(columns);
    s.active = memory.take<int64_t>(problem.columns);
    nb::gil_scoped_release released;
    function(x_, count_, s, o_);
  }

  ShapleyProblem problem;
  ShapleyRules rules;

 private:
  static nb::handle part(const nb::tuple& tables, size_t k) {
    if (tables.size() != 4) border::refuse_type("rules must be a tuple (nodes, weights, starts, limits)");
    return tables[k];
  }
  void take_rules() {
    const auto node = nodes_.array<double, 1>(), weight = weights_.array<double, 1>();
    const auto limit = limits_.array<double, 1>();
    const auto start = starts_.array<int64_t, 1>();
    border::check_at_least(limit, 0, 1, "one rule");
    border::check_length(start, 0, limit.shape[0] + 1, "rules + 1");
    border::check_length(weight, 0, node.shape[0], "nodes");
    if (start.data[0] != 0 || !border::monotone(start.data, start.shape[0]) || start.data[limit.shape[0]] != node.shape[0])
      border::refuse_value("starts must rise from 0 to the number of nodes");
    for (int64_t r = 0; r <= limit.shape[0]; r++)
      if (start.data[r] % SHAPLEY_NODES)
        border::refuse_value("starts must be multiples of " + std::to_string(SHAPLEY_NODES));
    rules = {node.data, weight.data, start.data, limit.data, limit.shape[0]};
  }

  const border::Input rows_, panels_, coefficients_, background_, nodes_, weights_, starts_, limits_;
  const border::Output out_;
  const double* x_;
  int64_t count_;
  double* o_;
};

const double* of_columns(const border::Input& input, int64_t columns) {
  if (!input.given()) return nullptr;
  const auto array = input.array<double, 1>();
  border::check_length(array, 0, columns, "columns of rows");
  return array.data;
}

void shapley_product(nb::handle rows, nb::handle panels, nb::handle coefficients, nb::handle background,
                     nb::handle square_, nb::handle absolute_, nb::handle chi_squared_, nb::tuple rules, double weight,
                     nb::handle out) {
  Arguments all(rows, panels, coefficients, background, rules, out);
  const border::Input square(square_, "square", border::OPTIONAL), absolute(absolute_, "absolute", border::OPTIONAL);
  const border::Input chi_squared(chi_squared_, "chi_squared", border::OPTIONAL);
  const int64_t d = all.problem.columns;
  const ShapleyFactors factors{of_columns(square, d), of_columns(absolute, d), of_columns(chi_squared, d)};
  all.run([&](const double* x, int64_t count, ShapleyScratch s, double* o) {
    shapley_table().product(all.problem, factors, all.rules, x, count, weight, s, o);
  });
}

void shapley_power(nb::handle rows, nb::handle panels, nb::handle coefficients, nb::handle background, nb::handle scale_,
                   double constant, int degree, nb::tuple rules, double weight, nb::handle out) {
  Arguments all(rows, panels, coefficients, background, rules, out);
  const border::Input scale(scale_, "scale");
  border::check_scalar(degree >= 1 && degree <= SHAPLEY_MAX_DEGREE, "degree", "from 1 to 12", degree);
  const ShapleyPower power{of_columns(scale, all.problem.columns), constant, degree};
  all.run([&](const double* x, int64_t count, ShapleyScratch s, double* o) {
    shapley_table().power(all.problem, power, all.rules, x, count, weight, s, o);
  });
}

}  // namespace

void bind_shapley(nb::module_& m) {
  m.attr("SHAPLEY_LANES") = SHAPLEY_LANES;
  m.attr("SHAPLEY_NODES") = SHAPLEY_NODES;
  m.attr("SHAPLEY_MAX_DEGREE") = SHAPLEY_MAX_DEGREE;
  m.def("shapley_product", &shapley_product, "rows"_a, "panels"_a, "coefficients"_a, "background"_a.none(),
        "square"_a.none(), "absolute"_a.none(), "chi_squared"_a.none(), "rules"_a, "weight"_a, "out"_a);
  m.def("shapley_power", &shapley_power, "rows"_a, "panels"_a, "coefficients"_a, "background"_a.none(), "scale"_a,
        "constant"_a, "degree"_a, "rules"_a, "weight"_a, "out"_a);
}
