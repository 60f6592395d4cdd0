// Many small support vector problems over the same points, solved in one call.
//
// A problem is the dual of maxmargin/problems/dual.py with all signs one,
//
//     minimise 1/2 a'K a + p'a    subject to   lower <= a <= upper,   sum of a fixed (in each run, or over all runs),
//
// and its optimality is m(a) - M(a) <= tol (Fan, Chen and Lin 2005): the largest gradient of a variable that may fall
// minus the smallest of one that may rise. Points lie in segments (a class, a side of the problem, all rows); a problem
// has one or two runs, each a segment:
//
//     C-SVC                one run (all rows) or two (classes i and j), one equality over all variables
//     one-class, quantile  one run, one equality
//     nu-SVC               two runs, an equality in each
//     epsilon-SVR          two runs over the same segment (alpha, alpha*), one equality;  nu-SVR: an equality in each
//
// Folds are problems whose held-out rows have lower = upper = 0: f of all rows comes back. No sum crosses a problem,
// and a problem is solved by one thread: the same bits for any number of threads.
#pragma once
#include <stddef.h>

#include "core/levels.h"

namespace batch {

// ---- kernels as the tiles know them: value = function(u + v + a'b) of scaled points a = root (x - shift)
enum Kind : int32_t { EXP2, POWER, TANH, DECAY };

struct Form {
  int32_t kind, degree;
  double root, bias;  // bias is u of every row, unless norms
  bool norms;         // u = v = -|a|^2 / 2
};

// ---- where kernel values come from
enum Source : int32_t {
  TILES,   // dense points, rows of K on demand
  BLOCKS,  // K of pairs of segments, computed before (CSR points, or problems that share all of K)
  STORED,  // a kernel matrix given by the caller
};

struct Points {
  int64_t n, d;
  const double* dense64;  // (n, d), or
  const float* dense32;
  const int64_t* indptr;  // CSR, or
  const int32_t* indices;
  const double* data;
  const double* stored64;  // (n, >= n) with rows of `stride` values
  const float* stored32;
  int64_t stride;
  const double* shift;  // subtracted from dense points, or null
  Form form;
};

// ---- points by segments: segment s has `padded[s]` slots, whole panels, the first of which are its rows
struct Segments {
  int64_t count, slots;
  const int64_t* order;   // rows, segment after segment
  const int64_t* start;   // count + 1
  const int64_t* padded;  // slots of each segment
  const int64_t* slot;    // its first slot
};

// Packed points, scaled: panels of `columns` x WIDTH values, and v of each slot. One precision is used.
struct Packed {
  int64_t columns;  // all of a dense matrix; of CSR points the columns that are nearly dense
  float *panels32, *v32;
  double *panels64, *v64;
};

// Dense points on a lattice (batch/lattice.h), in place of float32 panels where all points are on it: panels of
// pairs of columns, and |k|^2 of each slot.
struct Lattice {
  double step;     // 0: there is none
  int64_t origin;  // the row whose coordinates are the offsets
};
struct Integers {
  Lattice lattice;
  int32_t* panels;            // cells of two or four integers; null where float32 panels are used
  int32_t* norms;
  int16_t *least, *largest;   // (segments, columns): of each column's integers
  bool bytes;                 // cells of four
};

// CSR points by columns: entries of the columns that are not in the panels, in order of slots.
struct Columns {
  const int32_t* place;  // of each column: its place in the panels, or -1
  const int64_t* start;
  const int32_t* slot;
  const double* value;  // scaled
};

// Blocks of K: own[s] is K of segment s with itself; cross[a * count + b], a < b, while stage(a) is in memory.
struct Blocks {
  float **own32, **cross32;
  double **own64, **cross64;
};

// K of each segment with itself, row by row as problems need it, for all problems.
enum SharedRow : uint8_t { SHARED_MISSING, SHARED_CLAIMED, SHARED_READY };
struct SharedRows {
  void** own;      // float or double, as the panels; null where nothing is shared
  uint8_t* state;  // of each slot
  void (*yield)();
};

enum Rule : int32_t { C_SVC, NU_SVC, EPS_SVR, NU_SVR, ONE_CLASS, QUANTILE };
enum Status : int8_t { OPTIMAL, CREEPS, MAX_STEPS, STOPPED, NOT_BEGUN, GIVEN_UP };

struct Problems {
  int64_t count;
  Rule rule;
  bool joined;  // one equality over both runs
  double tol, epsilon;
  int64_t max_steps;
  // A trial, if check_step > 0: it is given up after max_steps, or after check_step steps if more than most_entering
  // variables became nonzero in the last TRIAL_WINDOW_STEPS of them. Support vectors are then still coming in. If it
  // goes_on, the batch then starts again from there, where blocks_follow with all of K in blocks.
  int64_t check_step, most_entering;
  bool goes_on, blocks_follow;
  const int64_t* segments;  // (count, 2): the second is -1 where there is one run
  const int64_t* at;        // count + 1: the variables of a problem in the arrays below, run after run
  const double *linear, *lower, *upper;
  const double* target;  // y of each variable's row
  const double* totals;  // (count, 2): the sum of the variables of each equality
  double *a, *f;
  const double* begun;  // variables whose values K begun are in f at first, or null where f is nothing yet
};

// What comes back of each problem; offset has two entries, one per run where each has its equality.
struct Results {
  double *offset, *violation, *primal, *dual, *stationarity, *outside, *complementarity, *norm;
  int64_t *steps, *evaluations, *support;
  int8_t* status;
};

// Asked for between pieces of work of about a millisecond: `poll` (of the calling thread only) or the flag.
struct Stop {
  const int* flag;
  int (*poll)(void* context);
  void* context;
};

struct Arena {
  char* base;
  size_t size, used;
};

struct Batch {
  Points points;
  Segments segments;
  Packed packed;
  Integers integers;
  Columns columns;
  Blocks blocks;
  SharedRows shared;
  Problems problems;
  Results results;
  Source source;
  bool twice;             // float64 from the beginning
  int64_t rows_at_once;   // rows of K made at a time
  double row_bytes;       // for rows of K that one thread keeps
};

}  // namespace batch

struct BatchTable {
  int panel_width32, panel_width64;
  void (*pack)(const batch::Batch*, int64_t segment);
  bool integer_tiles;  // whether the level has them
  bool byte_tiles;     // the same for cells of bytes
  bool (*pack_integers)(const batch::Batch*, int64_t segment);  // false where a point is not on the lattice
  // From two-byte cells; `least` is then that of all segments.
  void (*pack_bytes)(const batch::Batch*, const int32_t* two_bytes, int64_t segment);
  // BLOCKS of CSR points: some rows of segment a with segments first..last; then the kernel's function on K of a and b.
  void (*sparse_products)(const batch::Batch*, int64_t a, int64_t first_row, int64_t last_row, int64_t first,
                          int64_t last, double* sums);
  void (*finish_block)(const batch::Batch*, int64_t a, int64_t b, batch::Arena*);
  void (*solve)(const batch::Batch*, int64_t problem, const batch::Stop*, batch::Arena*);
  size_t (*arena_bytes)(const batch::Batch*, int64_t slots);  // for problems of so many slots
};
LEVEL_TABLE(BatchTable, batch_table)
