// Checks of arguments at the border to Python: past them, level code may trust every pointer, length and index.
//
//     const border::Input A(A_, "A");                    any object with a buffer (a NumPy array)
//     const border::Output out(out_, "out");             writable
//     border::for_real(A, [&](auto zero) {               T is float or double, whichever A holds
//       using T = decltype(zero);
//       const auto a = A.array<T, 2>();                  C-contiguous, two dimensions: a.data, a.shape[0], a.shape[1]
//       const auto o = out.array<T, 1>();                the same type as A's
//       border::check_length(o, 0, a.shape[0], "rows of A");
//       nb::gil_scoped_release released;
//       functions_of<T>(rows_table()).norms(a.data, a.shape[0], a.shape[1], o.data);
//     });
//
// Wrong type, order or number of dimensions: TypeError; wrong length, range or read-only: ValueError. Both name the
// argument. Buffers are held until the Input or Output goes out of scope, so construct them before the GIL is released.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "core/csr.h"
#include "core/ranges.h"

namespace nb = nanobind;

namespace border {

[[noreturn]] inline void refuse_type(const std::string& message) { throw nb::type_error(message.c_str()); }
[[noreturn]] inline void refuse_value(const std::string& message) { throw nb::value_error(message.c_str()); }

// ---- element types: NumPy's name, and whether a buffer's format letter (native order) stands for it
template <class T> constexpr const char* TYPE_NAME = nullptr;
template <> inline constexpr const char* TYPE_NAME<float> = "float32";
template <> inline constexpr const char* TYPE_NAME<double> = "float64";
template <> inline constexpr const char* TYPE_NAME<int8_t> = "int8";
template <> inline constexpr const char* TYPE_NAME<uint8_t> = "uint8";
template <> inline constexpr const char* TYPE_NAME<bool> = "bool";
template <> inline constexpr const char* TYPE_NAME<uint16_t> = "uint16";
template <> inline constexpr const char* TYPE_NAME<int32_t> = "int32";
template <> inline constexpr const char* TYPE_NAME<int64_t> = "int64";
template <> inline constexpr const char* TYPE_NAME<uint64_t> = "uint64";

std::string type_name_of(const Py_buffer& view);
template <class T> bool same_type(const Py_buffer& view) {
  return view.itemsize == sizeof(T) && type_name_of(view) == TYPE_NAME<T>;
}

// ---- arrays
template <class T, int N> struct Array {
  T* data;
  int64_t shape[N];
  const char* name;
};
template <class T, int N> struct Strided {
  T* data;
  int64_t shape[N], strides[N];  // strides in elements; may be negative or zero
  const char* name;
};

enum Presence { REQUIRED, OPTIONAL };

class Buffer {
 public:
  const char* const name;
  // None is accepted where the argument is OPTIONAL (and bound as "name"_a.none()): given() is then false.
  Buffer(nb::handle object, const char* argument, bool writable, Presence presence);
  ~Buffer() {
    if (given_) PyBuffer_Release(&view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool given() const { return given_; }
  template <class T> bool holds() const { return given_ && same_type<T>(view_); }
  std::string type_name() const { return given_ ? type_name_of(view_) : "None"; }
  int dimensions() const { return view_.ndim; }

 protected:
  template <class T, int N> Array<T, N> contiguous() const {
    check(TYPE_NAME<typename std::remove_const<T>::type>, N, true);
    Array<T, N> array{static_cast<T*>(view_.buf), {}, name};
    for (int k = 0; k < N; k++) array.shape[k] = view_.shape[k];
    return array;
  }
  template <class T, int N> Strided<T, N> with_strides() const {
    check(TYPE_NAME<typename std::remove_const<T>::type>, N, false);
    Strided<T, N> array{static_cast<T*>(view_.buf), {}, {}, name};
    for (int k = 0; k < N; k++) array.shape[k] = view_.shape[k], array.strides[k] = view_.strides[k] / view_.itemsize;
    return array;
  }

 private:
  void check(const char* type, int dimensions, bool contiguous) const;
  Py_buffer view_;
  bool given_;
};

struct Input : Buffer {
  Input(nb::handle object, const char* argument, Presence presence = REQUIRED)
      : Buffer(object, argument, false, presence) {}
  template <class T, int N> Array<const T, N> array() const { return contiguous<const T, N>(); }
  template <class T, int N> Strided<const T, N> strided() const { return with_strides<const T, N>(); }
};

struct Output : Buffer {
  Output(nb::handle object, const char* argument, Presence presence = REQUIRED)
      : Buffer(object, argument, true, presence) {}
  template <class T, int N> Array<T, N> array() const { return contiguous<T, N>(); }
  template <class T, int N> Strided<T, N> strided() const { return with_strides<T, N>(); }
};

// ---- by element type: f(T(0)) with the type that the buffer holds
template <class F> decltype(auto) for_real(const Buffer& buffer, F&& f) {
  if (buffer.holds<float>()) return f(float(0));
  if (buffer.holds<double>()) return f(double(0));
  refuse_type(std::string(buffer.name) + " must be a float32 or float64 array, got " + buffer.type_name());
}
template <class F> decltype(auto) for_index(const Buffer& buffer, F&& f) {
  if (buffer.holds<int32_t>()) return f(int32_t(0));
  if (buffer.holds<int64_t>()) return f(int64_t(0));
  refuse_type(std::string(buffer.name) + " must be an int32 or int64 array, got " + buffer.type_name());
}

// ---- lengths and ranges
// `what` says where the expected length comes from: "columns of A".
void refuse_length(const char* name, int axis, int64_t length, int64_t expected, const char* what);
template <class A> void check_length(const A& array, int axis, int64_t expected, const char* what) {
  if (array.shape[axis] != expected) refuse_length(array.name, axis, array.shape[axis], expected, what);
}
template <class A> void check_at_least(const A& array, int axis, int64_t expected, const char* what) {
  if (array.shape[axis] < expected)
    refuse_value(std::string(array.name) + ".shape[" + std::to_string(axis) + "] must be at least " +
                 std::to_string(expected) + " (" + what + "), got " + std::to_string(array.shape[axis]));
}
// The entries of a row lie side by side; rows may have any distance.
void refuse_row_order(const char* name);
template <class T> void check_row_order(const Strided<T, 2>& array) {
  if (array.shape[0] > 0 && array.shape[1] > 1 && array.strides[1] != 1) refuse_row_order(array.name);
}
// 0 <= start <= stop <= size
void check_range(int64_t start, int64_t stop, int64_t size, const char* what);
// A condition on a scalar: ValueError "<name> must be <rule>, got <value>".
void check_scalar(bool right, const char* name, const char* rule, double value);

inline bool all_within(const int32_t* values, int64_t count, int64_t bound) {
  return ranges_table().within_i32(values, count, bound);
}
inline bool all_within(const int64_t* values, int64_t count, int64_t bound) {
  return ranges_table().within_i64(values, count, bound);
}
inline bool monotone(const int32_t* values, int64_t count) { return ranges_table().monotone_i32(values, count); }
inline bool monotone(const int64_t* values, int64_t count) { return ranges_table().monotone_i64(values, count); }

// Are all values in [0, bound)? The message shows the first that is not.
template <class I> void check_indices(const I* values, int64_t count, int64_t bound, const char* name, const char* what) {
  if (all_within(values, count, bound)) return;
  int64_t k = 0;
  while (k + 1 < count && values[k] >= 0 && int64_t(values[k]) < bound) k++;
  refuse_value(std::string(name) + " must lie in [0, " + std::to_string(bound) + ") (" + what + "), got " +
               std::to_string(values[k]) + " at " + std::to_string(k));
}
template <class I> void check_indices(const Array<const I, 1>& array, int64_t bound, const char* what) {
  check_indices(array.data, array.shape[0], bound, array.name, what);
}

// Are all values in [low, bound)?
template <class I> void check_between(const Array<const I, 1>& array, int64_t low, int64_t bound, const char* what) {
  for (int64_t k = 0; k < array.shape[0]; k++)
    if (int64_t(array.data[k]) < low || int64_t(array.data[k]) >= bound)
      refuse_value(std::string(array.name) + " must lie in [" + std::to_string(low) + ", " + std::to_string(bound) +
                   ") (" + what + "), got " + std::to_string(array.data[k]) + " at " + std::to_string(k));
}

// ---- CSR: indptr never falls and stays inside indices and data, columns lie in [0, columns). Only the rows of
// [first, last) are checked (all by default), so that a call per range of rows does not scan the whole matrix.
template <class T, class I>
Csr<T, I> csr(const Input& indptr, const Input& indices, const Input& data, int64_t columns, int64_t first = 0,
              int64_t last = -1) {
  const auto p = indptr.array<I, 1>(), i = indices.array<I, 1>();
  const auto x = data.array<T, 1>();
  check_at_least(p, 0, 1, "rows + 1");
  check_length(x, 0, i.shape[0], "entries of indices");
  const Csr<T, I> matrix{p.data, i.data, x.data, p.shape[0] - 1, columns};
  if (last < 0) last = matrix.rows;
  check_range(first, last, matrix.rows, "rows");
  if (!monotone(p.data + first, last - first + 1) || p.data[first] < 0 || int64_t(p.data[last]) > i.shape[0])
    refuse_value(std::string(indptr.name) + " must rise from 0 to at most " + std::to_string(i.shape[0]) +
                 " (entries of " + indices.name + ")");
  check_indices(i.data + p.data[first], int64_t(p.data[last] - p.data[first]), columns, indices.name, "columns");
  return matrix;
}

// The same for the rows at[first..last) of the matrix only, in any order; `at` is checked, too.
template <class T, class I>
Csr<T, I> csr_at(const Input& indptr, const Input& indices, const Input& data, int64_t columns,
                 const Array<const int64_t, 1>& at, int64_t first, int64_t last) {
  const auto p = indptr.array<I, 1>(), i = indices.array<I, 1>();
  const auto x = data.array<T, 1>();
  check_at_least(p, 0, 1, "rows + 1");
  check_length(x, 0, i.shape[0], "entries of indices");
  check_range(first, last, at.shape[0], "rows");
  const Csr<T, I> matrix{p.data, i.data, x.data, p.shape[0] - 1, columns};
  check_indices(at.data + first, last - first, matrix.rows, at.name, "rows of the matrix");
  for (int64_t t = first; t < last; t++) {
    const int64_t begin = p.data[at.data[t]], end = p.data[at.data[t] + 1];
    if (!(0 <= begin && begin <= end && end <= i.shape[0]))
      refuse_value(std::string(indptr.name) + " must rise from 0 to at most " + std::to_string(i.shape[0]) +
                   " (entries of " + indices.name + ")");
    check_indices(i.data + begin, end - begin, columns, indices.name, "columns");
  }
  return matrix;
}

}  // namespace border
