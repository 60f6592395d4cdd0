#include "core/border.h"

namespace border {

std::string type_name_of(const Py_buffer& view) {
  const char* format = view.format ? view.format : "B";
  if (*format == '@' || *format == '=') format++;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (*format == '<') format++;
#endif
  if (format[0] && !format[1]) {
    const std::string bits = std::to_string(8 * view.itemsize);
    switch (*format) {
      case 'f': case 'd': case 'e': case 'g': return "float" + bits;
      case 'b': case 'h': case 'i': case 'l': case 'q': case 'n': return "int" + bits;
      case 'B': case 'H': case 'I': case 'L': case 'Q': case 'N': return "uint" + bits;
      case '?': return "bool";
    }
  }
  return "format '" + std::string(view.format) + "'";
}

Buffer::Buffer(nb::handle object, const char* argument, bool writable, Presence presence)
    : name(argument), view_{}, given_(false) {
  if (presence == OPTIONAL && object.is_none()) return;
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    const std::string kind = nb::str(nb::type_name(object.type())).c_str();
    refuse_type(std::string(name) + " must be an array, got " + kind);
  }
  given_ = true;
  if (writable && view_.readonly) {
    PyBuffer_Release(&view_);
    given_ = false;
    refuse_value(std::string(name) + " must be writable, got a read-only array");
  }
}

void Buffer::check(const char* type, int dimensions, bool contiguous) const {
  const auto refuse = [&](const std::string& got) {
    refuse_type(std::string(name) + " must be a " + (contiguous ? "C-contiguous " : "") + type + " array of " +
                std::to_string(dimensions) + (dimensions == 1 ? " dimension" : " dimensions") + ", got " + got);
  };
  if (!given_) refuse("None");
  if (type_name_of(view_) != type) refuse(type_name_of(view_));
  if (view_.ndim != dimensions) refuse(std::to_string(view_.ndim) + (view_.ndim == 1 ? " dimension" : " dimensions"));
  if (view_.len == 0) return;
  int64_t expected = view_.itemsize;
  for (int k = dimensions - 1; k >= 0; k--) {
    if (contiguous && view_.shape[k] > 1 && view_.strides[k] != expected) refuse("an array in another order");
    if (view_.shape[k] > 1 && view_.strides[k] % view_.itemsize) refuse("strides between elements");
    expected *= view_.shape[k];
  }
  if (reinterpret_cast<uintptr_t>(view_.buf) % uintptr_t(view_.itemsize)) refuse("an array that is not aligned");
}

void refuse_length(const char* name, int axis, int64_t length, int64_t expected, const char* what) {
  refuse_value(std::string(name) + ".shape[" + std::to_string(axis) + "] must be " + std::to_string(expected) + " (" +
               what + "), got " + std::to_string(length));
}

void refuse_row_order(const char* name) {
  refuse_type(std::string(name) + " must have the entries of a row side by side, got an array in another order");
}

void check_range(int64_t start, int64_t stop, int64_t size, const char* what) {
  if (0 <= start && start <= stop && stop <= size) return;
  refuse_value("start and stop must satisfy 0 <= start <= stop <= " + std::to_string(size) + " (" + what + "), got " +
               std::to_string(start) + " and " + std::to_string(stop));
}

void check_scalar(bool right, const char* name, const char* rule, double value) {
  if (right) return;
  std::string text = std::to_string(value);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  refuse_value(std::string(name) + " must be " + rule + ", got " + text);
}

}  // namespace border
