#include "batch/batch.h"

#include "batch/problem.h"

namespace LEVEL {
namespace batch_code {

void pack(const Batch* s, int64_t segment) {
  if (s->twice)
    pack_segment<double>(*s, segment);
  else
    pack_segment<float>(*s, segment);
}

bool pack_integers(const Batch* s, int64_t segment) { return pack_integers_of_segment(*s, segment); }
void pack_bytes(const Batch* s, const int32_t* two_bytes, int64_t segment) {
  pack_bytes_of_segment(*s, two_bytes, segment);
}

void products(const Batch* s, int64_t a, int64_t first_row, int64_t last_row, int64_t first, int64_t last,
              double* sums) {
  sparse_products(*s, a, first_row, last_row, first, last, sums);
}

void finish(const Batch* s, int64_t a, int64_t b, Arena* arena) {
  for_kind(s->points.form.kind, [&](auto kind) {
    if (s->twice)
      finish_block<double, kind>(*s, a, b, arena);
    else
      finish_block<float, kind>(*s, a, b, arena);
  });
}

int64_t step_limit(const Batch& s, const Layout& layout) {
  return minimum(s.problems.max_steps, CREEP_STEPS + CREEP_STEPS_PER_VARIABLE * layout.size);
}

// Pair steps on `rows` from where z is.
template <class T, class Rows>
Ended solve_with(State<T>& z, Rows& rows, double goal, int64_t limit, const Stop* stop, int64_t& steps) {
  z.sum_rows(rows);
  if (z.s.source != STORED && ones(z.s.points.form.kind)) return z.template descend_to<true>(goal, rows, limit, stop, steps);
  return z.template descend_to<false>(goal, rows, limit, stop, steps);
}

template <class T>
Ended solve_blocks(State<T>& z, double goal, const Stop* stop, int64_t& steps, Arena* arena) {
  const Batch& s = z.s;
  const Segments& g = s.segments;
  const int64_t i = z.layout.segment[0], j = z.layout.segment[1], wide[2] = {z.layout.padded[0], z.layout.padded[1]};
  const T* own = block_of<T>(s.blocks, g.count, i, i);
  BlockRows<T> rows{{{own, nullptr}, {nullptr, nullptr}}, {wide[0], wide[1]}, z.layout.twins};
  if (z.x.runs == 2 && !z.layout.twins) {
    const T* cross = block_of<T>(s.blocks, g.count, i, j);
    T* back = take<T>(arena, wide[1] * wide[0]);
    transposed(cross, rows_in(g, i), rows_in(g, j), wide[1], back, wide[0]);
    rows.block[0][1] = cross, rows.block[1][0] = back, rows.block[1][1] = block_of<T>(s.blocks, g.count, j, j);
  }
  if (s.points.indptr || ones(s.points.form.kind))
    for (int64_t v = 0; v < z.layout.size; v++) z.x.diagonal[v] = z.layout.real(v) ? rows(v, z.layout.run(v))[v] : T(0);
  return solve_with<T>(z, rows, goal, step_limit(s, z.layout), stop, steps);
}

template <class T> void solve_stored(const Batch& s, const Layout& layout, int64_t p, const Stop* stop, Arena* arena) {
  State<T> z(s, layout, p, arena);
  const T* none[2] = {nullptr, nullptr};
  auto rows = made_rows<T>(z, none, none, false, arena);
  for (int64_t v = 0; v < layout.size; v++) {
    const int64_t at = layout.real(v) ? layout.row(v) * (s.points.stride + 1) : -1;
    z.x.diagonal[v] = at < 0 ? T(0) : s.points.stored64 ? T(s.points.stored64[at]) : T(s.points.stored32[at]);
  }
  int64_t steps = 0;
  const Ended ended = solve_with<T>(z, rows, s.problems.tol, step_limit(s, layout), stop, steps);
  publish(z, ended, steps, 0);
}

// Points packed for one problem in float64, where the batch's panels are float32.
void solve_exactly(const Batch& s, const Layout& layout, State<float>& from, int64_t evaluations, const Stop* stop,
                   int64_t steps, Arena* arena) {
  const double *panels[2] = {}, *v[2] = {};
  for (int k = 0; k < layout.runs; k++) {
    if (k == 1 && layout.twins) {
      panels[1] = panels[0], v[1] = v[0];
      break;
    }
    double* to = take<double>(arena, layout.padded[k] * s.points.d);
    double* to_v = take<double>(arena, layout.padded[k]);
    pack_rows<double>(s.points, s.segments.order + s.segments.start[layout.segment[k]],
                      rows_in(s.segments, layout.segment[k]), layout.padded[k], to, to_v);
    panels[k] = to, v[k] = to_v;
  }
  State<double> z(s, layout, from.problem, arena);
  for (int64_t t = 0; t < layout.size; t++) z.x.a[t] = from.x.a[t];
  if (!ones(s.points.form.kind)) diagonal_of<double>(s, layout, panels, v, z.x.diagonal);
  auto rows = made_rows<double>(z, panels, v, false, arena);
  const int64_t limit = minimum(s.problems.max_steps, steps + step_limit(s, layout));
  const Ended ended = solve_with<double>(z, rows, s.problems.tol, limit, stop, steps);
  publish(z, ended, steps, evaluations + rows.made);
}

template <class T>
void solve_tiles(const Batch& s, const Layout& layout, int64_t p, const Stop* stop, Arena* arena) {
  const T *panels[2] = {}, *v[2] = {};
  for (int k = 0; k < layout.runs; k++) {
    const int64_t slot = s.segments.slot[layout.segment[k]];
    if (panels_of<T>(s.packed))  // not those of a lattice
      panels[k] = panels_of<T>(s.packed) + slot * s.points.d, v[k] = v_of<T>(s.packed) + slot;
  }
  State<T> z(s, layout, p, arena);
  const size_t before = arena->used;
  // Panels of CSR points hold only some of the columns: their diagonal is that of blocks. Dense points have the same
  // one with and without blocks, for any number of threads.
  if (!s.points.indptr && !ones(s.points.form.kind)) diagonal_of<T>(s, layout, panels, v, z.x.diagonal);
  const bool twice = sizeof(T) == sizeof(double);
  const double goal = twice ? s.problems.tol : maximum(s.problems.tol, FLOAT32_LEAST_GOAL);
  int64_t steps = 0, evaluations = 0;
  Ended ended;
  if (s.source == BLOCKS) {
    ended = solve_blocks<T>(z, goal, stop, steps, arena);
  } else {
    auto rows = made_rows<T>(z, panels, v, s.shared.own != nullptr, arena);
    ended = solve_with<T>(z, rows, goal, step_limit(s, layout), stop, steps);
    evaluations = rows.made;
  }
  arena->used = before;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (ended != ASKED && ended != TRIED && !s.points.indptr) {
      refine_deciding_rows(z, arena);
      double rise[2], fall[2];
      if (z.conditions(rise, fall) > s.problems.tol && steps < s.problems.max_steps && !stop_asked(stop))
        return solve_exactly(s, layout, z, evaluations, stop, steps, arena);
    }
  }
  publish(z, ended, steps, evaluations);
}

void solve(const Batch* s, int64_t p, const Stop* stop, Arena* arena) {
  arena->used = 0;
  const Layout layout(*s, p);
  if (stop_asked(stop)) {  // where the start is zero, so is f
    State<double> z(*s, layout, p, arena);
    publish(z, ASKED, 0, 0);
    s->results.status[p] = NOT_BEGUN;
    return;
  }
  if (s->source == STORED) return solve_stored<double>(*s, layout, p, stop, arena);
  if (s->twice)
    solve_tiles<double>(*s, layout, p, stop, arena);
  else
    solve_tiles<float>(*s, layout, p, stop, arena);
}

size_t arena_bytes(const Batch* s, int64_t slots) {
  const size_t n = size_t(slots), d = size_t(s->source == STORED ? 0 : s->points.indptr ? s->packed.columns : s->points.d);
  const double all_rows = double(n + 2 * MADE_ROWS_MAX) * double(n) * 8, few_rows = double(n) * 8 * 2 * MADE_ROWS_MAX;
  const size_t rows = size_t(maximum(few_rows, minimum(all_rows, s->row_bytes)));
  size_t bytes = (size_t(1) << 16) + n * 400 + (MADE_ROWS_MAX + WIDTH<double>) * (d + 16) * 16;
  if (s->source != BLOCKS || !s->points.indptr) bytes += rows + 64 * n;
  if (s->source == BLOCKS) bytes += n * n * 2 + 4096;  // a transposed block: at most a quarter of n^2 values
  if (!s->twice && !s->points.indptr) bytes += 2 * n * (d + 16) * 8;
  return bytes;
}

}  // namespace batch_code

const BatchTable batch_table = {batch_code::WIDTH<float>,      batch_code::WIDTH<double>, batch_code::pack,
                                batch_code::INTEGER_TILES,     batch_code::BYTE_TILES,    batch_code::pack_integers,
                                batch_code::pack_bytes,        batch_code::products,      batch_code::finish,
                                batch_code::solve,             batch_code::arena_bytes};

}  // namespace LEVEL
