#include "pair_sums/pair_sums.h"

#include <algorithm>
#include <vector>

#include "core/border.h"

using nb::literals::operator""_a;

static void check_kind(int kind) {
  border::check_scalar(kind >= 0 && kind < PAIR_SUMS, "kind", "0, 1, 2, 3 or 4", kind);
}

// The rows named by an optional index; their number, and null where there is none.
static const int64_t* index_of(const border::Input& index, int64_t rows, int64_t& count) {
  count = rows;
  if (!index.given()) return nullptr;
  const auto places = index.array<int64_t, 1>();
  border::check_indices(places, rows, "rows of the matrix");
  count = places.shape[0];
  return places.data;
}

static void pair_sums_dense(nb::handle A_, nb::handle rows_, nb::handle B_, nb::handle cols_, int kind,
                            nb::handle out_) {
  const border::Input A(A_, "A"), B(B_, "B");
  const border::Input rows(rows_, "rows", border::OPTIONAL), cols(cols_, "cols", border::OPTIONAL);
  const border::Output out(out_, "out");
  check_kind(kind);
  border::for_real(A, [&](auto zero) {
    using T = decltype(zero);
    const auto a = A.array<T, 2>(), b = B.array<T, 2>();
    const auto o = out.array<double, 2>();
    border::check_length(b, 1, a.shape[1], "columns of A");
    PairRows<T> left{a.data, a.shape[1], nullptr, 0}, right{b.data, b.shape[1], nullptr, 0};
    left.index = index_of(rows, a.shape[0], left.count);
    right.index = index_of(cols, b.shape[0], right.count);
    border::check_length(o, 0, left.count, "rows");
    border::check_length(o, 1, right.count, "cols");
    std::vector<double> panel(size_t(PAIR_PANEL_COLUMNS * a.shape[1]));
    nb::gil_scoped_release released;
    functions_of<T>(pair_sums_table()).dense(kind, left, right, panel.data(), o.data);
  });
}

static void pair_sums_csr(nb::handle a_indptr_, nb::handle a_indices_, nb::handle a_data_, nb::handle b_indptr_,
                          nb::handle b_indices_, nb::handle b_data_, int64_t columns, int kind, nb::handle out_) {
  const border::Input a_indptr(a_indptr_, "a_indptr"), a_indices(a_indices_, "a_indices"), a_data(a_data_, "a_data");
  const border::Input b_indptr(b_indptr_, "b_indptr"), b_indices(b_indices_, "b_indices"), b_data(b_data_, "b_data");
  const border::Output out(out_, "out");
  check_kind(kind);
  border::check_scalar(columns >= 0 && columns <= INT32_MAX, "columns", "from 0 to 2^31 - 1", double(columns));
  border::for_real(a_data, [&](auto zero) {
    using T = decltype(zero);
    border::for_index(a_indices, [&](auto zero_index) {
      using I = decltype(zero_index);
      const auto a = border::csr<T, I>(a_indptr, a_indices, a_data, columns);
      const auto b = border::csr<T, I>(b_indptr, b_indices, b_data, columns);
      const auto o = out.array<double, 2>();
      border::check_length(o, 0, a.rows, "rows of A");
      border::check_length(o, 1, b.rows, "rows of B");
      int64_t entries = 0;  // of the fullest row
      for (int64_t i = 0; i < a.rows; i++) entries = std::max(entries, int64_t(a.indptr[i + 1] - a.indptr[i]));
      std::vector<double> panel(size_t(PAIR_PANEL_COLUMNS * entries)), row(static_cast<size_t>(entries));
      std::vector<int32_t> place(size_t(columns), -1);
      nb::gil_scoped_release released;
      const PairSumsScratch scratch{panel.data(), row.data(), place.data()};
      const auto& functions = functions_of<T>(pair_sums_table());
      if constexpr (sizeof(I) == 4)
        functions.sparse32(kind, a, b, scratch, o.data);
      else
        functions.sparse64(kind, a, b, scratch, o.data);
    });
  });
}

void bind_pair_sums(nb::module_& m) {
  m.def("pair_sums_dense", &pair_sums_dense, "A"_a, "rows"_a.none(), "B"_a, "cols"_a.none(), "kind"_a, "out"_a);
  m.def("pair_sums_csr", &pair_sums_csr, "a_indptr"_a, "a_indices"_a, "a_data"_a, "b_indptr"_a, "b_indices"_a,
        "b_data"_a, "columns"_a, "kind"_a, "out"_a);
}
