// Instruction levels: which there are, and tables of functions of which each level has its own.
//
// An idea's header says, in plain structs of function pointers,
//
//     struct RowsTable { void (*reverse)(double* x, int64_t size); };
//     LEVEL_TABLE(RowsTable, rows_table)
//
// its level source defines LEVEL::rows_table, and its binding calls rows_table().reverse(x, size).
// This header is read by level code and by baseline code: it must stay free of C++ library templates.
#pragma once
#include <stdint.h>

#if defined(__x86_64__) || defined(_M_X64)
#define EACH_LEVEL(DO, ...) DO(v2, __VA_ARGS__) DO(v3, __VA_ARGS__) DO(v4, __VA_ARGS__)
#elif defined(__aarch64__)
#define EACH_LEVEL(DO, ...) DO(neon, __VA_ARGS__)
#else
#define EACH_LEVEL(DO, ...) DO(baseline, __VA_ARGS__)
#endif

#if defined(LEVEL)
#define LEVEL_TABLE(Table, name) \
  namespace LEVEL {              \
  extern const Table name;       \
  }
#else
// Place of the level in use among those of EACH_LEVEL; chosen at import (cpu.cpp).
int level_in_use();

#define LEVEL_TABLE_DECLARATION(level, Table, name) \
  namespace level {                                 \
  extern const Table name;                          \
  }
#define LEVEL_TABLE_ADDRESS(level, name) &level::name,
#define LEVEL_TABLE(Table, name)                                                     \
  EACH_LEVEL(LEVEL_TABLE_DECLARATION, Table, name)                                   \
  inline const Table& name() {                                                       \
    static constexpr const Table* tables[] = {EACH_LEVEL(LEVEL_TABLE_ADDRESS, name)}; \
    return *tables[level_in_use()];                                                  \
  }
#endif

// The same functions for both precisions: struct template `Functions` of pointers, filled once for each.
template <template <class> class Functions> struct BothPrecisions {
  Functions<float> single;
  Functions<double> twice;
};

#if !defined(LEVEL)
// functions_of<double>(rows_table()).transpose(...)
template <class T, template <class> class Functions>
const Functions<T>& functions_of(const BothPrecisions<Functions>& table) {
  if constexpr (sizeof(T) == sizeof(float))
    return table.single;
  else
    return table.twice;
}
#endif
