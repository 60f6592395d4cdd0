#include "one_vs_one/one_vs_one.h"

#include <vector>

#include "core/border.h"
#include "bindings/pair_coefficients.h"

using nb::literals::operator""_a;

namespace {

int64_t pairs_of(int64_t classes) { return classes * (classes - 1) / 2; }

void pair_values(nb::handle K_, nb::handle coefficients_, nb::handle counts_, nb::handle out_) {
  const border::Input K_in(K_, "K"), coefficients_in(coefficients_, "coefficients"), counts_in(counts_, "counts");
  const border::Output out_out(out_, "out");
  const auto coefficients = coefficients_in.array<double, 2>();
  const auto counts = counts_in.array<int64_t, 1>();
  const auto out = out_out.array<double, 2>();
  const PairCoefficients c = checked_pair_coefficients(coefficients, counts);
  border::for_real(K_in, [&](auto zero) {
    using T = decltype(zero);
    const auto K = K_in.array<T, 2>();
    border::check_length(K, 1, coefficients.shape[0], "rows of coefficients");
    border::check_length(out, 0, K.shape[0], "rows of K");
    border::check_length(out, 1, pairs_of(c.classes), "pairs of classes");
    nb::gil_scoped_release released;
    std::vector<double> sums(size_t(4 * c.classes * c.stride));
    functions_of<T>(one_vs_one_table().pairs).values(c, K.data, K.shape[1], K.shape[0], sums.data(), out.data);
  });
}

// An output with a row for each of f, and a column per class.
border::Array<double, 2> per_class(const border::Output& output, const border::Array<const double, 2>& f) {
  const auto out = output.array<double, 2>();
  border::check_length(out, 0, f.shape[0], "rows of f");
  border::check_at_least(out, 1, 1, "a class");
  border::check_length(f, 1, pairs_of(out.shape[1]), "pairs of classes");
  return out;
}

void pair_votes(nb::handle f_, bool zero_for_first, nb::handle votes_) {
  const border::Input f_in(f_, "f");
  const border::Output votes_out(votes_, "votes");
  const auto f = f_in.array<double, 2>();
  const auto votes = per_class(votes_out, f);
  nb::gil_scoped_release released;
  one_vs_one_table().votes(f.data, f.shape[0], votes.shape[1], zero_for_first, votes.data);
}

void pair_vote_range(nb::handle f_, nb::handle bound_, nb::handle fewest_, nb::handle most_) {
  const border::Input f_in(f_, "f"), bound_in(bound_, "bound");
  const border::Output fewest_out(fewest_, "fewest"), most_out(most_, "most");
  const auto f = f_in.array<double, 2>();
  const auto bound = bound_in.array<double, 1>();
  const auto fewest = per_class(fewest_out, f), most = per_class(most_out, f);
  border::check_length(bound, 0, f.shape[1], "columns of f");
  nb::gil_scoped_release released;
  one_vs_one_table().vote_range(f.data, bound.data, f.shape[0], fewest.shape[1], fewest.data, most.data);
}

void pair_confidence(nb::handle f_, nb::handle sums_) {
  const border::Input f_in(f_, "f");
  const border::Output sums_out(sums_, "sums");
  const auto f = f_in.array<double, 2>();
  const auto sums = per_class(sums_out, f);
  nb::gil_scoped_release released;
  one_vs_one_table().confidence(f.data, f.shape[0], sums.shape[1], sums.data);
}

}  // namespace

void bind_one_vs_one(nb::module_& m) {
  m.attr("PAIR_COEFFICIENTS_UNIT") = PAIR_COEFFICIENTS_UNIT;
  m.def("pair_values", &pair_values, "K"_a, "coefficients"_a, "counts"_a, "out"_a);
  m.def("pair_votes", &pair_votes, "f"_a, "zero_for_first"_a, "votes"_a);
  m.def("pair_vote_range", &pair_vote_range, "f"_a, "bound"_a, "fewest"_a, "most"_a);
  m.def("pair_confidence", &pair_confidence, "f"_a, "sums"_a);
}
