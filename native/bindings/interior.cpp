#include "interior/interior.h"

#include <memory>

#include "bindings/linear_rows.h"

using nb::literals::operator""_a;
using border::Input;
using border::Output;

// The variables of an interior-point run. Ranges of rows may be worked on by several threads at once.
class InteriorRows {
 public:
  InteriorRows(nb::handle p, nb::handle lower, nb::handle upper, nb::handle ridge, nb::handle a, nb::handle f)
      : p_(p, "p"), lower_(lower, "lower"), upper_(upper, "upper"), ridge_(ridge, "ridge"), a_(a, "a"), f_(f, "f") {
    const auto linear = p_.array<double, 2>();
    const int64_t sides = linear.shape[0], n = linear.shape[1];
    const auto same = [&](auto array) {
      border::check_length(array, 0, sides, "sides of p");
      border::check_length(array, 1, n, "rows of p");
      return array.data;
    };
    border::check_scalar(sides == 1 || sides == 2, "p.shape[0]", "1 or 2", double(sides));
    view.rows = n, view.sides = sides, view.p = linear.data;
    view.lower = same(lower_.array<double, 2>());
    view.upper = same(upper_.array<double, 2>());
    view.a = same(a_.array<double, 2>());
    view.ridge = vector_of(ridge_, n, "rows of p");
    view.f = vector_of(f_, n, "rows of p");
    state_ = std::make_unique<double[]>(size_t(9 * sides * n + n));
    view.state = state_.get();
    view.beta = view.state + 9 * sides * n;
    for (int64_t i = 0; i < n; i++) {
      view.beta[i] = 0.0;
      for (int64_t k = 0; k < sides; k++) view.beta[i] += view.a[k * n + i];
    }
  }
  InteriorState view{};

  void beta(nb::handle out_) const {
    const Output out(out_, "out");
    double* values = vector_of(out, view.rows, "rows of p");
    for (int64_t i = 0; i < view.rows; i++) values[i] = view.beta[i];
  }
  void begin(double offset, double size, bool by_room) { interior_table().begin(view, offset, size, by_room); }
  void even_out(double least, bool together) { interior_table().even_out(view, least, together); }
  void centre(double offset, double mu) { interior_table().centre(view, offset, mu); }
  void weigh(int64_t start, int64_t stop, double offset, nb::handle q_, nb::handle T_) {
    const Output q(q_, "q"), T(T_, "T");
    check(start, stop);
    double *first = part(q, start, stop), *second = part(T, start, stop);
    nb::gil_scoped_release released;
    interior_table().weigh(view, start, stop, offset, first, second);
  }
  nb::tuple predict(int64_t start, int64_t stop, nb::handle df_, double dlambda, nb::handle q0_, nb::handle q1_) {
    const Input df(df_, "df");
    const Output q0(q0_, "q0"), q1(q1_, "q1");
    check(start, stop);
    const double* change = vector_of(df, stop - start, "rows from start to stop");
    double *first = part(q0, start, stop), *second = part(q1, start, stop);
    Blocked found;
    {
      nb::gil_scoped_release released;
      found = interior_table().predict(view, start, stop, change, dlambda, first, second);
    }
    return nb::make_tuple(found.blocked, found.first, found.second, found.third);
  }
  double direct(int64_t start, int64_t stop, nb::handle predicted_, double dpredicted, nb::handle df_, double dlambda,
                double mu, bool corrected) {
    const Input predicted(predicted_, "predicted"), df(df_, "df");
    check(start, stop);
    const double* before = vector_of(predicted, stop - start, "rows from start to stop");
    const double* change = vector_of(df, stop - start, "rows from start to stop");
    nb::gil_scoped_release released;
    return interior_table().direct(view, start, stop, before, dpredicted, change, dlambda, mu, corrected);
  }
  nb::tuple products(double step) {
    Products found;
    {
      nb::gil_scoped_release released;
      found = interior_table().products(view, step);
    }
    return nb::make_tuple(found.total, found.count, found.least);
  }
  bool advance(nb::handle df_, double step) {
    const Input df(df_, "df", border::OPTIONAL);
    const double* change = df.given() ? vector_of(df, view.rows, "rows of p") : nullptr;
    nb::gil_scoped_release released;
    return interior_table().advance(view, change, step);
  }
  // Rooms and multipliers of all variables: A, B, z, x.
  void rooms(nb::handle out_) const {
    const Output out(out_, "out");
    double* values = vector_of(out, 4 * view.sides * view.rows, "A, B, z and x of all variables");
    for (int64_t k = 0; k < 4 * view.sides * view.rows; k++) values[k] = view.state[k];
  }
  void changes(nb::handle out_) const {
    const Output out(out_, "out");
    double* values = vector_of(out, view.rows, "rows of p");
    for (int64_t i = 0; i < view.rows; i++) {
      values[i] = 0.0;
      for (int64_t k = 0; k < view.sides; k++) values[i] += view.state[(5 * view.sides + k) * view.rows + i];
    }
  }

 private:
  void check(int64_t start, int64_t stop) const { border::check_range(start, stop, view.rows, "rows"); }
  double* part(const Output& out, int64_t start, int64_t stop) const {
    return vector_of(out, stop - start, "rows from start to stop");
  }
  Input p_, lower_, upper_, ridge_;
  Output a_, f_;
  std::unique_ptr<double[]> state_;
};

void bind_interior(nb::module_& m) {
  nb::class_<InteriorRows>(m, "InteriorRows")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(), "p"_a, "lower"_a, "upper"_a,
           "ridge"_a, "a"_a, "f"_a)
      .def("beta", &InteriorRows::beta, "out"_a)
      .def("begin", &InteriorRows::begin, "offset"_a, "size"_a, "by_room"_a)
      .def("even_out", &InteriorRows::even_out, "least"_a, "together"_a)
      .def("centre", &InteriorRows::centre, "offset"_a, "mu"_a)
      .def("weigh", &InteriorRows::weigh, "start"_a, "stop"_a, "offset"_a, "q"_a, "T"_a)
      .def("predict", &InteriorRows::predict, "start"_a, "stop"_a, "df"_a, "dlambda"_a, "q0"_a, "q1"_a)
      .def("direct", &InteriorRows::direct, "start"_a, "stop"_a, "predicted"_a, "dpredicted"_a, "df"_a, "dlambda"_a, "mu"_a,
           "corrected"_a)
      .def("products", &InteriorRows::products, "step"_a)
      .def("advance", &InteriorRows::advance, "df"_a.none(), "step"_a)
      .def("changes", &InteriorRows::changes, "out"_a)
      .def("rooms", &InteriorRows::rooms, "out"_a);
}
