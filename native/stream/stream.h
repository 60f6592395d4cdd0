// Linear classifiers that learn row by row: implicit steps (Kulis & Bartlett 2010) with the lengths of Pegasos
// (Shalev-Shwartz, Singer, Srebro & Cotter 2011), averaged with weights t^3 (Shamir & Zhang 2013).
//
// maxmargin/svm/streaming/learner.py has the mathematics. U and Z are (columns + 1, m): u and z of the m models, the
// intercept in the last line. `numbers`: rows, n, whether it grows, their weight, the same times that of their classes,
// s, T = sum t^3 s_t, sum t^3, sums of log |x|^2 and of log entries, and the rows that have any.
#pragma once
#include "design/design.h"

enum StreamNumber { ROWS, SIZE, GROWS, WEIGHT, WEIGHTED, SCALE, LATE, TOTAL, SQUARES, ENTRIES, MEASURED, STREAM_NUMBERS };

struct StreamState {
  int64_t columns, models, classes;
  double C, scaling2;        // scaling2: s^2 of a penalised intercept
  bool squared, free, balanced;
  double *factor, *totals;   // per class: its weight in the loss, and the weight met
  double *U, *Z, *numbers;
  double *values, *move;     // scratch, per model
  int64_t* which;
};

struct StreamTable {
  // Learn from the rows from start to stop.
  void (*learn)(const StreamState& S, const RowsView& X, const int64_t* codes, const double* weights, int64_t start,
                int64_t stop);
  // (T u - z) / total of the first `models` models: coef is (models, columns)
  void (*averages)(const StreamState& S, double late, double total, int64_t models, double* coef);
};
LEVEL_TABLE(StreamTable, stream_table)
