// Memory and threads of a batch. Baseline code.
#pragma once
#include <functional>

#include "batch/batch.h"

namespace batch {

struct RunOptions {
  int threads;
  double budget;                    // bytes for kernel values
  std::function<bool()> stop_asked;  // called by the calling thread, about every 50 ms
};

// Fills the work fields of `batch` (padding, panels, blocks) and solves its problems.
void run(Batch& batch, const RunOptions& options);

}  // namespace batch
