#include "sigmoid_fits/sigmoid_fits.h"

#include <algorithm>
#include <vector>

#include "core/compound.h"

using nb::literals::operator""_a;

static int64_t fit_sigmoids(nb::handle values_, nb::handle positive_, nb::handle weight_, nb::handle starts_,
                            nb::handle slope_, nb::handle offset_, nb::handle steps_, int64_t first,
                            int64_t max_rows) {
  const border::Input values(values_, "values"), positive(positive_, "positive"), weight(weight_, "weight");
  const border::Input starts(starts_, "starts");
  const border::Output slope(slope_, "slope"), offset(offset_, "offset"), steps(steps_, "steps");
  const auto f = values.array<double, 1>(), w = weight.array<double, 1>();
  const auto up = positive.array<bool, 1>();
  const auto at = starts.array<int64_t, 1>();
  const auto slopes = slope.array<double, 1>(), offsets = offset.array<double, 1>();
  const auto taken = steps.array<int64_t, 1>();
  border::check_length(up, 0, f.shape[0], "values");
  border::check_length(w, 0, f.shape[0], "values");
  border::check_offsets(at, f.shape[0], "values");
  const int64_t problems = at.shape[0] - 1;
  border::check_length(slopes, 0, problems, "problems");
  border::check_length(offsets, 0, problems, "problems");
  border::check_length(taken, 0, problems, "problems");
  border::check_range(first, problems, problems, "problems");
  border::check_scalar(max_rows > 0, "max_rows", "above 0", double(max_rows));
  int64_t largest = 0;
  for (int64_t p = first; p < problems; p++) largest = std::max(largest, at.data[p + 1] - at.data[p]);
  const int64_t room = largest + SIGMOID_PADDING;
  std::vector<double> scratch(3 * room);
  const SigmoidFits fits{f.data,       w.data,        up.data,       at.data,        problems,
                         slopes.data,  offsets.data,  taken.data,    scratch.data(), scratch.data() + room,
                         scratch.data() + 2 * room};
  nb::gil_scoped_release released;
  return sigmoid_fits_table().fit(fits, first, max_rows);
}

void bind_sigmoid_fits(nb::module_& m) {
  m.def("fit_sigmoids", &fit_sigmoids, "values"_a, "positive"_a, "weight"_a, "starts"_a, "slope"_a, "offset"_a,
        "steps"_a, "first"_a, "max_rows"_a);
}
