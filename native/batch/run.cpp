#include "batch/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "batch/lattice.h"
#include "core/cpu.h"
#include "batch/verify.h"

namespace batch {
namespace {

constexpr auto POLL_INTERVAL = std::chrono::milliseconds(50);  // a quarter of the 0.2 s in which a stop is promised
constexpr int64_t PRODUCT_ROWS = 16;                           // sparse products: rows of one task
constexpr double OWN_ROWS_SHARE = 0.5;  // of a problem's rows of K, for which memory stays when K of segments is shared
constexpr double STAGE_BYTES = 32e6;  // blocks computed before they are used: little new memory is touched
constexpr double DENSE_COLUMN_SHARE = 0.15;  // columns fuller than this: tiles beat running through them (measured on text)

// ---- memory: aligned to cache lines, not initialised
constexpr std::align_val_t CACHE_LINE{64};
struct Release {
  void operator()(void* p) const { ::operator delete(p, CACHE_LINE); }
};
template <class U> using Memory = std::unique_ptr<U[], Release>;
template <class U> Memory<U> memory(size_t count) {
  return Memory<U>(static_cast<U*>(::operator new(std::max<size_t>(count, 1) * sizeof(U), CACHE_LINE)));
}

// ---- threads: tasks 0, 1, ... are begun in this order by whichever thread is free; the calling thread works too
class Crew {
 public:
  Crew(int threads, size_t bytes, const std::function<bool()>& stop_asked) : stop_asked_(stop_asked) {
    for (int t = 0; t < threads; t++) memory_.push_back(memory<char>(bytes));
    for (auto& part : memory_) arenas_.push_back({part.get(), bytes, 0});
    next_poll_ = std::chrono::steady_clock::now() + POLL_INTERVAL;
  }
  bool stopped() const { return flag_.load(std::memory_order_relaxed) != 0; }

  template <class Work> void each(int64_t count, Work work) {
    std::atomic<int64_t> next{0};
    const auto turn = [&](Arena* arena, const Stop& stop) {
      for (int64_t t; (t = next.fetch_add(1, std::memory_order_relaxed)) < count;) work(t, arena, &stop);
    };
    const int* flag = reinterpret_cast<const int*>(&flag_);
    std::vector<std::thread> helpers;
    std::mutex lock;
    std::condition_variable done;
    size_t running = 0;
    for (size_t k = 1; k < arenas_.size() && int64_t(k) < count; k++) {
      running++;
      helpers.emplace_back([&, k] {
        turn(&arenas_[k], Stop{flag, nullptr, nullptr});
        const std::lock_guard<std::mutex> held(lock);
        running--;
        done.notify_one();
      });
    }
    turn(&arenas_[0], Stop{flag, &Crew::poll, this});
    {
      std::unique_lock<std::mutex> held(lock);
      while (!done.wait_for(held, POLL_INTERVAL, [&] { return running == 0; })) {
        held.unlock();
        poll(this);
        held.lock();
      }
    }
    for (auto& helper : helpers) helper.join();
  }

 private:
  static int poll(void* context) {
    Crew& crew = *static_cast<Crew*>(context);
    const auto now = std::chrono::steady_clock::now();
    if (now >= crew.next_poll_ && !crew.stopped()) {
      if (crew.stop_asked_ && crew.stop_asked_()) crew.flag_.store(1, std::memory_order_relaxed);
      crew.next_poll_ = std::chrono::steady_clock::now() + POLL_INTERVAL;
    }
    return crew.stopped();
  }

