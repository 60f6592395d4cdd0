#include "losses/losses.h"

#include "bindings/linear_rows.h"

using nb::literals::operator""_a;
using border::Input;
using border::Output;

// The losses of all rows as one checked object.
class RowLosses {
 public:
  RowLosses(nb::handle y, nb::handle above, nb::handle below, double eps, bool squared)
      : y_(y, "y"), above_(above, "above"), below_(below, "below") {
    const int64_t n = y_.array<double, 1>().shape[0];
    border::check_scalar(eps >= 0.0, "epsilon", "at least 0", eps);
    view = {vector_of(y_, n, ""), vector_of(above_, n, "entries of y"), vector_of(below_, n, "entries of y"), eps, squared, n};
  }
  LossesView view{};

  nb::tuple survey(nb::handle f_, double b, nb::handle beta_, double centre, double hard) const {
    const Input f(f_, "f"), beta(beta_, "beta", border::OPTIONAL);
    const double* values = vector_of(f, view.rows, "entries of y");
    const double* v = beta.given() ? vector_of(beta, view.rows, "entries of y") : nullptr;
    Survey s;
    {
      nb::gil_scoped_release released;
      s = losses_table().survey(view, values, b, v, centre, hard);
    }
    return nb::make_tuple(s.losses, s.support, s.linear_up, s.linear_down, s.square_up, s.square_down, s.total_up,
                          s.total_down);
  }
  void derivative(nb::handle f_, double b, nb::handle beta_, nb::handle theta_) const {
    const Input f(f_, "f");
    const Output beta(beta_, "beta"), theta(theta_, "theta", border::OPTIONAL);
    const double* values = vector_of(f, view.rows, "entries of y");
    double* first = vector_of(beta, view.rows, "entries of y");
    double* second = theta.given() ? vector_of(theta, view.rows, "entries of y") : nullptr;
    nb::gil_scoped_release released;
    losses_table().derivative(view, values, b, first, second);
  }
  nb::tuple slope(nb::handle r_, nb::handle u_, double t) const {
    const Input r(r_, "r"), u(u_, "u", border::OPTIONAL);
    const double* residuals = vector_of(r, view.rows, "entries of y");
    const double* along = u.given() ? vector_of(u, view.rows, "entries of y") : nullptr;
    double first, second;
    {
      nb::gil_scoped_release released;
      losses_table().slope(view, residuals, along, t, &first, &second);
    }
    return nb::make_tuple(first, second);
  }
  int64_t after_step(nb::handle r_, nb::handle beta_, double hard, nb::handle out_) const {
    const Input r(r_, "r"), beta(beta_, "beta");
    const Output out(out_, "out");
    const double* residuals = vector_of(r, view.rows, "entries of y");
    const double* v = vector_of(beta, view.rows, "entries of y");
    double* moved = vector_of(out, view.rows, "entries of y");
    nb::gil_scoped_release released;
    return losses_table().after_step(view, residuals, v, hard, moved);
  }

 private:
  Input y_, above_, below_;
};

void bind_losses(nb::module_& m) {
  nb::class_<RowLosses>(m, "RowLosses")
      .def(nb::init<nb::handle, nb::handle, nb::handle, double, bool>(), "y"_a, "above"_a, "below"_a, "epsilon"_a, "squared"_a)
      .def("survey", &RowLosses::survey, "f"_a, "b"_a, "beta"_a.none(), "centre"_a, "hard"_a)
      .def("derivative", &RowLosses::derivative, "f"_a, "b"_a, "beta"_a, "theta"_a.none())
      .def("slope", &RowLosses::slope, "r"_a, "u"_a.none(), "t"_a)
      .def("after_step", &RowLosses::after_step, "r"_a, "beta"_a, "hard"_a, "out"_a);
}
