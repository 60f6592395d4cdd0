// As unsigned numbers, negative values are the largest: one comparison per value, which the compiler vectorises.
#include "core/ranges.h"

#include <stdint.h>

namespace LEVEL {

template <class I, class Unsigned> bool within(const I* values, int64_t count, int64_t bound) {
  if (bound <= 0) return count == 0;
  constexpr int64_t BLOCK_VALUES = 4096;  // stop early on a bad array, without a branch per value
  const int64_t most = int64_t(I(~Unsigned(0) >> 1));
  if (bound > most) bound = most;  // the one value lost, the type's largest, is no index of memory
  for (int64_t start = 0; start < count; start += BLOCK_VALUES) {
    const int64_t stop = start + BLOCK_VALUES < count ? start + BLOCK_VALUES : count;
    Unsigned largest = 0;
    for (int64_t k = start; k < stop; k++) {
      const Unsigned value = Unsigned(values[k]);
      largest = value > largest ? value : largest;
    }
    if (largest >= Unsigned(bound)) return false;
  }
  return true;
}

template <class I> bool monotone(const I* values, int64_t count) {
  bool falls = false;
  for (int64_t k = 0; k + 1 < count; k++) falls |= values[k] > values[k + 1];
  return !falls;
}

const RangesTable ranges_table = {within<int32_t, uint32_t>, within<int64_t, uint64_t>, monotone<int32_t>,
                                  monotone<int64_t>};

}  // namespace LEVEL
