// Rows of K for pair steps: read from blocks, or made on demand and kept as long as the memory allows.
#pragma once
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

// Rows made when they are needed: the one asked for, and with it the worst violators that have none, a tile at a time.
template <class T> struct MadeRows {
  const Batch& s;
  const Layout& layout;
  const Variables<T>& x;
  const T *panels[2], *v[2];  // of each run's segment; null for a stored matrix
  int64_t at_once, capacity, next, made, work;
  T *memory, *points;
  T** of;          // row of each kernel slot, or null
  int64_t* owner;  // kernel slot of each place in memory, or -1
  int64_t recent[2];

  INLINE const T* operator()(int64_t variable, int run) {
    const int64_t slot = layout.kernel_slot(variable);
    if (slot != recent[0]) recent[1] = recent[0], recent[0] = slot;
    const T* row = of[slot] ? of[slot] : make(slot);
    return row - (run && layout.twins ? layout.padded[0] : 0);
  }
  INLINE int64_t take_work() {
    const int64_t done = work;
    work = 0;
    return done;
  }

  T* make(int64_t wanted) {
    if (s.source == STORED) return gather(wanted);
    return at_once <= 1 ? make_one(wanted) : make_several(wanted);
  }

  T* gather(int64_t wanted) {
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
    return of[wanted];
  }

  T* make_one(int64_t wanted) {
    const int64_t d = s.points.d;
    const int run = layout.run(wanted), degree = s.points.form.degree;
    unpack(panels[run], d, layout.local(wanted), points);
    place(wanted);
    const T* at[1] = {points};
    const T u[1] = {u_of<T>(s.points.form, v[run][layout.local(wanted)])};
    for_kind(s.points.form.kind, [&](auto kind) {
      T* to = of[wanted];
      for (int k = 0; k < (layout.twins ? 1 : layout.runs); to += layout.padded[k], k++) {
        int64_t p = 0;
        for (; p + STRIP_PANELS * WIDTH<T> <= layout.padded[k]; p += STRIP_PANELS * WIDTH<T>)
          strip<T, kind>(points, u[0], panels[k] + p * d, v[k] + p, d, degree, to + p);
        for (; p < layout.padded[k]; p += WIDTH<T>) {
          T* here = to + p;
          tile<T, kind, 1>(at, u, panels[k] + p * d, v[k] + p, d, degree, static_cast<const T*>(nullptr),
                           [=](auto, auto c, Vec<T> value) { store(here + c * LANES<T>, value); });
        }
      }
    });
    made++, work += layout.kernel_size * (1 + d / 8);
    return of[wanted];
  }

  T* make_several(int64_t wanted) {
    int64_t chosen[MADE_ROWS_MAX];
    T u[MADE_ROWS_MAX];
    const int64_t count = choose(wanted, chosen), d = s.points.d, padded = rounded_up(count, TILE_ROWS);
    for (int64_t t = 0; t < padded; t++) {
      const int64_t at = chosen[minimum(t, count - 1)];
      const int run = layout.run(at);
      unpack(panels[run], d, layout.local(at), points + t * d);
      u[t] = u_of<T>(s.points.form, v[run][layout.local(at)]);
      if (t < count) place(at);
    }
    for_kind(s.points.form.kind, [&](auto kind) {
      int64_t begin = 0;
      for (int k = 0; k < (layout.twins ? 1 : layout.runs); begin += layout.padded[k], k++)
        for (int64_t p = 0; p < layout.padded[k]; p += WIDTH<T>)
          for (int64_t t = 0; t < padded; t += TILE_ROWS) {
            const T* at[TILE_ROWS];
            T* to[TILE_ROWS];
            for (int r = 0; r < TILE_ROWS; r++)
              at[r] = points + (t + r) * d, to[r] = of[chosen[minimum(t + r, count - 1)]] + begin + p;
            tile<T, kind, TILE_ROWS>(at, u + t, panels[k] + p * d, v[k] + p, d, s.points.form.degree,
                                     static_cast<const T*>(nullptr),
                                     [=](auto r, auto c, Vec<T> value) { store(to[r] + c * LANES<T>, value); });
          }
    });
    made += count, work += count * layout.kernel_size * (1 + d / 16);
    return of[wanted];
  }

  // The oldest row makes way, but none in use.
  void place(int64_t slot) {
    while (owner[next] >= 0 && (owner[next] == recent[0] || owner[next] == recent[1])) next = (next + 1) % capacity;
    if (owner[next] >= 0) of[owner[next]] = nullptr;
    owner[next] = slot;
    of[slot] = memory + next * layout.kernel_size;
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
