// The solutions of a dual problem without each of its folds, each reached from the solution of all rows.
//
// Let a be the solution of all rows of minimise 1/2 a'Qa + p'a, and g = Q a + p. A fold's solution is reached by
//
//     1. its variables are set to zero:   g -= a_t Q_t;
//     2. the sums of the groups are restored by the variables that most want to move that way, those of the largest
//        gradient if the sum must fall, of the smallest if it must rise;
//     3. pair steps (pair_steps.h). The fold's variables cannot move, but take part in every update of g.
//
// A group's offset is then the mean gradient of its free variables, or else the middle of what the others allow.
#pragma once
#include "core/levels.h"
#include "pair_steps/pair_steps.h"

constexpr int64_t FOLD_OF_PADDING = -2;  // the fold of slots that stand for no row; they never move

// One fold of a problem in slots. `pairs.a`, `rise` and `fall` are set; `pairs.g` is the gradient of `all` before.
template <class T> struct Fold {
  PairProblem<T> pairs;
  int64_t size;          // slots
  const double* all;     // the solution of all rows
  const int64_t* folds;  // of each slot
  int64_t fold;
  const double* totals;  // the sum of each group without the fold
  int64_t equalities;    // groups, or 0 where no equality ties the variables
};

template <class T> struct FoldsFunctions {
  void (*start)(const Fold<T>& fold);                        // 1 and 2
  void (*offsets)(const Fold<T>& fold, double* out);         // of each equality
};

// All folds of a small problem with one variable per row, whose kernel values are stored.
struct SmallFolds {
  const double* K;
  int64_t stride;
  const int64_t* at;  // rows of K that the problem's rows stand for
  const double *sign, *linear, *lower, *upper;
  const int64_t* group;
  int64_t variables, groups;
  bool in_place;  // Q is the first rows and columns of K, which has columns for whole slots, finite beyond Q
  const double *a, *f;
  const int64_t* folds;  // of each row; -1 is in every problem
  int64_t count;         // folds
  const double* totals;  // (count, groups)
  double goal;
  int64_t max_steps;
  double* values;   // K a of the solution without the row's fold, where it has one
  double* offsets;  // (count, groups)
};

struct SmallFoldsScratch {
  int64_t size;    // slots
  double* Q;       // size * q_stride where not in place
  int64_t q_stride;
  int64_t *slot;   // variables
  int64_t *starts, *stops;  // max(1, groups)
  int64_t* of_slot;         // size, as are all below
  double *all, *x, *low, *high, *gradient, *g, *rise, *fall, *diagonal;
};

struct FoldsTable {
  BothPrecisions<FoldsFunctions> one;
  // Folds from `first` on, until about max_operations values were touched; the fold to go on with.
  int64_t (*small)(const SmallFolds& folds, const SmallFoldsScratch& scratch, int64_t first, int64_t max_operations);
};
LEVEL_TABLE(FoldsTable, folds_table)
