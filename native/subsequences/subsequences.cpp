#include "subsequences/subsequences.h"

#include "core/simd.h"

namespace LEVEL {

constexpr int64_t WIDTH = LANES<double>;
constexpr int64_t TOGETHER = 2;     // vectors of lanes whose recurrences hide each other's latency
constexpr int64_t GROUP_LEVELS = 4;  // levels n in one pass over z: their R_n and P_n(j) stay in registers
static_assert(SUBSEQUENCE_LANES % (TOGETHER * WIDTH) == 0);

// One more letter of x for the levels low + 1..low + LEVELS and TOGETHER vectors of lanes; TOP adds up the total.
template <int LEVELS, bool TOP> void pass(const Subsequences& s, double letter, int64_t low, int64_t lane) {
  const int64_t row = s.k * SUBSEQUENCE_LANES;
  const Vec<double> a = splat(letter), decay = splat(s.decay);
  Vec<double> R[LEVELS + 1][TOGETHER] = {}, old[LEVELS + 1][TOGETHER] = {}, total[TOGETHER] = {};
  double* P = s.P + low * SUBSEQUENCE_LANES + lane;
  for (int64_t j = 0; j < s.length; j++, P += row)
    unrolled<TOGETHER>([&](auto v) {
      const Ints<double> match = load(s.lanes + j * SUBSEQUENCE_LANES + lane + v * WIDTH) == a;
      old[0][v] = load(P + v * WIDTH);
      if constexpr (TOP) total[v] += match ? old[LEVELS][v] : Vec<double>{};
      unrolled<LEVELS>([&](auto below) {
        constexpr int n = LEVELS - below;  // downwards: old[n - 1] is still P_{n-1}(j)
        double* own = P + row + n * SUBSEQUENCE_LANES + v * WIDTH;
        R[n][v] = decay * R[n][v] + (match ? old[n - 1][v] : Vec<double>{});
        old[n][v] = load(own);
        store(own, Vec<double>(decay * old[n][v] + R[n][v]));
      });
    });
  if constexpr (TOP)
    for (int64_t v = 0; v < TOGETHER; v++) {
      double* sum = s.total + lane + v * WIDTH;
      store(sum, Vec<double>(load(sum) + total[v]));
    }
}

void read_letter(const Subsequences& s, double letter, int64_t lane) {
  int64_t low = s.k - 1;  // levels above it are done
  const int64_t top = low % GROUP_LEVELS;
  low -= top;
  if (top == 0) pass<0, true>(s, letter, low, lane);
  if (top == 1) pass<1, true>(s, letter, low, lane);
  if (top == 2) pass<2, true>(s, letter, low, lane);
  if (top == 3) pass<3, true>(s, letter, low, lane);
  for (; low > 0; low -= GROUP_LEVELS) pass<GROUP_LEVELS, false>(s, letter, low - GROUP_LEVELS, lane);
}

static void start_string(const Subsequences& s) {
  for (int64_t j = 0; j <= s.length; j++)
    for (int64_t n = 0; n < s.k; n++)
      for (int64_t w = 0; w < SUBSEQUENCE_LANES; w++) s.P[(j * s.k + n) * SUBSEQUENCE_LANES + w] = n == 0 ? 1.0 : 0.0;
  for (int64_t w = 0; w < SUBSEQUENCE_LANES; w++) s.total[w] = 0.0;
}

bool read(const Subsequences& s, int64_t max_operations) {
  const int64_t per_letter = s.k * (s.length + 1) * SUBSEQUENCE_LANES;
  for (int64_t operations = 0; *s.string < s.strings; ++*s.string, *s.letter = 0) {
    const int64_t start = s.starts[*s.string], size = s.starts[*s.string + 1] - start;
    double* out = s.out + *s.string * SUBSEQUENCE_LANES;
    for (; *s.letter < size; ++*s.letter) {
      if (operations >= max_operations) return false;
      if (*s.letter == 0) start_string(s), operations += per_letter;
      for (int64_t lane = 0; lane < SUBSEQUENCE_LANES; lane += TOGETHER * WIDTH)
        read_letter(s, s.letters[start + *s.letter], lane);
      operations += per_letter;
    }
    for (int64_t w = 0; w < SUBSEQUENCE_LANES; w++) out[w] = size > 0 ? s.total[w] : 0.0;
  }
  return true;
}

const SubsequencesTable subsequences_table = {read};

}  // namespace LEVEL
