#include "symmetric_entries/symmetric_entries.h"

#include "core/border.h"

using nb::literals::operator""_a;

namespace {

constexpr int64_t STRIP_MAX_COLUMNS = 65536;  // that 16 bits can number

// Entries of a strip of a matrix of n rows: all inside of it.
SymmetricEntries checked_entries(const border::Input& indptr_, const border::Input& indices_,
                                 const border::Input& data_, int64_t first, int64_t n) {
  const auto indptr = indptr_.array<int64_t, 1>();
  const auto indices = indices_.array<uint16_t, 1>();
  const auto data = data_.array<float, 1>();
  border::check_at_least(indptr, 0, 1, "rows + 1");
  border::check_length(data, 0, indices.shape[0], "entries of indices");
  const int64_t rows = indptr.shape[0] - 1, count = indices.shape[0];
  border::check_scalar(rows <= n, "rows", "at most the rows of the matrix", double(rows));
  border::check_scalar(first >= 0 && first <= n, "first", "a column of the matrix", double(first));
  if (!border::monotone(indptr.data, rows + 1) || indptr.data[0] < 0 || indptr.data[rows] > count)
    border::refuse_value("indptr must rise from 0 to at most " + std::to_string(count) + " (entries of indices)");
  if (count > 0 && first + symmetric_entries_table().largest(indices.data, count) >= n)
    border::refuse_value("indices must lie in [0, " + std::to_string(n - first) + ") (columns from first)");
  return {indptr.data, indices.data, data.data, rows, first};
}

int64_t select_entries(nb::handle block_, int64_t diagonal, float threshold, nb::handle counts_, nb::handle indices_,
                       nb::handle data_) {
  const border::Input block(block_, "block");
  const border::Output counts(counts_, "counts"), indices(indices_, "indices"), data(data_, "data");
  const auto b = block.strided<float, 2>();
  const auto each = counts.array<int64_t, 1>();
  const auto columns = indices.array<uint16_t, 1>();
  const auto values = data.array<float, 1>();
  border::check_row_order(b);
  border::check_scalar(b.shape[1] <= STRIP_MAX_COLUMNS, "block.shape[1]", "at most 65536", double(b.shape[1]));
  border::check_length(each, 0, b.shape[0], "rows of block");
  border::check_at_least(columns, 0, b.shape[0] * b.shape[1], "entries of block");
  border::check_at_least(values, 0, b.shape[0] * b.shape[1], "entries of block");
  nb::gil_scoped_release released;
  return symmetric_entries_table().select({b.data, b.shape[0], b.shape[1], b.strides[0], diagonal}, threshold,
                                          {each.data, columns.data, values.data});
}

void symmetric_product(nb::handle indptr_, nb::handle indices_, nb::handle data_, int64_t first, nb::handle x_,
                       nb::handle out_) {
  const border::Input indptr(indptr_, "indptr"), indices(indices_, "indices"), data(data_, "data"), x(x_, "x");
  const border::Output out(out_, "out");
  const auto vector = x.array<double, 1>();
  const auto sums = out.array<double, 1>();
  border::check_length(sums, 0, vector.shape[0], "entries of x");
  const SymmetricEntries entries = checked_entries(indptr, indices, data, first, vector.shape[0]);
  nb::gil_scoped_release released;
  symmetric_entries_table().product(entries, vector.data, sums.data);
}

void symmetric_fill(nb::handle indptr_, nb::handle indices_, nb::handle data_, int64_t first, nb::handle rows_,
                    nb::handle place_, nb::handle out_) {
  const border::Input indptr(indptr_, "indptr"), indices(indices_, "indices"), data(data_, "data"), rows(rows_, "rows"),
      place(place_, "place");
  const border::Output out(out_, "out");
  const auto wanted = rows.array<int64_t, 1>();
  const auto places = place.array<int32_t, 1>();
  const auto o = out.strided<float, 2>();
  border::check_row_order(o);
  border::check_length(o, 1, o.shape[0], "rows of out");
  border::check_indices(wanted, places.shape[0], "entries of place");
  border::check_between(places, INT32_MIN, o.shape[0], "rows of out");
  const SymmetricEntries entries = checked_entries(indptr, indices, data, first, places.shape[0]);
  nb::gil_scoped_release released;
  symmetric_entries_table().fill(entries, wanted.data, wanted.shape[0], places.data, o.data, o.strides[0]);
}

}  // namespace

void bind_symmetric_entries(nb::module_& m) {
  m.def("select_entries", &select_entries, "block"_a, "diagonal"_a, "threshold"_a, "counts"_a, "indices"_a, "data"_a);
  m.def("symmetric_product", &symmetric_product, "indptr"_a, "indices"_a, "data"_a, "first"_a, "x"_a, "out"_a);
  m.def("symmetric_fill", &symmetric_fill, "indptr"_a, "indices"_a, "data"_a, "first"_a, "rows"_a, "place"_a,
        "out"_a);
}
