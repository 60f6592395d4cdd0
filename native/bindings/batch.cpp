#include "batch/run.h"

#include <nanobind/stl/tuple.h>

#include <exception>
#include <memory>
#include <vector>

#include "core/border.h"

using nb::literals::operator""_a;

namespace {

using border::Input;
using border::Output;

nb::handle item(const nb::tuple& group, size_t k) { return group[k]; }

void check_size(const nb::tuple& group, size_t size, const char* name) {
  if (group.size() != size)
    border::refuse_value(std::string(name) + " must have " + std::to_string(size) + " entries, got " +
                         std::to_string(group.size()));
}

// Dense points (X, shift or None), CSR (indptr, indices, data, columns), or a kernel matrix (K,).
struct PointArguments {
  std::vector<std::unique_ptr<Input>> held;
  const Input& hold(nb::handle object, const char* name, border::Presence presence = border::REQUIRED) {
    held.push_back(std::make_unique<Input>(object, name, presence));
    return *held.back();
  }
  void read(const nb::tuple& group, batch::Batch& s, bool blocks) {
    batch::Points& p = s.points;
    if (group.size() == 2) {
      const Input &X = hold(item(group, 0), "X"), &shift = hold(item(group, 1), "shift", border::OPTIONAL);
      border::for_real(X, [&](auto zero) {
        const auto x = X.array<decltype(zero), 2>();
        p.n = x.shape[0], p.d = x.shape[1];
        if constexpr (sizeof(zero) == sizeof(double))
          p.dense64 = x.data;
        else
          p.dense32 = x.data;
      });
      if (shift.given()) {
        const auto c = shift.array<double, 1>();
        border::check_length(c, 0, p.d, "columns of X");
        p.shift = c.data;
      }
      s.source = blocks ? batch::BLOCKS : batch::TILES;
    } else if (group.size() == 4) {
      p.d = nb::cast<int64_t>(item(group, 3));
      const Input &indptr = hold(item(group, 0), "indptr"), &indices = hold(item(group, 1), "indices");
      const Input& data = hold(item(group, 2), "data");
      const auto starts = indptr.array<int64_t, 1>();
      const auto columns = indices.array<int32_t, 1>();
      const auto values = data.array<double, 1>();
      border::check_at_least(starts, 0, 1, "rows + 1");
      border::check_length(values, 0, columns.shape[0], "entries of indices");
      p.n = starts.shape[0] - 1;
      if (!border::monotone(starts.data, p.n + 1) || starts.data[0] < 0 || starts.data[p.n] > columns.shape[0])
        border::refuse_value("indptr must rise from 0 to at most the entries of indices");
      border::check_indices(columns.data, columns.shape[0], p.d, "indices", "columns");
      p.indptr = starts.data, p.indices = columns.data, p.data = values.data;
      s.source = batch::BLOCKS;
    } else {
      check_size(group, 1, "points");
      const Input& K = hold(item(group, 0), "K");
      border::for_real(K, [&](auto zero) {
        const auto k = K.array<decltype(zero), 2>();
        p.n = k.shape[0], p.stride = k.shape[1];
        border::check_at_least(k, 1, p.n, "rows of K");
        if constexpr (sizeof(zero) == sizeof(double))
          p.stored64 = k.data;
        else
          p.stored32 = k.data;
      });
      s.source = batch::STORED;
    }
  }
};

// Calls the stop function; an error (Ctrl-C, or one of its own) stops the batch and is raised after it.
class StopFunction {
 public:
  explicit StopFunction(nb::handle function) : function_(function) {}
  bool operator()() {
    const nb::gil_scoped_acquire held;
    try {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
      return !function_.is_none() && nb::cast<bool>(function_());
    } catch (...) {
      error_ = std::current_exception();
      return true;
    }
  }
  void raise_again() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  nb::handle function_;
  std::exception_ptr error_;
};

void solve_batch(nb::tuple points, std::tuple<int, int, double, double, bool> form, nb::tuple segments, nb::tuple problems,
                 nb::tuple results, std::tuple<int, bool, double, double, int64_t, std::tuple<int64_t, int64_t, bool>> rule,
                 std::tuple<int, double, bool, bool, int64_t> options, nb::object stop) {
  batch::Batch s{};
  PointArguments arguments;
  const auto [threads, budget, blocks, twice, rows_at_once] = options;
  border::check_scalar(threads >= 1, "threads", ">= 1", threads);
  border::check_scalar(budget >= 0, "budget", ">= 0", budget);
  border::check_scalar(rows_at_once >= 1 && rows_at_once <= 24, "rows_at_once", "in [1, 24]", double(rows_at_once));
  const bool trial = std::get<0>(std::get<5>(rule)) > 0;
  arguments.read(points, s, blocks && !trial);
  s.twice = twice || s.points.indptr || s.source == batch::STORED, s.rows_at_once = rows_at_once;
  const auto [kind, degree, root, bias, norms] = form;
  border::check_scalar(kind >= 0 && kind <= batch::DECAY, "kind", "a kernel's form", kind);
  border::check_scalar(degree >= 1 && degree <= 64, "degree", "in [1, 64]", degree);
  s.points.form = {kind, degree, root, bias, norms};

  check_size(segments, 2, "segments");
  const Input order_(item(segments, 0), "order"), start_(item(segments, 1), "start");
  const auto order = order_.array<int64_t, 1>(), start = start_.array<int64_t, 1>();
  border::check_indices(order, s.points.n, "rows");
  border::check_at_least(start, 0, 2, "segments + 1");
  s.segments = {start.shape[0] - 1, 0, order.data, start.data, nullptr, nullptr};
  if (start.data[0] != 0 || start.data[s.segments.count] != order.shape[0] || !border::monotone(start.data, start.shape[0]))
    border::refuse_value("start must rise from 0 to the length of order");
  for (int64_t c = 0; c < s.segments.count; c++)
    if (start.data[c + 1] == start.data[c]) border::refuse_value("start must leave no segment empty");

  check_size(problems, 10, "problems");
  const Input runs_(item(problems, 0), "runs"), at_(item(problems, 1), "at"), linear_(item(problems, 2), "linear");
  const Input lower_(item(problems, 3), "lower"), upper_(item(problems, 4), "upper");
  const Input target_(item(problems, 5), "target"), totals_(item(problems, 6), "totals");
  const Output a_(item(problems, 7), "a"), f_(item(problems, 8), "f");
  const Input begun_(item(problems, 9), "begun", border::OPTIONAL);
  const auto runs = runs_.array<int64_t, 2>();
  const auto at = at_.array<int64_t, 1>();
  const auto totals = totals_.array<double, 2>();
  const auto a = a_.array<double, 1>(), f = f_.array<double, 1>();
  const int64_t count = runs.shape[0];
  border::check_length(runs, 1, 2, "two runs");
  border::check_length(at, 0, count + 1, "problems + 1");
  border::check_length(totals, 0, count, "problems");
  border::check_length(totals, 1, 2, "two runs");
  if (at.data[0] != 0) border::refuse_value("at must begin with 0");
  for (int64_t p = 0; p < count; p++) {
    const int64_t i = runs.data[2 * p], j = runs.data[2 * p + 1];
    if (i < 0 || i >= s.segments.count || j < -1 || j >= s.segments.count || (j >= 0 && j < i))
      border::refuse_value("runs must be two segments in order, or one and -1");
    const int64_t size = start.data[i + 1] - start.data[i] + (j < 0 ? 0 : start.data[j + 1] - start.data[j]);
    if (at.data[p + 1] - at.data[p] != size) border::refuse_value("at must count the variables of each problem");
  }
  const int64_t variables = at.data[count];
  const auto vector = [&](const Input& input) {
    const auto array = input.array<double, 1>();
    border::check_length(array, 0, variables, "variables");
    return array.data;
  };
  border::check_length(a, 0, variables, "variables");
  border::check_length(f, 0, variables, "variables");
  const auto [which, joined, tol, epsilon, max_steps, limits] = rule;
  const auto [check_step, most_entering, goes_on] = limits;
  border::check_scalar(which >= 0 && which <= batch::QUANTILE, "rule", "a kind of problem", which);
  if ((which == batch::NU_SVC || which == batch::NU_SVR) && joined)
    border::refuse_value("joined must be false: nu problems have an equality in each run");
  const bool blocks_follow = blocks && trial && goes_on && s.source == batch::TILES;
  s.problems = {count,         batch::Rule(which), joined,         tol,           epsilon,         max_steps,
                check_step,    most_entering,      goes_on,        blocks_follow, runs.data,       at.data,
                vector(linear_), vector(lower_),   vector(upper_), vector(target_), totals.data,   a.data,
                f.data,        begun_.given() ? vector(begun_) : nullptr};

  check_size(results, 3, "results");
  const Output values_(item(results, 0), "values"), counts_(item(results, 1), "counts"), status_(item(results, 2), "status");
  const auto values = values_.array<double, 1>();
  const auto counts = counts_.array<int64_t, 2>();
  const auto status = status_.array<int8_t, 1>();
  border::check_length(values, 0, 9 * count, "nine per problem");
  border::check_length(counts, 0, 3, "steps, evaluations, support vectors");
  border::check_length(counts, 1, count, "problems");
  border::check_length(status, 0, count, "problems");
  double* v = values.data;
  s.results = {v,
               v + 2 * count,
               v + 3 * count,
               v + 4 * count,
               v + 5 * count,
               v + 6 * count,
               v + 7 * count,
               v + 8 * count,
               counts.data,
               counts.data + count,
               counts.data + 2 * count,
               status.data};
  StopFunction asked(stop);
  {
    nb::gil_scoped_release released;
    batch::run(s, {threads, budget, std::ref(asked)});
  }
  asked.raise_again();
}

}  // namespace

void bind_batch(nb::module_& m) {
  m.def("solve_batch", &solve_batch, "points"_a, "form"_a, "segments"_a, "problems"_a, "results"_a, "rule"_a, "options"_a,
        "stop"_a.none());
}