  static_assert(sizeof(std::atomic<int>) == sizeof(int));
  std::atomic<int> flag_{0};
  std::function<bool()> stop_asked_;
  std::chrono::steady_clock::time_point next_poll_;
  std::vector<Memory<char>> memory_;
  std::vector<Arena> arenas_;
};

// ---- points in the form that tiles take, and the memory of that form
class PackedPoints {
 public:
  void pack(Batch& s, const BatchTable& level, Crew& crew) {
    const size_t slots = size_t(s.segments.slots), entries = slots * size_t(s.packed.columns);
    s.integers = {};
    const bool may_be_integers = s.source == TILES && !s.problems.goes_on && !s.twice && s.points.form.norms;
    if (level.integer_tiles && may_be_integers && pack_integers(s, level, crew)) return;
    if (s.twice) {
      panels64_ = memory<double>(entries), v64_ = memory<double>(slots);
      s.packed.panels64 = panels64_.get(), s.packed.v64 = v64_.get();
    } else {
      panels32_ = memory<float>(entries), v32_ = memory<float>(slots);
      s.packed.panels32 = panels32_.get(), s.packed.v32 = v32_.get();
    }
    crew.each(s.segments.count, [&](int64_t c, Arena*, const Stop*) { level.pack(&s, c); });
  }

 private:
  // Whether all points are on a lattice.
  bool pack_integers(Batch& s, const BatchTable& level, Crew& crew) {
    s.integers.lattice = lattice_of(s.points, s.segments);
    if (!(s.integers.lattice.step > 0)) return false;
    const size_t slots = size_t(s.segments.slots), ranges = size_t(s.segments.count * s.points.d);
    integers_ = memory<int32_t>(slots * size_t((s.points.d + 1) / 2)), norms_ = memory<int32_t>(slots);
    const auto least = memory<int16_t>(ranges), largest = memory<int16_t>(ranges);
    s.integers.panels = integers_.get(), s.integers.norms = norms_.get();
    s.integers.least = least.get(), s.integers.largest = largest.get();
    std::atomic<bool> all_on_it{true};
    crew.each(s.segments.count, [&](int64_t c, Arena*, const Stop*) {
      if (all_on_it && !level.pack_integers(&s, c)) all_on_it = false;
    });
    if (all_on_it && level.byte_tiles && multiplies_bytes() && fit_into_bytes(s)) {
      const auto two_bytes = std::move(integers_);
      integers_ = memory<int32_t>(slots * size_t((s.points.d + 3) / 4));
      s.integers.panels = integers_.get(), s.integers.bytes = true;
      crew.each(s.segments.count, [&](int64_t c, Arena*, const Stop*) { level.pack_bytes(&s, two_bytes.get(), c); });
    }
    s.integers.least = s.integers.largest = nullptr;
    if (all_on_it) return true;
    s.integers = {};
    integers_.reset(), norms_.reset();
    return false;
  }

  // Whether the integers of each column spread over 255 at most; `least` of the first segment becomes that of all.
  static bool fit_into_bytes(Batch& s) {
    const int64_t d = s.points.d;
    for (int64_t q = 0; q < d; q++) {
      int16_t least = INT16_MAX, largest = INT16_MIN;
      for (int64_t c = 0; c < s.segments.count; c++) {
        least = std::min(least, s.integers.least[c * d + q]), largest = std::max(largest, s.integers.largest[c * d + q]);
      }
      if (int(largest) - int(least) > UINT8_MAX) return false;
      s.integers.least[q] = least;
    }
    return true;
  }

