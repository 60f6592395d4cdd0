// Blocks of rows, output by output: a block's values are packed side by side once, and every step of a line passes them.
#include "smoothed_losses/smoothed_losses.h"

#include "smoothed_losses/block.h"

namespace LEVEL {

int64_t first_order(const SmoothedLoss& loss, const LossRows& rows, double* g, double* sums) {
  int64_t support = 0;
  for_family(loss, [&](auto family) {
    for (int64_t start = 0; start < rows.rows; start += BLOCK_ROWS)
      support += first_order_of_block<family>(loss, rows, start, g, sums);
  });
  return support;
}

// out = f(block, i), a vector, for all rows and outputs; nothing is summed, so all outputs are passed as one
template <int FAMILY, class F> INLINE void each_block(const LossRows& rows, double* out, F&& f) {
  Block block;
  alignas(64) double values[BLOCK_ROWS];
  const LossRows flat{rows.F, rows.y, rows.c, rows.centre, rows.rows * rows.outputs, 1};
  for (int64_t start = 0; start < flat.rows; start += BLOCK_ROWS) {
    block.pack<FAMILY>(flat, start, 0);
    for (int64_t i = 0; i < block.count; i += LOSS_LANES) store(values + i, Vec<double>(f(block, i)));
    unpack(values, block.count, out + start, 1);
  }
}

void second_order(const SmoothedLoss& loss, const LossRows& rows, double* D) {
  const Rounding r(loss);
  for_family(loss, [&](auto family) {
    each_block<family>(rows, D, [&](const Block& block, int64_t i) {
      return load(block.c + i) * block.values<family>(r, i).curvature;
    });
  });
}

void multipliers(const SmoothedLoss& loss, const LossRows& rows, double* a) {
  const Rounding r(loss);
  for_family(loss, [&](auto family) {
    each_block<family>(rows, a, [&](const Block& block, int64_t i) { return block.values<family>(r, i).a; });
  });
}

template <int FAMILY>
INLINE void along_line_of(const SmoothedLoss& loss, const LossRows& rows, const LossLine& line) {
  const Rounding r(loss);
  const int64_t k = rows.outputs;
  Block block;
  alignas(64) double u[BLOCK_ROWS];
  for (int64_t start = 0; start < rows.rows; start += BLOCK_ROWS)
    for (int64_t output = 0; output < k; output++) {
      block.pack<FAMILY>(rows, start, output);
      const double* G = line.G + start * k + output;
      for (int64_t i = 0; i < BLOCK_ROWS; i++)
        u[i] = i < block.count ? (FAMILY >= TUBE ? G[i * k] : block.y[i] * G[i * k]) : 0.0;
      for (int64_t q = 0; q < line.count; q++) {
        const Vec<double> t = splat(line.steps[q * k + output]);
        Vec<double> value = {}, slope = {};
        for (int64_t i = 0; i < block.count; i += LOSS_LANES) {
          const Vec<double> x = load(block.x + i) - t * load(u + i), c = load(block.c + i);
          const LossValues at = values_at<FAMILY>(x, r, load(block.up + i), load(block.down + i));
          value += c * at.smooth;
          slope += c * at.a * load(u + i);
        }
        line.values[q * k + output] += sum_of<double>(value);
        line.slopes[q * k + output] -= sum_of<double>(slope);
      }
    }
}

void along_line(const SmoothedLoss& loss, const LossRows& rows, const LossLine& line) {
  for_family(loss, [&](auto family) { along_line_of<family>(loss, rows, line); });
}

void hinge_changes(const LossRows& rows, const HingeChange& to, int64_t* changed, int64_t* count) {
  *changed = *count = 0;
  for (int64_t i = 0; i < rows.rows; i++) {
    const int64_t at = i * rows.outputs + to.output;
    const bool now = (rows.y[at] * rows.F[at] < 1.0) & (rows.c[at] > 0.0), moved = now != to.inside[i];
    to.change[i] = moved ? (now ? 2.0 : -2.0) * rows.c[at] : 0.0;
    to.inside[i] = now;
    *changed += moved;
    *count += now;
  }
}

const SmoothedLossesTable smoothed_losses_table = {first_order, second_order, multipliers, along_line, hinge_changes};

}  // namespace LEVEL
