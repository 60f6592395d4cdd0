// The extension module maxmargin._native: the level is chosen, then every idea adds its functions.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/cpu.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

// One line per idea, in alphabetical order, as in CMakeLists.txt.
#define EACH_IDEA(DO) \
  DO(active_set)      \
  DO(batch)           \
  DO(block_steps)     \
  DO(coefficients)    \
  DO(columns)         \
  DO(conditions)      \
  DO(coordinate_sums) \
  DO(coupling)        \
  DO(crammer_singer)  \
  DO(descent)         \
  DO(design)          \
  DO(folds)           \
  DO(interior)        \
  DO(lanes)           \
  DO(losses)          \
  DO(moments)         \
  DO(nearest)         \
  DO(one_vs_one)      \
  DO(pair_steps)      \
  DO(pair_sums)       \
  DO(path)            \
  DO(perceptron)      \
  DO(predictor)       \
  DO(row_hashes)      \
  DO(rows)            \
  DO(shapley)         \
  DO(sigmoid_fits)    \
  DO(small_dense)     \
  DO(small_linear)    \
  DO(smoothed_losses) \
  DO(sparse_products) \
  DO(stochastic)      \
  DO(stored_rows)     \
  DO(stream)          \
  DO(subsequences)    \
  DO(symmetric_entries) \
  DO(temperature)     \
  DO(tiles)           \
  DO(word_products)   \
  DO(working_set)     \
  /* end */

#define DECLARE_BINDING(idea) void bind_##idea(nb::module_& m);
#define CALL_BINDING(idea) bind_##idea(m);
EACH_IDEA(DECLARE_BINDING)

NB_MODULE(_native, m) {
  choose_level_at_import();
  m.def("cpu_level", &level_name, "Name of the instruction level in use.");
  m.def("available_levels", &available_levels, "Levels that this processor runs, lowest first.");
  m.def("_use_level", &use_level, "name"_a, "Use this level from now on, in the whole process; for tests.");
  EACH_IDEA(CALL_BINDING)
}