  Memory<float> panels32_, v32_;
  Memory<double> panels64_, v64_;
  Memory<int32_t> integers_, norms_;
};

// ---- CSR points: nearly dense columns go to the panels, the rest is transposed
struct Transposed {
  std::vector<int32_t> place;
  std::vector<int64_t> start;
  Memory<int32_t> slot;
  Memory<double> value;
};

void transpose(Batch& s, Transposed& by_column) {
  const Points& p = s.points;
  const Segments& g = s.segments;
  const int64_t rows = g.start[g.count];
  std::vector<int64_t> count(size_t(p.d), 0);
  for (int64_t t = 0; t < rows; t++)
    for (int64_t e = p.indptr[g.order[t]]; e < p.indptr[g.order[t] + 1]; e++) count[size_t(p.indices[e])]++;
  by_column.place.assign(size_t(p.d), -1);
  by_column.start.assign(size_t(p.d) + 2, 0);
  s.packed.columns = 0;
  for (int64_t c = 0; c < p.d; c++) {
    const bool dense = double(count[size_t(c)]) > DENSE_COLUMN_SHARE * double(rows);
    if (dense) by_column.place[size_t(c)] = int32_t(s.packed.columns++);
    by_column.start[size_t(c) + 2] = by_column.start[size_t(c) + 1] + (dense ? 0 : count[size_t(c)]);
  }
  by_column.slot = memory<int32_t>(size_t(by_column.start[size_t(p.d) + 1]));
  by_column.value = memory<double>(size_t(by_column.start[size_t(p.d) + 1]));
  int64_t* next = by_column.start.data() + 1;  // moves from the beginning of each column to its end
  for (int64_t segment = 0; segment < g.count; segment++)
    for (int64_t t = g.start[segment]; t < g.start[segment + 1]; t++)
      for (int64_t e = p.indptr[g.order[t]]; e < p.indptr[g.order[t] + 1]; e++) {
        const size_t c = size_t(p.indices[e]);
        if (by_column.place[c] >= 0) continue;
        by_column.slot[size_t(next[c])] = int32_t(g.slot[segment] + t - g.start[segment]);
        by_column.value[size_t(next[c]++)] = p.data[e] * p.form.root;
      }
  s.columns = {by_column.place.data(), by_column.start.data(), by_column.slot.get(), by_column.value.get()};
}

// ---- blocks: those of a segment with itself stay, those of different segments live for a stage
class BlockStages {
 public:
  explicit BlockStages(Batch& batch) : s_(batch), n_(batch.segments.count) {
    pointers_.assign(size_t(n_ + n_ * n_), nullptr);
    void** at = pointers_.data();
    if (s_.twice)
      s_.blocks.own64 = reinterpret_cast<double**>(at), s_.blocks.cross64 = reinterpret_cast<double**>(at + n_);
    else
      s_.blocks.own32 = reinterpret_cast<float**>(at), s_.blocks.cross32 = reinterpret_cast<float**>(at + n_);
    own_ = memory<char>(own_bytes());
    char* to = own_.get();
    for (int64_t a = 0; a < n_; a++) pointers_[size_t(a)] = to, to += bytes(a, a);
  }
  size_t own_bytes() const {
    size_t sum = 0;
    for (int64_t a = 0; a < n_; a++) sum += bytes(a, a);
    return sum;
  }
  // The segments first, ... up to the one returned (not included) whose cross blocks fit together.
  int64_t begin_stage(int64_t first, double budget) {
    size_t sum = stripe(first);
    int64_t last = first + 1;
    while (last < n_ && double(sum + stripe(last)) <= budget) sum += stripe(last++);
    if (sum > held_) cross_.reset(), cross_ = memory<char>(sum), held_ = sum;
    char* to = cross_.get();
    for (int64_t a = first; a < last; a++)
      for (int64_t b = a + 1; b < n_; b++) pointers_[size_t(n_ + a * n_ + b)] = to, to += bytes(a, b);
    return last;
  }

