#include "pair_steps/pair_steps.h"

#include "pair_steps/solve_pairs.h"

namespace LEVEL {

const PairStepsTable pair_steps_table = {{solve_pairs<float>}, {solve_pairs<double>}};

}  // namespace LEVEL
