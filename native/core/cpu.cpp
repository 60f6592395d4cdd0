// The levels of the x86-64 psABI (v2: SSE4.2; v3: AVX2, FMA; v4: AVX-512 F, BW, CD, DQ, VL), found by cpuid and xgetbv
// by hand: not every compiler's runtime has __builtin_cpu_supports.
#include "core/cpu.h"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "core/levels.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace {

std::atomic<int> in_use{0};

#define LEVEL_TEXT(level, unused) #level,
const char* const ALL_LEVELS[] = {EACH_LEVEL(LEVEL_TEXT, 0)};
constexpr int N_LEVELS = sizeof ALL_LEVELS / sizeof *ALL_LEVELS;

// How many levels, from the lowest on, the processor has.
#if defined(__x86_64__)
bool all_set(unsigned word, unsigned mask) { return (word & mask) == mask; }
constexpr unsigned bits() { return 0; }
template <class... Rest> constexpr unsigned bits(int first, Rest... rest) { return 1u << first | bits(rest...); }

int count_levels() {
  unsigned a, b, c1 = 0, d1, b7 = 0, c7, d7, c_extended = 0, d_extended;
  if (!__get_cpuid(1, &a, &b, &c1, &d1)) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) b7 = 0;
  if (!__get_cpuid(0x80000001, &a, &b, &c_extended, &d_extended)) c_extended = 0;
  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF
  if (!all_set(c1, bits(0, 9, 13, 19, 20, 23)) || !all_set(c_extended, bits(0))) return 0;
  if (!all_set(c1, bits(27))) return 1;  // OSXSAVE: does the system keep wide registers at all?
  unsigned saved, saved_high;
  __asm__("xgetbv" : "=a"(saved), "=d"(saved_high) : "c"(0));
  // XMM and YMM state; FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT
  if (!all_set(saved, bits(1, 2)) || !all_set(c1, bits(12, 22, 28, 29)) || !all_set(b7, bits(3, 5, 8)) ||
      !all_set(c_extended, bits(5)))
    return 1;
  // ZMM and mask state; AVX512F, DQ, CD, BW, VL
  if (!all_set(saved, bits(5, 6, 7)) || !all_set(b7, bits(16, 17, 28, 30, 31))) return 2;
  return 3;
}
#else
int count_levels() { return N_LEVELS; }
#endif

#if defined(__x86_64__)
bool find_byte_products() {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && all_set(c, bits(11));
}
#else
bool find_byte_products() { return false; }
#endif

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

int level_in_use() { return in_use.load(std::memory_order_relaxed); }

std::vector<std::string> available_levels() {
  static const int count = count_levels();
  return {ALL_LEVELS, ALL_LEVELS + count};
}

bool multiplies_bytes() {
  static const bool found = find_byte_products();
  return found;
}

std::string level_name() { return ALL_LEVELS[level_in_use()]; }

void use_level(const std::string& name) {
  const auto names = available_levels();
  for (size_t k = 0; k < names.size(); k++)
    if (names[k] == name) {
      in_use.store(int(k), std::memory_order_relaxed);
      return;
    }
  throw std::invalid_argument("'" + name + "' is not an instruction level of this processor; allowed values: " +
                              joined(names));
}

void choose_level_at_import() {
  const auto names = available_levels();
  if (names.empty())
    throw std::runtime_error(
        "maxmargin needs a processor with SSE4.2 and POPCNT (level x86-64-v2). In a virtual machine, let the hypervisor "
        "pass the host's processor through; otherwise run it on a processor made after 2009.");
  const char* forced = std::getenv("MAXMARGIN_CPU");
  if (!forced || !*forced) {
    use_level(names.back());
    return;
  }
  try {
    use_level(forced);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error("environment variable MAXMARGIN_CPU: " + std::string(error.what()) +
                             ". Unset it to use the best one.");
  }
}
