#include "bindings/smoothed_losses.h"

#include <nanobind/stl/pair.h>

using nb::literals::operator""_a;

static int64_t loss_first_order(nb::handle loss_, nb::handle F_, nb::handle y_, nb::handle c_, nb::handle centre_,
                                nb::handle g_, nb::handle sums_) {
  const SmoothedLoss loss = border::smoothed_loss(loss_);
  const border::Input F(F_, "F");
  const border::LossRowsInput given(y_, c_, centre_);
  const border::Output g(g_, "g"), sums(sums_, "sums");
  const auto f = F.array<double, 2>();
  const LossRows rows = given.rows(f);
  double *slopes = border::output_like(f, g).data, *totals = border::loss_sums(sums, f.shape[1]).data;
  nb::gil_scoped_release released;
  return smoothed_losses_table().first_order(loss, rows, slopes, totals);
}

static void loss_second_order(nb::handle loss_, nb::handle F_, nb::handle y_, nb::handle c_, nb::handle centre_,
                              nb::handle D_) {
  const SmoothedLoss loss = border::smoothed_loss(loss_);
  const border::Input F(F_, "F");
  const border::LossRowsInput given(y_, c_, centre_);
  const border::Output D(D_, "D");
  const auto f = F.array<double, 2>();
  const LossRows rows = given.rows(f);
  double* out = border::output_like(f, D).data;
  nb::gil_scoped_release released;
  smoothed_losses_table().second_order(loss, rows, out);
}

static void loss_multipliers(nb::handle loss_, nb::handle F_, nb::handle y_, nb::handle centre_, nb::handle a_) {
  const SmoothedLoss loss = border::smoothed_loss(loss_);
  const border::Input F(F_, "F");
  const border::LossRowsInput given(y_, y_, centre_);
  const border::Output a(a_, "a");
  const auto f = F.array<double, 2>();
  const LossRows rows = given.rows(f);
  double* out = border::output_like(f, a).data;
  nb::gil_scoped_release released;
  smoothed_losses_table().multipliers(loss, rows, out);
}

static void loss_along_line(nb::handle loss_, nb::handle F_, nb::handle G_, nb::handle y_, nb::handle c_,
                            nb::handle centre_, nb::handle steps_, nb::handle values_, nb::handle slopes_) {
  const SmoothedLoss loss = border::smoothed_loss(loss_);
  const border::Input F(F_, "F"), G(G_, "G"), steps(steps_, "steps");
  const border::LossRowsInput given(y_, c_, centre_);
  const border::Output values(values_, "values"), slopes(slopes_, "slopes");
  const auto f = F.array<double, 2>(), g = G.array<double, 2>(), t = steps.array<double, 2>();
  const LossRows rows = given.rows(f);
  border::check_length(g, 0, f.shape[0], "rows of F");
  border::check_length(g, 1, f.shape[1], "outputs of F");
  border::check_length(t, 1, f.shape[1], "outputs of F");
  const LossLine line{g.data, t.data, t.shape[0], border::output_like(t, values).data,
                      border::output_like(t, slopes).data};
  nb::gil_scoped_release released;
  smoothed_losses_table().along_line(loss, rows, line);
}

static std::pair<int64_t, int64_t> hinge_changes(nb::handle F_, nb::handle y_, nb::handle c_, int64_t output,
                                                 nb::handle inside_, nb::handle change_) {
  const border::Input F(F_, "F");
  const border::LossRowsInput given(y_, c_, nb::none());
  const border::Output inside(inside_, "inside"), change(change_, "change");
  const auto f = F.array<double, 2>();
  const auto in = inside.array<bool, 1>();
  const auto out = change.array<double, 1>();
  const LossRows rows = given.rows(f);
  border::check_scalar(0 <= output && output < f.shape[1], "output", "a column of F", double(output));
  border::check_length(in, 0, f.shape[0], "rows of F");
  border::check_length(out, 0, f.shape[0], "rows of F");
  int64_t changed, count;
  nb::gil_scoped_release released;
  smoothed_losses_table().hinge_changes(rows, {output, in.data, out.data}, &changed, &count);
  return {changed, count};
}

void bind_smoothed_losses(nb::module_& m) {
  m.attr("LOSS_SUMS") = int(LOSS_SUMS);
  m.def("loss_first_order", &loss_first_order, "loss"_a, "F"_a, "y"_a, "c"_a, "centre"_a.none(), "g"_a, "sums"_a);
  m.def("loss_second_order", &loss_second_order, "loss"_a, "F"_a, "y"_a, "c"_a, "centre"_a.none(), "D"_a);
  m.def("loss_multipliers", &loss_multipliers, "loss"_a, "F"_a, "y"_a, "centre"_a.none(), "a"_a);
  m.def("loss_along_line", &loss_along_line, "loss"_a, "F"_a, "G"_a, "y"_a, "c"_a, "centre"_a.none(), "steps"_a,
        "values"_a, "slopes"_a);
  m.def("hinge_changes", &hinge_changes, "F"_a, "y"_a, "c"_a, "output"_a, "inside"_a, "change"_a);
}
