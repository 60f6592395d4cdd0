#include "lanes/lanes.h"

#include <vector>

#include "bindings/linear_rows.h"

using nb::literals::operator""_a;
using border::Input;
using border::Output;

template <class W> constexpr int64_t LINE = 64 / int64_t(sizeof(W));

template <class W, class Array> auto lines(const Array& array, int64_t length, const char* what) {
  border::check_length(array, 0, length, what);
  border::check_length(array, 1, LINE<W>, "lanes");
  return array.data;
}

// Problems side by side; W is the precision of their weights. One thread at a time may use it.
template <class W> class Lanes {
 public:
  Lanes(const LinearRows& X, nb::handle lane, nb::handle squares, nb::handle bound, nb::handle own, nb::handle awake,
        nb::handle A, nb::handle weights, nb::handle b, nb::handle total)
      : lane_(lane, "lane"), squares_(squares, "squares"), bound_(bound, "bound"), own_(own, "own"), awake_(awake, "awake"),
        A_(A, "A"), weights_(weights, "weights"), b_(b, "b"), total_(total, "total"), quiet_(size_t(X.view.rows)) {
    if (!X.sparse()) border::refuse_type("X must have CSR rows, got dense ones");
    const int64_t n = X.view.rows;
    const auto lanes = lane_.array<int64_t, 1>();
    border::check_length(lanes, 0, n, "rows of X");
    state.X = X.view;
    state.lane = lanes.data;
    state.squares = checked(squares_.array<W, 1>(), n, "rows of X");
    state.bound = checked(bound_.array<W, 1>(), n, "rows of X");
    state.own = checked(own_.array<W, 1>(), LINE<W>, "lanes");
    state.awake = checked(awake_.array<W, 1>(), LINE<W>, "lanes");
    state.b = checked(b_.array<W, 1>(), LINE<W>, "lanes");
    state.total = checked(total_.array<W, 1>(), LINE<W>, "lanes");
    state.A = lines<W>(A_.array<W, 2>(), n, "rows of X");
    state.weights = lines<W>(weights_.array<W, 2>(), X.view.columns, "columns of X");
    state.quiet = quiet_.data();
    state.quiet_limit = 3;
  }
  LanesState<W> state{};

  int64_t sweep(nb::handle order_, bool every) {
    const Input order(order_, "order");
    const auto rows = order.array<int64_t, 1>();
    border::check_indices(rows, state.X.rows, "rows of X");
    nb::gil_scoped_release released;
    return functions_of<W>(lanes_table()).sweep(state, rows.data, rows.shape[0], every);
  }
  static void bind(nb::module_& m, const char* name) {
    nb::class_<Lanes>(m, name)
        .def(nb::init<const LinearRows&, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle,
                      nb::handle, nb::handle>(),
             "X"_a, "lane"_a, "squares"_a, "bound"_a, "own"_a, "awake"_a, "A"_a, "weights"_a, "b"_a, "total"_a,
             nb::keep_alive<1, 2>())
        .def_prop_rw("rho", [](const Lanes& l) { return double(l.state.rho); }, [](Lanes& l, double x) { l.state.rho = W(x); })
        .def_prop_rw("squared", [](const Lanes& l) { return l.state.squared; }, [](Lanes& l, bool x) { l.state.squared = x; })
        .def_prop_rw("quiet_limit", [](const Lanes& l) { return l.state.quiet_limit; },
                     [](Lanes& l, int x) { l.state.quiet_limit = x; })
        .def("sweep", &Lanes::sweep, "order"_a, "every"_a);
  }

 private:
  template <class Array> static auto checked(const Array& array, int64_t length, const char* what) {
    border::check_length(array, 0, length, what);
    return array.data;
  }
  Input lane_, squares_, bound_, own_, awake_;
  Output A_, weights_, b_, total_;
  std::vector<int32_t> quiet_;
};

// ---- lines of a matrix, by the precision of the one that is given

static void check_sparse(const LinearRows& X) {
  if (!X.sparse()) border::refuse_type("X must have CSR rows, got dense ones");
}

static void line_values(const LinearRows& X, nb::handle weights_, int64_t start, int64_t stop, nb::handle out_) {
  const Input weights(weights_, "weights");
  const Output out(out_, "out");
  check_sparse(X);
  X.check_range(start, stop);
  border::for_real(weights, [&](auto zero) {
    using W = decltype(zero);
    const W* w = lines<W>(weights.array<W, 2>(), X.view.columns, "columns of X");
    W* o = lines<W>(out.array<W, 2>(), X.view.rows, "rows of X");
    nb::gil_scoped_release released;
    functions_of<W>(lanes_table()).values(X.view, w, start, stop, o);
  });
}
static void line_sums(const LinearRows& X, nb::handle factors_, int64_t start, int64_t stop, nb::handle out_) {
  const Input factors(factors_, "factors");
  const Output out(out_, "out");
  check_sparse(X);
  X.check_range(start, stop);
  border::for_real(factors, [&](auto zero) {
    using W = decltype(zero);
    const W* c = lines<W>(factors.array<W, 2>(), X.view.rows, "rows of X");
    W* o = lines<W>(out.array<W, 2>(), X.view.columns, "columns of X");
    nb::gil_scoped_release released;
    functions_of<W>(lanes_table()).sums(X.view, c, start, stop, o);
  });
}
static void line_squares(nb::handle weights_, nb::handle out_) {
  const Input weights(weights_, "weights");
  const Output out(out_, "out");
  border::for_real(weights, [&](auto zero) {
    using W = decltype(zero);
    const auto w = weights.array<W, 2>();
    border::check_length(w, 1, LINE<W>, "lanes");
    double* o = vector_of(out, LINE<W>, "lanes");
    nb::gil_scoped_release released;
    functions_of<W>(lanes_table()).squares(w.data, w.shape[0], o);
  });
}

void bind_lanes(nb::module_& m) {
  Lanes<float>::bind(m, "LanesSingle");
  Lanes<double>::bind(m, "LanesDouble");
  m.def("line_values", &line_values, "X"_a, "weights"_a, "start"_a, "stop"_a, "out"_a);
  m.def("line_sums", &line_sums, "X"_a, "factors"_a, "start"_a, "stop"_a, "out"_a);
  m.def("line_squares", &line_squares, "weights"_a, "out"_a);
}
