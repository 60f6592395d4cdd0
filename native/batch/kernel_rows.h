// Rows of K for pair steps: read from blocks, or made on demand and kept as long as the memory allows.
#pragma once
#include "batch/integer_tile.h"
#include "batch/steps.h"

namespace LEVEL::batch_code {

// A problem's variables in slots: run 0, then run 1. Twins (regression) have two variables per row: run 1 has the same
// rows as run 0, and a row of K has the slots of one segment only.
struct Layout {
  int64_t segment[2], padded[2], size, kernel_size;
  int runs;
  bool twins;
  const Segments& g;

  Layout(const Batch& s, int64_t problem) : g(s.segments) {
    segment[0] = s.problems.segments[2 * problem], segment[1] = s.problems.segments[2 * problem + 1];
    runs = segment[1] < 0 ? 1 : 2;
    twins = segment[1] == segment[0];
    padded[0] = g.padded[segment[0]], padded[1] = runs == 2 ? g.padded[segment[1]] : 0;
    size = padded[0] + padded[1];
    kernel_size = twins ? padded[0] : size;
  }
  INLINE int run(int64_t v) const { return v >= padded[0]; }
  INLINE int64_t local(int64_t v) const { return v - (run(v) ? padded[0] : 0); }
  INLINE bool real(int64_t v) const { return local(v) < rows_in(g, segment[run(v)]); }
  INLINE int64_t row(int64_t v) const { return g.order[g.start[segment[run(v)]] + local(v)]; }
  INLINE int64_t kernel_slot(int64_t v) const { return twins && v >= padded[0] ? v - padded[0] : v; }
};

// K in blocks: [run of the row][run of the columns].
template <class T> struct BlockRows {
  const T* block[2][2];
  int64_t padded[2];
  bool twins;
  int64_t made = 0;

  INLINE const T* operator()(int64_t v, int run) const {
    if (twins) return block[0][0] + (v >= padded[0] ? v - padded[0] : v) * padded[0] - (run ? padded[0] : 0);
    const int own = v >= padded[0];
    return block[own][run] + (v - (own ? padded[0] : 0)) * padded[run] - (run ? padded[0] : 0);
  }
  INLINE int64_t take_work() { return 0; }
};

constexpr int MADE_ROWS_MAX = 24;  // at a time

// Points laid out one after the other, and their kernel values with the panels of run k: from floating-point panels, or
// from those of a lattice.
template <class T> struct RealPoints {
  const Form& form;
  int64_t d;
  const T *const *panels, *const *v;
  T* points;
  T u[MADE_ROWS_MAX];

  INLINE void lay_out(int64_t t, int run, int64_t local) {
    unpack(panels[run], d, local, points + t * d);
    u[t] = u_of<T>(form, v[run][local]);
  }
  template <int KIND> INLINE void strip_values(int64_t t, int k, int64_t p, T* out) const {
    strip<T, KIND>(points + t * d, u[t], panels[k] + p * d, v[k] + p, d, form.degree, out);
  }
  template <int KIND, int ROWS, class Use> INLINE void tile_values(const int64_t* t, int k, int64_t p, Use use) const {
    const T* rows[ROWS];
    T shift[ROWS];
    for (int r = 0; r < ROWS; r++) rows[r] = points + t[r] * d, shift[r] = u[t[r]];
    tile<T, KIND, ROWS>(rows, shift, panels[k] + p * d, v[k] + p, d, form.degree, static_cast<const T*>(nullptr), use);
  }
};

template <bool BYTES> struct IntegerPoints {
  int64_t cells;
  float scale;
  const int32_t *panels[2], *norms[2];
  int32_t* points;
  int32_t own[MADE_ROWS_MAX];

  IntegerPoints(const Batch& s, const Layout& layout, void* memory) : cells(cells_of(s.points.d, BYTES)) {
    const double unit = s.points.form.root * s.integers.lattice.step;
    scale = float(0.5 * unit * unit), points = static_cast<int32_t*>(memory);
    for (int k = 0; k < layout.runs; k++) {
      const int64_t slot = s.segments.slot[layout.segment[k]];
      panels[k] = s.integers.panels + slot * cells, norms[k] = s.integers.norms + slot;
    }
  }
  INLINE void lay_out(int64_t t, int run, int64_t local) {
    own[t] = unpack_integers<BYTES>(panels[run], norms[run][local], cells, local, points + t * cells);
  }
  template <int KIND> INLINE void strip_values(int64_t t, int k, int64_t p, float* out) const {
    integer_strip<KIND, BYTES>(points + t * cells, own[t], panels[k] + p * cells, norms[k] + p, cells, scale, out);
  }
  template <int KIND, int ROWS, class Use> INLINE void tile_values(const int64_t* t, int k, int64_t p, Use use) const {
    const int32_t* rows[ROWS];
    int32_t norm[ROWS];
    for (int r = 0; r < ROWS; r++) rows[r] = points + t[r] * cells, norm[r] = own[t[r]];
    integer_tile<KIND, BYTES, ROWS>(rows, norm, panels[k] + p * cells, norms[k] + p, cells, scale, use);
  }
};

// Rows made when they are needed: the one asked for, and with it the worst violators that have none, a tile at a time.
// Where segments are shared, K of a row with its own segment is made once for all problems, by whichever thread needs it
// first, and only the rest of the row is the problem's own.
template <class T> struct MadeRows {
  const Batch& s;
  const Layout& layout;
  const Variables<T>& x;
  const T *panels[2], *v[2];  // of each run's segment; null for a stored matrix
  int64_t at_once, width, capacity, next, made, work;
  T *memory, *points;
  T** of;          // own memory's row of each kernel slot, or null
  int64_t* owner;  // kernel slot of each place in memory, or -1
  int64_t recent[2];
  bool shared;

  INLINE const T* operator()(int64_t variable, int run) {
    const int64_t slot = layout.kernel_slot(variable);
    if (slot != recent[0]) recent[1] = recent[0], recent[0] = slot;
    if (!of[slot]) make(slot);
    if (!shared) return of[slot] - (run && layout.twins ? layout.padded[0] : 0);
    if (!layout.twins && run != layout.run(slot)) return of[slot] - (run ? layout.padded[0] : 0);
    while (__atomic_load_n(shared_state(slot), __ATOMIC_ACQUIRE) != SHARED_READY) s.shared.yield();
    return shared_row(slot) - (run ? layout.padded[0] : 0);
  }
  INLINE int64_t take_work() {
    const int64_t done = work;
    work = 0;
    return done;
  }

  INLINE T* shared_row(int64_t slot) const {
    const int run = layout.run(slot);
    return static_cast<T*>(s.shared.own[layout.segment[run]]) + layout.local(slot) * layout.padded[run];
  }
  INLINE uint8_t* shared_state(int64_t slot) const {
    return s.shared.state + s.segments.slot[layout.segment[layout.run(slot)]] + layout.local(slot);
  }

  void make(int64_t wanted) {
    if (s.source == STORED) return gather(wanted);
    if constexpr (sizeof(T) == sizeof(float) && INTEGER_TILES)
      if (s.integers.panels) {
        if constexpr (BYTE_TILES)
          if (s.integers.bytes) return make_from(IntegerPoints<true>(s, layout, points), wanted);
        return make_from(IntegerPoints<false>(s, layout, points), wanted);
      }
    make_from(RealPoints<T>{s.points.form, s.points.d, panels, v, points, {}}, wanted);
  }

  template <class Values> void make_from(Values&& values, int64_t wanted) {
    if (made >= MADE_ROWS_MAX * layout.kernel_size) at_once = s.rows_at_once;
    int64_t chosen[MADE_ROWS_MAX];
    const int64_t count = at_once <= 1 ? (chosen[0] = wanted, 1) : choose(wanted, chosen);
    for (int64_t t = 0; t < count; t++) {
      values.lay_out(t, layout.run(chosen[t]), layout.local(chosen[t]));
      place(chosen[t]);
    }
    for (int k = 0; k < (layout.twins ? 1 : layout.runs); k++) {
      int64_t at[MADE_ROWS_MAX], m = 0;
      T* to[MADE_ROWS_MAX];
      for (int64_t t = 0; t < count; t++) {
        const int64_t slot = chosen[t];
        if (shared && layout.run(slot) == k) {
          uint8_t missing = SHARED_MISSING;
          if (!__atomic_compare_exchange_n(shared_state(slot), &missing, uint8_t(SHARED_CLAIMED), false,
                                           __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
            continue;
          to[m] = shared_row(slot);
        } else {
          to[m] = of[slot] + (shared || k == 0 ? 0 : layout.padded[0]);
        }
        at[m++] = t;
      }
      for_kind(s.points.form.kind, [&](auto kind) { fill<kind>(values, k, at, to, m); });
      for (int64_t r = 0; r < m && shared; r++)
        if (layout.run(chosen[at[r]]) == k)
          __atomic_store_n(shared_state(chosen[at[r]]), uint8_t(SHARED_READY), __ATOMIC_RELEASE);
      work += m * layout.padded[k] * (1 + s.points.d / 16), made += m * layout.padded[k];
    }
  }

  // to[r][0:padded] = k(point at[r], segment of run k), a tile of rows at a time; rows that fill up a tile are repeated.
  template <int KIND, class Values> void fill(const Values& values, int k, const int64_t* at, T* const* to, int64_t m) {
    const int64_t wide = layout.padded[k];
    int64_t p = 0;
    if (m == 1) {
      for (; p + STRIP_PANELS * WIDTH<T> <= wide; p += STRIP_PANELS * WIDTH<T>)
        values.template strip_values<KIND>(at[0], k, p, to[0] + p);
      for (; p < wide; p += WIDTH<T>) {
        T* here = to[0] + p;
        values.template tile_values<KIND, 1>(at, k, p, [=](auto, auto c, Vec<T> value) { store(here + c * LANES<T>, value); });
      }
      return;
    }
    for (; m > 0 && p < wide; p += WIDTH<T>)
      for (int64_t t = 0; t < m; t += TILE_ROWS) {
        int64_t which[TILE_ROWS];
        T* out[TILE_ROWS];
        for (int r = 0; r < TILE_ROWS; r++) {
          const int64_t place = minimum(t + r, m - 1);
          which[r] = at[place], out[r] = to[place] + p;
        }
        values.template tile_values<KIND, TILE_ROWS>(
            which, k, p, [=](auto r, auto c, Vec<T> value) { store(out[r] + c * LANES<T>, value); });
      }
  }

  void gather(int64_t wanted) {
    place(wanted);
    T* to = of[wanted];
    const int64_t row = layout.row(wanted) * s.points.stride;
    for (int k = 0; k < (layout.twins ? 1 : layout.runs); k++) {
      const Segments& g = s.segments;
      const int64_t* columns = g.order + g.start[layout.segment[k]];
      const int64_t n = rows_in(g, layout.segment[k]);
      if (s.points.stored64)
        for (int64_t t = 0; t < n; t++) to[t] = T(s.points.stored64[row + columns[t]]);
      else
        for (int64_t t = 0; t < n; t++) to[t] = T(s.points.stored32[row + columns[t]]);
      for (int64_t t = n; t < layout.padded[k]; t++) to[t] = 0;
      to += layout.padded[k];
    }
    work += layout.kernel_size;
  }

  // The oldest row makes way, but none in use.
  void place(int64_t slot) {
    while (owner[next] >= 0 && (owner[next] == recent[0] || owner[next] == recent[1])) next = (next + 1) % capacity;
    if (owner[next] >= 0) of[owner[next]] = nullptr;
    owner[next] = slot;
    of[slot] = memory + next * width;
    next = (next + 1) % capacity;
  }

  // The wanted row, then the worst violators of the middle between the two sides, worst first.
  int64_t choose(int64_t wanted, int64_t* chosen) {
    chosen[0] = wanted;
    int64_t count = 1;
    T score[MADE_ROWS_MAX];
    for (int k = 0; k < x.runs; k++) {
      const int64_t from = x.joined ? x.begin[0] : x.begin[k], to = x.joined ? x.end[x.runs - 1] : x.end[k];
      Vec<T> low = splat<T>(HUGE_GRADIENT<T>), high = splat<T>(-HUGE_GRADIENT<T>);
      for (int64_t t = from; t < to; t += LANES<T>) {
        const Vec<T> g = load(x.g + t);
        low = minimum(g + load(x.rise + t), low), high = maximum(g + load(x.fall + t), high);
      }
      const T middle = T(0.5) * (minimum_of<T>(low) + maximum_of<T>(high));
      T least = count < at_once ? T(0) : score[count - 1];
      for (int64_t t0 = from; t0 < to; t0 += LANES<T>) {
        const Vec<T> g = load(x.g + t0) - splat<T>(middle);
        const Vec<T> excess = maximum(-(g + load(x.rise + t0)), g + load(x.fall + t0));
        if (!(maximum_of<T>(excess) > least)) continue;
        for (int l = 0; l < LANES<T>; l++) {
          const int64_t slot = layout.kernel_slot(t0 + l);
          if (!(excess[l] > least) || of[slot] || slot == wanted) continue;
          if (layout.twins && listed(chosen, count, slot)) continue;
          int64_t place = count < at_once ? count++ : count - 1;
          for (; place > 1 && score[place - 1] < excess[l]; place--)
            score[place] = score[place - 1], chosen[place] = chosen[place - 1];
          score[place] = excess[l], chosen[place] = slot;
          if (count == at_once) least = score[count - 1];
        }
      }
      if (x.joined) break;
    }
    return count;
  }
  static bool listed(const int64_t* chosen, int64_t count, int64_t slot) {
    for (int64_t k = 0; k < count; k++)
      if (chosen[k] == slot) return true;
    return false;
  }
};

}  // namespace LEVEL::batch_code
