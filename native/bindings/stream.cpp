#include "stream/stream.h"

#include <vector>

#include "bindings/linear_rows.h"

using nb::literals::operator""_a;
using border::Input;
using border::Output;

// What is kept of a stream: arrays of the caller's. One thread at a time may use it.
class StreamModels {
 public:
  StreamModels(nb::handle U, nb::handle Z, nb::handle totals, nb::handle factor, nb::handle numbers)
      : U_(U, "U"), Z_(Z, "Z"), totals_(totals, "totals"), factor_(factor, "factor"), numbers_(numbers, "numbers") {
    const auto u = U_.array<double, 2>(), z = Z_.array<double, 2>();
    border::check_at_least(u, 0, 1, "columns + 1");
    border::check_length(z, 0, u.shape[0], "rows of U");
    border::check_length(z, 1, u.shape[1], "columns of U");
    const auto totals_array = totals_.array<double, 1>();
    const int64_t m = u.shape[1], k = totals_array.shape[0];
    border::check_scalar(m >= (k <= 2 ? 1 : k), "U.shape[1]", "at least the number of models", double(m));
    scratch_.resize(size_t(2 * m)), which_.resize(size_t(m));
    state = {u.shape[0] - 1, m, k, 1.0, 0.0, true, true, false,
             vector_of(factor_, k, "entries of totals"), totals_array.data, u.data, z.data,
             vector_of(numbers_, STREAM_NUMBERS, "numbers of a stream"), scratch_.data(), scratch_.data() + m, which_.data()};
  }
  StreamState state{};

  void learn(const LinearRows& X, nb::handle codes_, nb::handle weights_, int64_t start, int64_t stop) {
    const Input codes(codes_, "codes"), weights(weights_, "weights");
    X.check_range(start, stop);
    const auto c = codes.array<int64_t, 1>();
    border::check_length(c, 0, X.view.rows, "rows of X");
    border::check_indices(c.data + start, stop - start, state.classes, "codes", "classes");
    border::check_scalar(X.view.columns == state.columns, "X.shape[1]", "the columns of U", double(X.view.columns));
    const double* w = vector_of(weights, X.view.rows, "rows of X");
    nb::gil_scoped_release released;
    stream_table().learn(state, X.view, c.data, w, start, stop);
  }
  void averages(double late, double total, nb::handle coef_) const {
    const Output coef(coef_, "coef");
    const auto o = coef.array<double, 2>();
    border::check_scalar(o.shape[0] <= state.models, "coef.shape[0]", "at most the models of U", double(o.shape[0]));
    border::check_length(o, 1, state.columns, "columns of X");
    nb::gil_scoped_release released;
    stream_table().averages(state, late, total, o.shape[0], o.data);
  }

 private:
  Output U_, Z_, totals_, factor_, numbers_;
  std::vector<double> scratch_;
  std::vector<int64_t> which_;
};

#define FIELD(name, Type) \
  .def_prop_rw(#name, [](const StreamModels& x) { return x.state.name; }, [](StreamModels& x, Type v) { x.state.name = v; })

void bind_stream(nb::module_& m) {
  nb::class_<StreamModels>(m, "StreamModels")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(), "U"_a, "Z"_a, "totals"_a, "factor"_a,
           "numbers"_a)
      // clang-format off
      FIELD(C, double) FIELD(scaling2, double) FIELD(squared, bool) FIELD(free, bool) FIELD(balanced, bool)
      // clang-format on
      .def("learn", &StreamModels::learn, "X"_a, "codes"_a, "weights"_a, "start"_a, "stop"_a)
      .def("averages", &StreamModels::averages, "late"_a, "total"_a, "coef"_a);
}
