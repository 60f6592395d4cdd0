#include "batch/verify.h"

#include "pair_sums/pair_sums.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace batch {
namespace {

constexpr int64_t SAMPLED_ROWS = 8;      // of a problem solved in float32; every problem of a fit has its own
constexpr int64_t SAMPLED_ROWS64 = 2;    // solved in float64: only long rows lose digits, and those are chosen apart
constexpr int64_t LONGEST_ROWS = 4;      // rows far from the centre, where fast arithmetic loses the most digits
constexpr double LONG_ROW = 1e4;         // scaled squared length up to which float64 loses no digit that matters
constexpr int64_t CHUNK_ROWS = 16;       // dense rows that each support vector meets while it is in the cache
constexpr int64_t ASK_AFTER_ROWS = 256;  // support vectors between two questions whether to stop
constexpr double ALL_ROWS_ERROR = 0.01;  // an error of f (times 1 + violation) from which on all rows are computed

// The kernel's function of |x - z|^2, |x - z|_1 or x'z, in natural units.
double kernel_of(const Form& form, double sum) {
  constexpr double LN2 = 0.6931471805599453094;
  if (form.kind == EXP2) return std::exp(-0.5 * LN2 * form.root * form.root * sum);
  if (form.kind == DECAY) return std::exp(-LN2 * form.root * sum);
  const double inner = form.root * form.root * sum + form.bias;
  return form.kind == TANH ? std::tanh(0.5 * LN2 * inner) : std::pow(inner, form.degree);
}

// A vector of zeros over the columns of CSR points, and a mark per column; each thread has its own.
struct Spread {
  std::vector<double> value;
  std::vector<int64_t> marked;  // the last comparison that a column took part in
  int64_t comparison = 0;
  static Spread& of_thread(int64_t columns) {
    thread_local Spread spread;
    if (spread.value.size() < size_t(columns)) spread.value.resize(size_t(columns)), spread.marked.resize(size_t(columns));
    return spread;
  }
};

// k(x, z) of one row x with many others, stored or (Gaussian, and some of them long) CSR: a sparse x is spread over a
// dense vector while it lives.
class Row {
 public:
  Row(const Points& points, const std::vector<double>& length, int64_t row)
      : p_(points), length_(length), row_(row), spread_(Spread::of_thread(points.indptr ? points.d : 0)) {
    if (p_.indptr)
      for (int64_t e = p_.indptr[row]; e < p_.indptr[row + 1]; e++) spread_.value[size_t(p_.indices[e])] = p_.data[e];
  }
  ~Row() {
    if (p_.indptr)
      for (int64_t e = p_.indptr[row_]; e < p_.indptr[row_ + 1]; e++) spread_.value[size_t(p_.indices[e])] = 0.0;
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  double with(int64_t other) const {
    if (p_.stored64) return p_.stored64[row_ * p_.stride + other];
    if (p_.stored32) return double(p_.stored32[row_ * p_.stride + other]);
    const double unit = p_.form.root * p_.form.root, x = length_[size_t(row_)], z = length_[size_t(other)];
    if (x + z <= LONG_ROW) return kernel_of(p_.form, std::max(0.0, (x + z) / unit - 2 * sparse_product(other)));
    return kernel_of(p_.form, sparse_distance(other));
  }

 private:
  double sparse_product(int64_t other) const {
    const double* x = spread_.value.data();
    double sum[4] = {};
    int64_t e = p_.indptr[other];
    const int64_t end = p_.indptr[other + 1];
    for (; e + 4 <= end; e += 4)
      for (int k = 0; k < 4; k++) sum[k] += x[p_.indices[e + k]] * p_.data[e + k];
    for (; e < end; e++) sum[0] += x[p_.indices[e]] * p_.data[e];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
  // |x - z|^2 over the columns of z, then over those of x alone: nothing is subtracted from a sum.
  double sparse_distance(int64_t other) const {
    double sum = 0;
    spread_.comparison++;
    for (int64_t e = p_.indptr[other]; e < p_.indptr[other + 1]; e++) {
      const double apart = spread_.value[size_t(p_.indices[e])] - p_.data[e];
      sum += apart * apart, spread_.marked[size_t(p_.indices[e])] = spread_.comparison;
    }
    for (int64_t e = p_.indptr[row_]; e < p_.indptr[row_ + 1]; e++)
      if (spread_.marked[size_t(p_.indices[e])] != spread_.comparison) sum += p_.data[e] * p_.data[e];
    return sum;
  }

  const Points& p_;
  const std::vector<double>& length_;
  const int64_t row_;
  Spread& spread_;
};

// |x - shift|^2 of a row.
double squared_length(const Points& p, int64_t row) {
  double sum = 0;
  const auto add = [&](double x, int64_t q) {
    const double apart = x - (p.shift ? p.shift[q] : 0.0);
    sum += apart * apart;
  };
  if (p.indptr)
    for (int64_t e = p.indptr[row]; e < p.indptr[row + 1]; e++) sum += p.data[e] * p.data[e];
  else
    for (int64_t q = 0; q < p.d; q++) add(p.dense64 ? p.dense64[row * p.d + q] : double(p.dense32[row * p.d + q]), q);
  return sum;
}

bool asked(const Stop* stop) {
  if (stop->poll && stop->poll(stop->context)) return true;
  return __atomic_load_n(stop->flag, __ATOMIC_RELAXED) != 0;
}

// The support vectors of a problem: rows and coefficients.
struct Support {
  std::vector<int64_t> rows;
  std::vector<double> coefficients;
};

// f of `count` <= CHUNK_ROWS dense rows; false if it was stopped.
template <class A>
bool dense_values(const Points& p, const A* X, const Support& support, const int64_t* rows, int64_t count,
                  const Stop* stop, double* f) {
  thread_local std::vector<double> panel, sums;
  panel.resize(std::max(panel.size(), size_t(PAIR_PANEL_COLUMNS * p.d)));
  sums.resize(size_t(CHUNK_ROWS * ASK_AFTER_ROWS));
  const int kind = p.form.kind == EXP2 ? SQUARED : p.form.kind == DECAY ? ABSOLUTE : PRODUCT;
  const int64_t n = int64_t(support.rows.size());
  std::fill_n(f, count, 0.0);
  for (int64_t t = 0; t < n; t += ASK_AFTER_ROWS) {
    if (asked(stop)) return false;
    const int64_t some = std::min(n - t, ASK_AFTER_ROWS);
    functions_of<A>(pair_sums_table())
        .dense(kind, {X, p.d, rows, count}, {X, p.d, support.rows.data() + t, some}, panel.data(), sums.data());
    for (int64_t r = 0; r < count; r++)
      for (int64_t u = 0; u < some; u++)
        f[r] += support.coefficients[size_t(t + u)] * kernel_of(p.form, sums[size_t(r * some + u)]);
  }
  return true;
}

// Up to PAIR_LINE sparse rows as lines (pair_sums.h).
class SparseLines {
 public:
  static SparseLines& of_thread(int64_t columns) {
    thread_local SparseLines lines;
    if (lines.place_.size() < size_t(columns)) lines.place_.resize(size_t(columns));
    return lines;
  }
  void lay_out(const Points& p, const int64_t* rows, int64_t count) {
    int64_t entries = 0;
    for (int64_t r = 0; r < count; r++) entries += p.indptr[rows[r] + 1] - p.indptr[rows[r]];
    values_.resize(std::max(values_.size(), size_t((entries + 1) * PAIR_LINE)));
    std::fill_n(values_.begin(), PAIR_LINE, 0.0);
    columns_.clear();
    for (int64_t r = 0; r < count; r++)
      for (int64_t e = p.indptr[rows[r]]; e < p.indptr[rows[r] + 1]; e++) {
        int32_t& place = place_[size_t(p.indices[e])];
        if (place == 0) {
          columns_.push_back(p.indices[e]), place = int32_t(columns_.size());
          std::fill_n(values_.begin() + place * PAIR_LINE, PAIR_LINE, 0.0);
        }
        values_[size_t(place * PAIR_LINE + r)] += p.data[e];
      }
  }
  // x'z of every row x with rows z.
  void products(const Points& p, const int64_t* rows, int64_t count, double* sums) const {
    pair_sums_table().lines(values_.data(), place_.data(), {p.indptr, p.indices, p.data, rows, count}, sums);
  }
  void clear() {
    for (const int32_t column : columns_) place_[size_t(column)] = 0;
  }

 private:
  std::vector<int32_t> place_, columns_;
  std::vector<double> values_;
};

// f of CSR rows whose distances from all support vectors keep their digits as |x|^2 + |z|^2 - 2 x'z.
bool sparse_values(const Points& p, const std::vector<double>& length, const Support& support, const int64_t* rows,
                   int64_t count, const Stop* stop, double* f) {
  const double unit = p.form.root * p.form.root;
  SparseLines& lines = SparseLines::of_thread(p.d);
  const size_t n = support.rows.size();
  double products[ASK_AFTER_ROWS * PAIR_LINE];
  bool stopped = false;
  for (int64_t r0 = 0; r0 < count && !stopped; r0 += PAIR_LINE) {
    const int64_t some = std::min(PAIR_LINE, count - r0);
    lines.lay_out(p, rows + r0, some);
    std::fill_n(f + r0, some, 0.0);
    for (size_t first = 0; first < n && !stopped; first += ASK_AFTER_ROWS) {
      stopped = asked(stop);
      const size_t last = std::min(n, first + size_t(ASK_AFTER_ROWS));
      lines.products(p, support.rows.data() + first, int64_t(last - first), products);
      for (size_t t = first; t < last; t++)
        for (int64_t r = 0; r < some; r++) {
          double sum = products[(t - first) * PAIR_LINE + size_t(r)];
          if (p.form.kind == EXP2)
            sum = std::max(0.0, (length[size_t(rows[r0 + r])] + length[size_t(support.rows[t])]) / unit - 2 * sum);
          f[r0 + r] += support.coefficients[t] * kernel_of(p.form, sum);
        }
    }
    lines.clear();
  }
  return !stopped;
}

// The same for any points.
bool values_of(const Points& p, const std::vector<double>& length, const Support& support, const int64_t* rows,
               int64_t count, const Stop* stop, double* f) {
  if (p.dense64) return dense_values(p, p.dense64, support, rows, count, stop, f);
  if (p.dense32) return dense_values(p, p.dense32, support, rows, count, stop, f);
  if (p.indptr) {
    double longest[2] = {0, 0};
    for (int64_t r = 0; r < count; r++) longest[0] = std::max(longest[0], length[size_t(rows[r])]);
    for (const int64_t row : support.rows) longest[1] = std::max(longest[1], length[size_t(row)]);
    if (p.form.kind != EXP2 || longest[0] + longest[1] <= LONG_ROW)
      return sparse_values(p, length, support, rows, count, stop, f);
  }
  for (int64_t r = 0; r < count; r++) {
    if (asked(stop)) return false;
    const Row row(p, length, rows[r]);
    f[r] = 0;
    for (size_t t = 0; t < support.rows.size(); t++) f[r] += support.coefficients[t] * row.with(support.rows[t]);
  }
  return true;
}

}  // namespace

Verifier::Verifier(const Batch& batch) : s_(batch) {
  const Points& p = s_.points;
  if (p.stored64 || p.stored32) return;
  length_.resize(size_t(p.n));
  for (int64_t t = 0; t < s_.segments.start[s_.segments.count]; t++) {
    const int64_t row = s_.segments.order[t];
    length_[size_t(row)] = p.form.root * p.form.root * squared_length(p, row);
  }
}

// Variables of a problem's n rows that are computed whatever they decide: a sample and the longest.
std::vector<int64_t> Verifier::first_rows(int64_t first, int64_t second, int64_t n) const {
  std::vector<int64_t> places;
  const int64_t sampled = s_.twice ? SAMPLED_ROWS64 : SAMPLED_ROWS;
  for (int64_t u = 0; u < n; u += std::max<int64_t>(1, n / sampled)) places.push_back(u);
  if (length_.empty()) return places;
  const int64_t* start = s_.segments.start;
  const int64_t split = start[first + 1] - start[first];
  const double least = s_.twice ? LONG_ROW : 0.0;
  std::vector<std::pair<double, int64_t>> longest;
  for (int64_t u = 0; u < n; u++) {
    const double length = length_[size_t(s_.segments.order[u < split ? start[first] + u : start[second] + u - split])];
    if (!(length <= least)) longest.push_back({-length, u});
  }
  const auto count = std::min<std::ptrdiff_t>(std::ptrdiff_t(longest.size()), LONGEST_ROWS);
  std::partial_sort(longest.begin(), longest.begin() + count, longest.end());
  for (std::ptrdiff_t k = 0; k < count; k++) places.push_back(longest[size_t(k)].second);
  return places;
}

void Verifier::verify(int64_t problem, const EachTask& each) const {
  const Batch& s = s_;
  const Problems& q = s.problems;
  const Segments& g = s.segments;
  const int64_t first = q.segments[2 * problem], second = q.segments[2 * problem + 1];
  const int64_t begin = q.at[problem], size = q.at[problem + 1] - begin, split = g.start[first + 1] - g.start[first];
  const bool twins = second == first;
  const int64_t n = twins ? split : size;
  const auto row_of = [&](int64_t v) {
    return v < split ? g.order[g.start[first] + v] : g.order[g.start[second] + v - split];
  };
  const double *a = q.a + begin, *lower = q.lower + begin, *upper = q.upper + begin, *linear = q.linear + begin;
  double* f = q.f + begin;
  Support support;
  std::vector<int64_t> wanted, wanted_rows;
  std::vector<double> values;
  for (int64_t u = 0; u < n; u++) {
    const double c = twins ? a[u] + a[u + n] : a[u];
    if (c != 0) support.rows.push_back(row_of(u)), support.coefficients.push_back(c);
  }
  std::vector<char> done(size_t(n), 0), chosen(size_t(n), 0);
  for (const int64_t u : first_rows(first, second, n)) chosen[size_t(u)] = 1;
  const bool one_group = q.joined || second < 0;
  double error = 0, spread = 0;
  for (bool sample = true;; sample = false) {
    double rise[2], fall[2];
    std::fill_n(rise, 2, std::numeric_limits<double>::infinity());
    std::fill_n(fall, 2, -std::numeric_limits<double>::infinity());
    for (int64_t v = 0; v < size; v++) {
      const int k = one_group || v < split ? 0 : 1;
      if (a[v] < upper[v]) rise[k] = std::min(rise[k], f[v] + linear[v]);
      if (a[v] > lower[v]) fall[k] = std::max(fall[k], f[v] + linear[v]);
    }
    spread = std::max({0.0, fall[0] - rise[0], one_group ? 0.0 : fall[1] - rise[1]});
    const bool all = !(error <= ALL_ROWS_ERROR * (1 + spread));
    wanted.clear();
    for (int64_t u = 0; u < n; u++) {
      bool decides = all || (sample && chosen[size_t(u)]);
      for (int64_t v = u; v < size && !decides; v += n) {
        const int k = one_group || v < split ? 0 : 1;
        decides = (a[v] < upper[v] && f[v] + linear[v] <= rise[k] + 4 * error) ||
                  (a[v] > lower[v] && f[v] + linear[v] >= fall[k] - 4 * error);
      }
      if (decides && !done[size_t(u)]) wanted.push_back(u);
    }
    if (wanted.empty()) break;
    const int64_t count = int64_t(wanted.size());
    wanted_rows.clear();
    for (const int64_t u : wanted) wanted_rows.push_back(row_of(u));
    values.resize(wanted.size());
    std::atomic<bool> stopped{false};
    each((count + CHUNK_ROWS - 1) / CHUNK_ROWS, [&](int64_t chunk, const Stop* stop) {
      const int64_t begin_row = chunk * CHUNK_ROWS, rows = std::min(count - begin_row, CHUNK_ROWS);
      if (!values_of(s.points, length_, support, wanted_rows.data() + begin_row, rows, stop, values.data() + begin_row))
        stopped = true;
    });
    if (stopped) {
      s.results.status[problem] = STOPPED;
      return;
    }
    for (size_t t = 0; t < wanted.size(); t++) {
      const int64_t u = wanted[t];
      const double difference = std::fabs(values[t] - f[u]);
      if (!(difference <= error)) error = difference;  // also where it is not a number
      f[u] = values[t], done[size_t(u)] = 1;
      if (twins) f[u + n] = values[t];
    }
  }
  s.results.violation[problem] = spread;
  if (!(spread <= q.tol && std::isfinite(error)) && s.results.status[problem] == OPTIMAL) s.results.status[problem] = CREEPS;
}

}  // namespace batch
