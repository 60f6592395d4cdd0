#include "subsequences/subsequences.h"

#include "core/compound.h"

using nb::literals::operator""_a;

static bool read_subsequences(nb::handle letters_, nb::handle starts_, nb::handle lanes_, double decay, nb::handle P_,
                              nb::handle total_, nb::handle place_, nb::handle out_, int64_t max_operations) {
  const border::Input letters(letters_, "letters"), starts(starts_, "starts"), lanes(lanes_, "lanes");
  const border::Output P(P_, "P"), total(total_, "total"), place(place_, "place"), out(out_, "out");
  const auto x = letters.array<double, 1>();
  const auto s = starts.array<int64_t, 1>();
  const auto z = lanes.array<double, 2>();
  const auto p = P.array<double, 3>();
  const auto t = total.array<double, 1>();
  const auto at = place.array<int64_t, 1>();
  const auto o = out.array<double, 2>();
  border::check_length(z, 1, SUBSEQUENCE_LANES, "lanes");
  border::check_length(p, 0, z.shape[0] + 1, "letters of lanes, and one more");
  border::check_at_least(p, 1, 1, "letters of a subsequence");
  border::check_length(p, 2, SUBSEQUENCE_LANES, "lanes");
  border::check_length(t, 0, SUBSEQUENCE_LANES, "lanes");
  border::check_length(at, 0, 2, "string and letter");
  border::check_length(s, 0, o.shape[0] + 1, "rows of out, and one more");
  border::check_length(o, 1, SUBSEQUENCE_LANES, "lanes");
  border::check_offsets(s, x.shape[0], "letters");
  border::check_range(at.data[0], o.shape[0], o.shape[0], "strings");
  const int64_t size = at.data[0] < o.shape[0] ? s.data[at.data[0] + 1] - s.data[at.data[0]] : 0;
  border::check_range(at.data[1], size, size, "letters of the string");
  border::check_scalar(max_operations > 0, "max_operations", "above 0", double(max_operations));
  const Subsequences sums{x.data, s.data, o.shape[0], z.data, z.shape[0], p.shape[1], decay,
                          p.data, t.data, at.data, at.data + 1, o.data};
  nb::gil_scoped_release released;
  return subsequences_table().read(sums, max_operations);
}

void bind_subsequences(nb::module_& m) {
  m.attr("SUBSEQUENCE_LANES") = SUBSEQUENCE_LANES;
  m.def("read_subsequences", &read_subsequences, "letters"_a, "starts"_a, "lanes"_a, "decay"_a, "P"_a, "total"_a,
        "place"_a, "out"_a, "max_operations"_a);
}
