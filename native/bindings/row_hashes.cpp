#include "row_hashes/row_hashes.h"

#include <algorithm>
#include <vector>

#include "core/compound.h"

using nb::literals::operator""_a;

namespace {

using border::Input;
using border::Output;

void hash_rows(nb::handle X_, nb::handle out_) {
  const Input X(X_, "X");
  const Output out(out_, "out");
  border::for_real(X, [&](auto zero) {
    using T = decltype(zero);
    const auto x = X.array<T, 2>();
    const auto o = out.array<uint64_t, 1>();
    border::check_length(o, 0, x.shape[0], "rows of X");
    nb::gil_scoped_release released;
    functions_of<T>(row_hashes_table()).dense(x.data, x.shape[0], x.shape[1], o.data);
  });
}

void hash_rows_csr(nb::handle X_, int64_t columns, nb::handle out_) {
  const border::CsrInput X(X_, "X");
  const Output out(out_, "out");
  border::for_real(X.data, [&](auto zero) {
    using T = decltype(zero);
    border::for_index(X.indices, [&](auto none) {
      using I = decltype(none);
      const auto x = X.matrix<T, I>(columns);
      const auto o = out.array<uint64_t, 1>();
      border::check_length(o, 0, x.rows, "rows of X");
      nb::gil_scoped_release released;
      const auto& functions = functions_of<T>(row_hashes_table());
      if constexpr (sizeof(I) == 4)
        functions.csr_i32(x, o.data);
      else
        functions.csr_i64(x, o.data);
    });
  });
}

template <class T> bool equal_dense(const T* X, int64_t columns, int64_t i, int64_t j) {
  return std::equal(X + i * columns, X + (i + 1) * columns, X + j * columns);
}

// Rows of CSR with sorted columns; stored zeros count as absent.
template <class T, class I> bool equal_csr(const Csr<T, I>& X, int64_t i, int64_t j) {
  int64_t a = X.indptr[i], b = X.indptr[j];
  const int64_t a_end = X.indptr[i + 1], b_end = X.indptr[j + 1];
  for (;;) {
    while (a < a_end && X.data[a] == 0) a++;
    while (b < b_end && X.data[b] == 0) b++;
    if (a == a_end || b == b_end) return a == a_end && b == b_end;
    if (X.indices[a] != X.indices[b] || X.data[a] != X.data[b]) return false;
    a++, b++;
  }
}

// Rows of positive weight, sorted by hash, target and weight; equal neighbours form a group, whose weights are added up in
// this order, which does not depend on that of the rows. Returns the number of groups.
template <class Equal>
int64_t group_rows(const uint64_t* key, const double* target, const double* weight, int64_t n, Equal equal,
                   int64_t* member_of, int64_t* representative, double* group_weight, uint64_t* group_key) {
  struct Row {
    uint64_t key;
    double target;
    int64_t index;
  };
  std::vector<Row> rows;
  rows.reserve(size_t(n));
  for (int64_t i = 0; i < n; i++) {
    member_of[i] = -1;
    if (weight[i] > 0) rows.push_back({key[i], target[i], i});
  }
  std::sort(rows.begin(), rows.end(), [weight](const Row& a, const Row& b) {
    if (a.key != b.key) return a.key < b.key;
    if (a.target != b.target) return a.target < b.target;
    if (weight[a.index] != weight[b.index]) return weight[a.index] < weight[b.index];
    return a.index < b.index;
  });
  int64_t groups = 0;
  for (size_t t = 0; t < rows.size(); t++) {
    const Row& row = rows[t];
    const bool repeats = t > 0 && row.key == rows[t - 1].key && row.target == rows[t - 1].target &&
                         equal(row.index, rows[t - 1].index);
    if (!repeats) {
      representative[groups] = row.index, group_weight[groups] = 0, group_key[groups] = row.key;
      groups++;
    }
    member_of[row.index] = groups - 1;
    group_weight[groups - 1] += weight[row.index];
    representative[groups - 1] = std::min(representative[groups - 1], row.index);
  }
  return groups;
}

int64_t merge_rows(nb::tuple points, nb::handle target_, nb::handle weight_, nb::handle member_of_, nb::handle representative_,
                   nb::handle group_weight_, nb::handle group_key_) {
  const Input target_in(target_, "target"), weight_in(weight_, "weight");
  const Output member_out(member_of_, "member_of"), representative_out(representative_, "representative");
  const Output weight_out(group_weight_, "group_weight"), key_out(group_key_, "group_key");
  const auto target = target_in.array<double, 1>(), weight = weight_in.array<double, 1>();
  const auto member_of = member_out.array<int64_t, 1>(), representative = representative_out.array<int64_t, 1>();
  const auto group_weight = weight_out.array<double, 1>();
  const auto group_key = key_out.array<uint64_t, 1>();
  const int64_t n = target.shape[0];
  border::check_length(weight, 0, n, "rows");
  border::check_length(member_of, 0, n, "rows");
  border::check_length(representative, 0, n, "rows");
  border::check_length(group_weight, 0, n, "rows");
  border::check_length(group_key, 0, n, "rows");
  std::vector<uint64_t> key(static_cast<size_t>(n));
  const auto grouped = [&](auto equal) {
    return group_rows(key.data(), target.data, weight.data, n, equal, member_of.data, representative.data,
                      group_weight.data, group_key.data);
  };
  if (points.size() == 1) {
    const Input X(points[0], "X");
    return border::for_real(X, [&](auto zero) {
      using T = decltype(zero);
      const auto x = X.array<T, 2>();
      border::check_length(x, 0, n, "entries of target");
      nb::gil_scoped_release released;
      functions_of<T>(row_hashes_table()).dense(x.data, n, x.shape[1], key.data());
      return grouped([&](int64_t i, int64_t j) { return equal_dense(x.data, x.shape[1], i, j); });
    });
  }
  if (points.size() != 4) border::refuse_value("points must be (X,) or (indptr, indices, data, columns)");
  const Input indptr(points[0], "indptr"), indices(points[1], "indices"), data(points[2], "data");
  const int64_t columns = nb::cast<int64_t>(points[3]);
  return border::for_real(data, [&](auto zero) {
    using T = decltype(zero);
    return border::for_index(indices, [&](auto index) {
      using I = decltype(index);
      const Csr<T, I> x = border::csr<T, I>(indptr, indices, data, columns);
      if (x.rows != n) border::refuse_value("indptr must have an entry more than target");
      nb::gil_scoped_release released;
      if constexpr (sizeof(I) == sizeof(int32_t))
        functions_of<T>(row_hashes_table()).csr_i32(x, key.data());
      else
        functions_of<T>(row_hashes_table()).csr_i64(x, key.data());
      return grouped([&](int64_t i, int64_t j) { return equal_csr(x, i, j); });
    });
  });
}

}  // namespace

void bind_row_hashes(nb::module_& m) {
  m.def("hash_rows", &hash_rows, "X"_a, "out"_a);
  m.def("hash_rows_csr", &hash_rows_csr, "X"_a, "columns"_a, "out"_a);
  m.def("merge_rows", &merge_rows, "points"_a, "target"_a, "weight"_a, "member_of"_a, "representative"_a, "group_weight"_a,
        "group_key"_a);
}
