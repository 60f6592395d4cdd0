#include "pair_sums/pair_sums.h"

#include <algorithm>
#include <vector>

#include "bindings/csr_pair.h"

using nb::literals::operator""_a;

namespace {

void check_kind(int kind) {
  border::check_scalar(kind >= 0 && kind < PAIR_SUMS, "kind", "0, 1, 2, 3 or 4", kind);
}

// The rows named by an optional index; their number, and null where there is none.
const int64_t* index_of(const border::Input& index, int64_t rows, int64_t& count) {
  count = rows;
  if (!index.given()) return nullptr;
  const auto places = index.array<int64_t, 1>();
  border::check_indices(places, rows, "rows of the matrix");
  count = places.shape[0];
  return places.data;
}

// Ranges of rows, block after block: block s has the rows start[s], ..., start[s + 1] - 1; one block of all by default.
struct Starts {
  int64_t all[2];
  const int64_t* start;
  int64_t blocks;
  Starts(const border::Input& starts, int64_t rows) : all{0, rows}, start(all), blocks(1) {
    if (!starts.given()) return;
    const auto given = starts.array<int64_t, 1>();
    border::check_at_least(given, 0, 1, "blocks + 1");
    blocks = given.shape[0] - 1, start = given.data;
    if (!border::monotone(start, blocks + 1) || start[0] < 0 || start[blocks] > rows)
      border::refuse_value(std::string(starts.name) + " must rise from at least 0 to at most " + std::to_string(rows));
  }
  Starts(const Starts&) = delete;
};

// The length of an output that has all blocks after one another.
template <class Out> void check_output(const Out& out, const Starts& rows, const Starts& cols) {
  if (rows.blocks != cols.blocks)
    border::refuse_value("row_start and col_start must have the same length, got " + std::to_string(rows.blocks + 1) +
                         " and " + std::to_string(cols.blocks + 1));
  int64_t total = 0;
  for (int64_t s = 0; s < rows.blocks; s++)
    total += (rows.start[s + 1] - rows.start[s]) * (cols.start[s + 1] - cols.start[s]);
  border::check_length(out, 0, total, "pairs of all blocks");
}

template <class T> PairRows<T> part(const PairRows<T>& all, int64_t first, int64_t last) {
  PairRows<T> some = all;
  some.count = last - first;
  if (all.index)
    some.index = all.index + first;
  else
    some.data = all.data + first * all.columns;
  return some;
}

template <class T, class I> Csr<T, I> part(const Csr<T, I>& all, int64_t first, int64_t last) {
  Csr<T, I> some = all;
  some.indptr += first, some.rows = last - first;
  return some;
}

template <class Left, class F>
void each_block(const Left& A, const Left& B, const Starts& rows, const Starts& cols, double* out, F&& f) {
  for (int64_t s = 0; s < rows.blocks; s++) {
    f(part(A, rows.start[s], rows.start[s + 1]), part(B, cols.start[s], cols.start[s + 1]), out);
    out += (rows.start[s + 1] - rows.start[s]) * (cols.start[s + 1] - cols.start[s]);
  }
}

void pair_sums_dense(nb::handle A_, nb::handle rows_, nb::handle row_start_, nb::handle B_, nb::handle cols_,
                     nb::handle col_start_, int kind, nb::handle out_) {
  const border::Input A(A_, "A"), B(B_, "B");
  const border::Input rows(rows_, "rows", border::OPTIONAL), cols(cols_, "cols", border::OPTIONAL);
  const border::Input row_start(row_start_, "row_start", border::OPTIONAL);
  const border::Input col_start(col_start_, "col_start", border::OPTIONAL);
  const border::Output out(out_, "out");
  check_kind(kind);
  border::for_real(A, [&](auto zero) {
    using T = decltype(zero);
    const auto a = A.array<T, 2>(), b = B.array<T, 2>();
    const auto o = out.array<double, 1>();
    border::check_length(b, 1, a.shape[1], "columns of A");
    PairRows<T> left{a.data, a.shape[1], nullptr, 0}, right{b.data, b.shape[1], nullptr, 0};
    left.index = index_of(rows, a.shape[0], left.count);
    right.index = index_of(cols, b.shape[0], right.count);
    const Starts above(row_start, left.count), beside(col_start, right.count);
    check_output(o, above, beside);
    std::vector<double> panel(size_t(PAIR_PANEL_COLUMNS * a.shape[1]));
    nb::gil_scoped_release released;
    const auto& functions = functions_of<T>(pair_sums_table());
    each_block(left, right, above, beside, o.data, [&](const auto& some, const auto& others, double* place) {
      functions.dense(kind, some, others, panel.data(), place);
    });
  });
}

void pair_sums_csr(nb::tuple A, nb::handle row_start_, nb::tuple B, nb::handle col_start_, int64_t columns, int kind,
                   nb::handle out_) {
  const border::Input row_start(row_start_, "row_start", border::OPTIONAL);
  const border::Input col_start(col_start_, "col_start", border::OPTIONAL);
  const border::Output out(out_, "out");
  check_kind(kind);
  with_csr_pair(A, B, columns, [&]<class T, class I>(const Csr<T, I>& a, const Csr<T, I>& b) {
    const auto o = out.array<double, 1>();
    const Starts above(row_start, a.rows), beside(col_start, b.rows);
    check_output(o, above, beside);
    int64_t entries = 1;  // of the fullest row; never none: memset refuses a null pointer
    for (int64_t i = 0; i < a.rows; i++) entries = std::max(entries, int64_t(a.indptr[i + 1] - a.indptr[i]));
    std::vector<double> panel(size_t(PAIR_PANEL_COLUMNS * entries)), row(static_cast<size_t>(entries));
    std::vector<int32_t> place(size_t(columns), -1);
    nb::gil_scoped_release released;
    const PairSumsScratch scratch{panel.data(), row.data(), place.data()};
    const auto& functions = functions_of<T>(pair_sums_table());
    each_block(a, b, above, beside, o.data, [&](const auto& some, const auto& others, double* to) {
      if constexpr (sizeof(I) == 4)
        functions.sparse32(kind, some, others, scratch, to);
      else
        functions.sparse64(kind, some, others, scratch, to);
    });
  });
}

}  // namespace

void bind_pair_sums(nb::module_& m) {
  m.def("pair_sums_dense", &pair_sums_dense, "A"_a, "rows"_a.none(), "row_start"_a.none(), "B"_a, "cols"_a.none(),
        "col_start"_a.none(), "kind"_a, "out"_a);
  m.def("pair_sums_csr", &pair_sums_csr, "A"_a, "row_start"_a.none(), "B"_a, "col_start"_a.none(), "columns"_a,
        "kind"_a, "out"_a);
}