 private:
  size_t bytes(int64_t a, int64_t b) const {
    return size_t(s_.segments.padded[a]) * size_t(s_.segments.padded[b]) * (s_.twice ? 8 : 4);
  }
  size_t stripe(int64_t a) const {
    size_t sum = 0;
    for (int64_t b = a + 1; b < n_; b++) sum += bytes(a, b);
    return sum;
  }
  Batch& s_;
  int64_t n_;
  std::vector<void*> pointers_;
  Memory<char> own_, cross_;
  size_t held_ = 0;
};

// Bytes of K of each segment with itself, if several problems use them, all of two segments or all of one; otherwise 0.
size_t shareable_bytes(const Batch& s) {
  if (s.source != TILES) return 0;
  int64_t alone = 0;
  for (int64_t p = 0; p < s.problems.count; p++)
    if (s.problems.segments[2 * p + 1] < 0 || s.problems.segments[2 * p + 1] == s.problems.segments[2 * p]) alone++;
  if (alone == 0 ? s.segments.count < 3 : alone < s.problems.count || s.problems.count <= s.segments.count) return 0;
  size_t sum = 0;
  for (int64_t c = 0; c < s.segments.count; c++)
    sum += size_t(s.segments.padded[c]) * size_t(s.segments.padded[c]) * (s.twice ? 8 : 4);
  return sum;
}

}  // namespace

void run(Batch& s, const RunOptions& options) {
  const BatchTable& level = batch_table();
  const int64_t width = s.twice ? level.panel_width64 : level.panel_width32, n = s.segments.count;
  auto padded = memory<int64_t>(size_t(n)), slot = memory<int64_t>(size_t(n));
  s.segments.slots = 0, s.segments.padded = padded.get(), s.segments.slot = slot.get();
  for (int64_t c = 0; c < n; c++) {
    padded[c] = (s.segments.start[c + 1] - s.segments.start[c] + width - 1) / width * width;
    slot[c] = s.segments.slots, s.segments.slots += padded[c];
  }
  const auto size_of = [&](int64_t p) {
    const int64_t second = s.problems.segments[2 * p + 1];
    return padded[s.problems.segments[2 * p]] + (second < 0 ? 0 : padded[second]);
  };
  int64_t largest = 0;
  for (int64_t p = 0; p < s.problems.count; p++) largest = std::max(largest, size_of(p));

  Transposed by_column;
  s.packed = {};
  if (s.points.indptr)
    transpose(s, by_column);
  else if (s.source != STORED)
    s.packed.columns = s.points.d;
  std::unique_ptr<BlockStages> stages;
  if (s.source == BLOCKS) stages = std::make_unique<BlockStages>(s);
  std::vector<void*> own;
  Memory<char> shared;
  std::vector<uint8_t> state;
  s.shared = {};
  const size_t shared_bytes = shareable_bytes(s);
  const int64_t widest = *std::max_element(padded.get(), padded.get() + n);  // columns of a row that is not shared
  const double own_rows = OWN_ROWS_SHARE * double(largest) * double(widest) * (s.twice ? 8 : 4) * options.threads;
  if (shared_bytes > 0 && double(shared_bytes) + own_rows <= options.budget) {
    shared = memory<char>(shared_bytes);
    state.assign(size_t(s.segments.slots), uint8_t(SHARED_MISSING));
    char* to = shared.get();
    for (int64_t c = 0; c < n; c++) own.push_back(to), to += size_t(padded[c]) * size_t(padded[c]) * (s.twice ? 8 : 4);
    s.shared = {own.data(), state.data(), [] { std::this_thread::yield(); }};
  }
  s.row_bytes = (options.budget - (own.empty() ? 0.0 : double(shared_bytes))) / options.threads;
  size_t bytes = level.arena_bytes(&s, largest);
  if (s.points.indptr) bytes = std::max(bytes, size_t(s.segments.slots) * 8);
  if (s.problems.blocks_follow) {
    s.source = BLOCKS;
    bytes = std::max(bytes, level.arena_bytes(&s, largest));
    s.source = TILES;
  }
  Crew crew(options.threads, bytes, options.stop_asked);
  PackedPoints points;
  if (s.source != STORED) points.pack(s, level, crew);

  // The longest problems first; where there are many segments, those of one segment follow each other.
  std::vector<int64_t> tasks(size_t(s.problems.count));
  for (size_t p = 0; p < tasks.size(); p++) tasks[p] = int64_t(p);
  constexpr int64_t SORTED_MAX_SEGMENTS = 32;
  if (n <= SORTED_MAX_SEGMENTS)
    std::stable_sort(tasks.begin(), tasks.end(), [&](int64_t a, int64_t b) { return size_of(a) > size_of(b); });
  const Verifier verifier(s);
  const bool verify_together = s.problems.count < options.threads;  // all threads for each problem in turn
  const auto solve = [&](const std::vector<int64_t>& chosen) {
    crew.each(int64_t(chosen.size()), [&](int64_t t, Arena* arena, const Stop* stop) {
      const int64_t problem = chosen[size_t(t)];
      level.solve(&s, problem, stop, arena);
      if (verify_together || s.results.status[problem] > MAX_STEPS) return;
      verifier.verify(problem, [&](int64_t count, const std::function<void(int64_t, const Stop*)>& work) {
        for (int64_t k = 0; k < count; k++) work(k, stop);
      });
    });
    for (const int64_t problem : chosen)
      if (verify_together && s.results.status[problem] <= MAX_STEPS)
        verifier.verify(problem, [&](int64_t count, const std::function<void(int64_t, const Stop*)>& work) {
          crew.each(count, [&](int64_t k, Arena*, const Stop* stop) { work(k, stop); });
        });
  };
  std::vector<int64_t> before(2 * tasks.size(), 0);  // steps and evaluations of the trial
  const auto add_trial = [&](const std::vector<int64_t>& chosen) {
    for (const int64_t p : chosen) {
      s.results.steps[p] += before[size_t(2 * p)], s.results.evaluations[p] += before[size_t(2 * p + 1)];
      if (before[size_t(2 * p)] > 0 && s.results.status[p] == NOT_BEGUN) s.results.status[p] = STOPPED;
    }
  };
  if (!stages) {
    solve(tasks);
    const auto given_up = [&](int64_t p) { return s.results.status[p] == GIVEN_UP; };
    if (!s.problems.goes_on || !std::all_of(tasks.begin(), tasks.end(), given_up)) return;
    for (const int64_t p : tasks)
      before[size_t(2 * p)] = s.results.steps[p], before[size_t(2 * p + 1)] = s.results.evaluations[p];
    s.problems.check_step = 0, s.problems.begun = nullptr;  // f is that of the point reached
    if (!s.problems.blocks_follow) {
      solve(tasks);
      return add_trial(tasks);
    }
    s.source = BLOCKS;
    stages = std::make_unique<BlockStages>(s);
  }

  // Kernel values of segment a with segments first..last: sparse sums by pieces of rows, then the kernel's function.
  struct Piece {
    int64_t a, first_row, last_row, first, last;
  };
  const auto fill = [&](const std::vector<Piece>& wanted) {
    std::vector<Piece> pieces, blocks;
    for (const Piece& w : wanted) {
      for (int64_t row = 0; s.points.indptr && row < w.last_row; row += PRODUCT_ROWS)
        pieces.push_back({w.a, row, std::min(row + PRODUCT_ROWS, w.last_row), w.first, w.last});
      for (int64_t b = w.first; b < w.last; b++) blocks.push_back({w.a, 0, 0, b, b + 1});
    }
    crew.each(int64_t(pieces.size()), [&](int64_t t, Arena* arena, const Stop* stop) {
      const Piece& w = pieces[size_t(t)];
      if (stop->poll) stop->poll(stop->context);
      if (!crew.stopped())
        level.sparse_products(&s, w.a, w.first_row, w.last_row, w.first, w.last, reinterpret_cast<double*>(arena->base));
    });
    crew.each(int64_t(blocks.size()), [&](int64_t t, Arena* arena, const Stop* stop) {
      arena->used = 0;
      if (stop->poll) stop->poll(stop->context);
      if (!crew.stopped()) level.finish_block(&s, blocks[size_t(t)].a, blocks[size_t(t)].first, arena);
    });
  };
  const auto rows_of = [&](int64_t a) { return s.segments.start[a + 1] - s.segments.start[a]; };
  std::vector<Piece> diagonal;
  for (int64_t a = 0; a < n; a++) diagonal.push_back({a, 0, rows_of(a), a, a + 1});
  fill(diagonal);
  const double left = std::min(STAGE_BYTES, std::max(0.0, options.budget - double(stages->own_bytes())));
  for (int64_t first = 0; first < n;) {
    const int64_t last = stages->begin_stage(first, left);
    std::vector<Piece> cross;
    for (int64_t a = first; a < last && a + 1 < n; a++) cross.push_back({a, 0, rows_of(a), a + 1, n});
    fill(cross);
    std::vector<int64_t> chosen;
    for (const int64_t p : tasks)
      if (s.problems.segments[2 * p] >= first && s.problems.segments[2 * p] < last) chosen.push_back(p);
    solve(chosen);  // where the batch was stopped: each is marked as not begun
    add_trial(chosen);
    first = last;
  }
}

}  // namespace batch
