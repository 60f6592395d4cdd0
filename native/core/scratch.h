// Scratch memory that a binding prepares and level code divides up: one piece, aligned to cache lines.
//
//     Scratch memory(bytes_of<double>(n) + bytes_of<int64_t>(n));      baseline code
//     double* x = memory.take<double>(n);                              not initialised
#pragma once
#include <cstdint>
#include <memory>
#include <new>

constexpr size_t CACHE_LINE_BYTES = 64;

template <class T> size_t bytes_of(int64_t count) {
  return (size_t(count) * sizeof(T) + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
}

class Scratch {
 public:
  explicit Scratch(size_t bytes)
      : memory_(static_cast<char*>(::operator new(bytes + 1, std::align_val_t{CACHE_LINE_BYTES}))), next_(memory_.get()),
        end_(memory_.get() + bytes) {}
  template <class T> T* take(int64_t count) {
    T* taken = reinterpret_cast<T*>(next_);
    next_ += bytes_of<T>(count);
    if (next_ > end_) throw std::bad_alloc();
    return taken;
  }

 private:
  struct Free {
    void operator()(char* p) const { ::operator delete(p, std::align_val_t{CACHE_LINE_BYTES}); }
  };
  std::unique_ptr<char, Free> memory_;
  char *next_, *end_;
};
