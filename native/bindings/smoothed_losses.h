// Arguments that the bindings of losses share.
#pragma once
#include "core/border.h"
#include "smoothed_losses/smoothed_losses.h"

namespace border {

// (tube, squared, epsilon, width)
inline SmoothedLoss smoothed_loss(nb::handle loss) {
  if (!PyTuple_Check(loss.ptr()) || PyTuple_Size(loss.ptr()) != 4)
    refuse_type("loss must be a tuple (tube, squared, epsilon, width)");
  SmoothedLoss out;
  bool known = nb::try_cast(loss[0], out.tube) && nb::try_cast(loss[1], out.squared) &&
               nb::try_cast(loss[2], out.epsilon) && nb::try_cast(loss[3], out.width);
  if (!known) refuse_type("loss must be a tuple (tube, squared, epsilon, width) of two bools and two floats");
  return out;
}

// F, y, c and the centres of the same rows and outputs.
struct LossRowsInput {
  const Input y, c, centre;
  LossRowsInput(nb::handle y_, nb::handle c_, nb::handle centre_)
      : y(y_, "y"), c(c_, "c"), centre(centre_, "centre", OPTIONAL) {}

  template <class A> LossRows rows(const A& F) const {
    LossRows out{F.data, same(F, y), same(F, c), nullptr, F.shape[0], F.shape[1]};
    if (centre.given()) out.centre = same(F, centre);
    return out;
  }

 private:
  template <class A> static const double* same(const A& F, const Input& input) {
    const auto array = input.array<double, 2>();
    check_length(array, 0, F.shape[0], "rows of F");
    check_length(array, 1, F.shape[1], "outputs of F");
    return array.data;
  }
};

template <class A> Array<double, 2> output_like(const A& F, const Output& output) {
  const auto array = output.array<double, 2>();
  check_length(array, 0, F.shape[0], "rows of F");
  check_length(array, 1, F.shape[1], "outputs of F");
  return array;
}

inline Array<double, 2> loss_sums(const Output& sums, int64_t outputs) {
  const auto array = sums.array<double, 2>();
  check_length(array, 0, LOSS_SUMS, "sums");
  check_length(array, 1, outputs, "outputs of F");
  return array;
}

}  // namespace border
