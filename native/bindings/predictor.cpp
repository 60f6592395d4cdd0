#include "predictor/predictor.h"

#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

#include "bindings/pair_coefficients.h"
#include "core/compound.h"

using nb::literals::operator""_a;

namespace {

// How the values of a row become a class code.
enum Rule {
  RULE_NONE,       // they do not
  RULE_SIGN,       // one value: 1 where it is above zero
  RULE_REGION,     // one value: 1 where it is at least zero, else -1
  RULE_HIGHEST,    // the class with the highest value
  RULE_VOTES,      // one-vs-one: the most votes, of equal ones the first class
  RULE_CONFIDENCE  // one-vs-one: votes, ties broken by the classes' summed values
};
constexpr int MAX_DEGREE = 1024;      // as of the tiles
constexpr int STACK_DOUBLES = 1024;   // scratch memory and values of one row that need no allocation
constexpr int64_t CHUNK_ROWS = 16;    // rows whose kernel values are kept at a time

class Predictor {
 public:
  Predictor(int kind, double g, double coef0, int degree, nb::handle Z_, nb::handle coefficients_, nb::handle counts_,
            nb::handle intercept_, int rule, nb::handle present_)
      : table_(predictor_table()), rule_(rule) {
    border::check_scalar(kind >= PREDICT_LINEAR && kind <= PREDICT_SIGMOID, "kind", "a kind of kernel, 0 to 4", kind);
    border::check_scalar(degree >= 1 && degree <= MAX_DEGREE, "degree", "from 1 to 1024", degree);
    border::check_scalar(rule >= RULE_NONE && rule <= RULE_CONFIDENCE, "rule", "a rule, 0 to 5", rule);
    const border::Input Z_in(Z_, "Z"), coefficients_in(coefficients_, "coefficients", border::OPTIONAL),
        counts_in(counts_, "counts", border::OPTIONAL), intercept_in(intercept_, "intercept"),
        present_in(present_, "present");
    const auto Z = Z_in.array<double, 2>();
    const auto b = intercept_in.array<double, 1>();
    const auto present = present_in.array<bool, 1>();
    f_.kind = kind, f_.degree = degree, f_.g = g, f_.coef0 = coef0;
    f_.d = Z.shape[1], f_.outputs = b.shape[0];
    border::check_at_least(b, 0, 1, "one output");
    present_of_.assign(present.data, present.data + present.shape[0]);
    const int64_t k = present.shape[0];
    if (rule == RULE_SIGN || rule == RULE_REGION) border::check_length(b, 0, 1, "one output for a sign");
    if (rule == RULE_HIGHEST) border::check_length(present, 0, f_.outputs, "outputs");
    if (rule >= RULE_VOTES) {
      border::check_at_least(present, 0, 2, "two classes");
      border::check_length(b, 0, k * (k - 1) / 2, "pairs of classes");
    }
    intercepts_.assign(b.data, b.data + f_.outputs);
    if (kind == PREDICT_LINEAR) {
      border::check_length(Z, 0, f_.outputs, "outputs");
      anchors_.assign(Z.data, Z.data + Z.shape[0] * f_.d);
    } else {
      const auto c = coefficients_in.array<double, 2>();
      border::check_length(c, 0, Z.shape[0], "rows of Z");
      pack(Z.data, Z.shape[0]);
      if (counts_in.given()) {
        const auto counts = counts_in.array<int64_t, 1>();
        pairs_ = checked_pair_coefficients(c, counts);
        border::check_length(b, 0, pairs_.classes * (pairs_.classes - 1) / 2, "pairs of classes");
        coefficients_of_.assign(c.data, c.data + c.shape[0] * c.shape[1]);
        counts_of_.assign(counts.data, counts.data + counts.shape[0]);
        pairs_.rows = coefficients_of_.data(), pairs_.counts = counts_of_.data();
      } else {
        border::check_length(c, 1, f_.outputs, "outputs");
        pack_coefficients(c.data, Z.shape[0]);
      }
    }
    f_.Z = anchors_.data(), f_.coef = coefficients_of_.data(), f_.intercept = intercepts_.data();
  }

  int64_t n_features() const { return f_.d; }

  // Values of the rows of X (n x outputs), or of a single row (outputs).
  nb::object decision(nb::handle X_) const {
    const border::Input X(X_, "X");
    const Rows rows = checked(X);
    std::unique_ptr<double[]> values(new double[size_t(rows.count * f_.outputs)]);
    evaluate(rows, values.get());
    double* data = values.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    const size_t shape[2] = {size_t(rows.count), size_t(f_.outputs)};
    typedef nb::ndarray<nb::numpy, double> Out;
    return rows.single ? nb::cast(Out(data, 1, shape + 1, owner)) : nb::cast(Out(data, 2, shape, owner));
  }

  // Class codes of the rows of X, or the code of a single row.
  nb::object codes(nb::handle X_) const {
    border::check_scalar(rule_ != RULE_NONE, "rule", "one that gives class codes", rule_);
    const border::Input X(X_, "X");
    const Rows rows = checked(X);
    if (rows.single && f_.outputs <= STACK_DOUBLES) {
      double values[STACK_DOUBLES];
      evaluate(rows, values);
      return nb::int_(code_of(values));
    }
    std::vector<double> values(size_t(rows.count * f_.outputs));
    std::unique_ptr<int64_t[]> codes(new int64_t[size_t(rows.count)]);
    evaluate(rows, values.data());
    for (int64_t i = 0; i < rows.count; i++) codes[size_t(i)] = code_of(values.data() + i * f_.outputs);
    if (rows.single) return nb::int_(codes[0]);
    int64_t* data = codes.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<int64_t*>(p); });
    const size_t shape[1] = {size_t(rows.count)};
    return nb::cast(nb::ndarray<nb::numpy, int64_t>(data, 1, shape, owner));
  }

 private:
  struct Rows {
    const double* data;
    int64_t count;
    bool single;
  };

  Rows checked(const border::Input& X) const {
    if (X.dimensions() == 1) {
      const auto x = X.array<double, 1>();
      border::check_length(x, 0, f_.d, "features of the model");
      return {x.data, 1, true};
    }
    const auto x = X.array<double, 2>();
    border::check_length(x, 1, f_.d, "features of the model");
    return {x.data, x.shape[0], false};
  }

  void pack(const double* Z, int64_t n) {
    const int64_t width = table_.width;
    f_.panels = (n + width - 1) / width;
    anchors_.assign(size_t(f_.panels * f_.d * width), 0.0);
    for (int64_t i = 0; i < n; i++) {
      const int64_t panel = i / width, column = i % width;
      for (int64_t k = 0; k < f_.d; k++) anchors_[size_t((panel * f_.d + k) * width + column)] = Z[i * f_.d + k];
    }
  }

  void pack_coefficients(const double* c, int64_t n) {
    const int64_t padded = f_.panels * table_.width;
    coefficients_of_.assign(size_t(f_.outputs * padded), 0.0);
    for (int64_t i = 0; i < n; i++)
      for (int64_t t = 0; t < f_.outputs; t++) coefficients_of_[size_t(t * padded + i)] = c[i * f_.outputs + t];
  }

  void evaluate_pairs(const Rows& rows, double* out) const {
    const int64_t padded = f_.panels * table_.width;
    const int64_t chunk = rows.count < CHUNK_ROWS ? rows.count : CHUNK_ROWS;
    std::vector<double> K(size_t(chunk * padded)), sums(size_t(4 * pairs_.classes * pairs_.stride));
    for (int64_t first = 0; first < rows.count; first += chunk) {
      const int64_t count = rows.count - first < chunk ? rows.count - first : chunk;
      double* values = out + first * f_.outputs;
      table_.kernel_values(f_, rows.data + first * f_.d, count, K.data());
      one_vs_one_table().pairs.twice.values(pairs_, K.data(), padded, count, sums.data(), values);
      for (int64_t r = 0; r < count; r++)
        for (int64_t t = 0; t < f_.outputs; t++) values[r * f_.outputs + t] += f_.intercept[t];
    }
  }

  void evaluate(const Rows& rows, double* out) const {
    if (pairs_.classes > 0) {
      nb::gil_scoped_release released;
      return evaluate_pairs(rows, out);
    }
    const int64_t need = f_.outputs * table_.sum_lanes;
    double small[STACK_DOUBLES];
    std::vector<double> large(need > STACK_DOUBLES ? size_t(need) : 0);
    double* scratch = large.empty() ? small : large.data();
    if (rows.single) return table_.evaluate(f_, rows.data, 1, scratch, out);  // over before another thread could start
    nb::gil_scoped_release released;
    table_.evaluate(f_, rows.data, rows.count, scratch, out);
  }

  int64_t code_of(const double* values) const {
    const int64_t k = int64_t(present_of_.size());
    switch (rule_) {
      case RULE_SIGN: return values[0] > 0;
      case RULE_REGION: return values[0] >= 0 ? 1 : -1;
      case RULE_HIGHEST: return highest(values, k);
    }
    const bool by_confidence = rule_ == RULE_CONFIDENCE;
    std::vector<double> votes(static_cast<size_t>(k)), confidence(static_cast<size_t>(k));
    one_vs_one_table().votes(values, 1, k, by_confidence, votes.data());  // as LIBSVM and scikit-learn take a zero
    one_vs_one_table().confidence(values, 1, k, confidence.data());
    for (size_t c = 0; c < size_t(k); c++) {
      if (!present_of_[c]) votes[c] = 0;
      const double size = confidence[c] < 0 ? -confidence[c] : confidence[c];
      if (by_confidence) votes[c] += confidence[c] / (3 * (size + 1));
    }
    int64_t best = 0;
    for (int64_t c = 1; c < k; c++)
      if (votes[size_t(c)] > votes[size_t(best)]) best = c;
    return best;
  }

  int64_t highest(const double* values, int64_t k) const {
    int64_t best = -1;
    for (int64_t c = 0; c < k; c++)
      if (present_of_[size_t(c)] && (best < 0 || values[c] > values[best])) best = c;
    return best < 0 ? 0 : best;
  }

  const PredictorTable& table_;
  FittedFunction f_{};
  PairCoefficients pairs_{};  // of one-vs-one; no classes otherwise
  int rule_;
  std::vector<double> anchors_, coefficients_of_, intercepts_;
  std::vector<int64_t> counts_of_;
  std::vector<bool> present_of_;
};

// Sparse support vectors by columns: checked once, then asked for kernel values of sparse rows.
class SparseKernelValues {
 public:
  // `by_column` are the support vectors as CSC: their transpose as CSR.
  SparseKernelValues(int kind, double g, double coef0, int degree, nb::handle by_column_, int64_t support)
      : table_(predictor_table()) {
    const bool known = kind == PREDICT_RBF || kind == PREDICT_POLYNOMIAL || kind == PREDICT_SIGMOID;
    border::check_scalar(known, "kind", "1 (rbf), 3 (polynomial) or 4 (sigmoid)", kind);
    border::check_scalar(degree >= 1 && degree <= MAX_DEGREE, "degree", "from 1 to 1024", degree);
    border::check_scalar(support >= 0 && support < INT32_MAX, "support", "from 0 to 2^31 - 2", double(support));
    const border::CsrInput by_column(by_column_, "by_column");
    const int64_t lanes = table_.sum_lanes;
    Z_.kind = kind, Z_.degree = degree, Z_.g = g, Z_.coef0 = coef0;
    Z_.count = support, Z_.padded = (support + lanes - 1) / lanes * lanes;
    squares_.assign(size_t(Z_.padded), 0.0);
    border::for_index(by_column.indices, [&](auto none) {
      using I = decltype(none);
      const Csr<double, I> T = by_column.matrix<double, I>(support);
      const int64_t begin = T.indptr[0], end = T.indptr[T.rows];
      for (int64_t k = 0; k <= T.rows; k++) start_.push_back(int64_t(T.indptr[k]) - begin);
      for (int64_t p = begin; p < end; p++) {
        which_.push_back(int32_t(T.indices[p]));
        entries_.push_back(T.data[p]);
        squares_[size_t(T.indices[p])] += T.data[p] * T.data[p];
      }
    });
    Z_.start = start_.data(), Z_.which = which_.data(), Z_.entries = entries_.data(), Z_.squares = squares_.data();
  }

  // out[i, s] = k(z_s, x_i) of the rows of a CSR matrix.
  void store(nb::handle X_, nb::handle out_) const {
    const border::CsrInput X(X_, "X");
    const border::Output out(out_, "out");
    const auto K = out.array<double, 2>();
    border::for_index(X.indices, [&](auto none) {
      using I = decltype(none);
      const Csr<double, I> x = X.matrix<double, I>(int64_t(start_.size()) - 1);
      border::check_length(K, 0, x.rows, "rows of X");
      border::check_length(K, 1, Z_.count, "support vectors");
      std::vector<double> values(size_t(Z_.padded));
      nb::gil_scoped_release released;
      for (int64_t i = 0; i < x.rows; i++) {
        const int64_t begin = x.indptr[i];
        const SparseRow<I> row{x.indices + begin, x.data + begin, int64_t(x.indptr[i + 1]) - begin};
        if constexpr (sizeof(I) == sizeof(int32_t))
          table_.sparse_values_i32(Z_, row, values.data());
        else
          table_.sparse_values_i64(Z_, row, values.data());
        for (int64_t s = 0; s < Z_.count; s++) K.data[i * Z_.count + s] = values[size_t(s)];
      }
    });
  }

 private:
  const PredictorTable& table_;
  SparseAnchors Z_{};
  std::vector<int64_t> start_;
  std::vector<int32_t> which_;
  std::vector<double> entries_, squares_;
};

}  // namespace

void bind_predictor(nb::module_& m) {
  nb::class_<Predictor>(m, "Predictor")
      .def(nb::init<int, double, double, int, nb::handle, nb::handle, nb::handle, nb::handle, int, nb::handle>(),
           "kind"_a, "g"_a, "coef0"_a, "degree"_a, "Z"_a, "coefficients"_a.none(), "counts"_a.none(), "intercept"_a,
           "rule"_a, "present"_a)
      .def("decision", &Predictor::decision, "X"_a)
      .def("codes", &Predictor::codes, "X"_a)
      .def_prop_ro("n_features", &Predictor::n_features);
  nb::class_<SparseKernelValues>(m, "SparseKernelValues")
      .def(nb::init<int, double, double, int, nb::handle, int64_t>(), "kind"_a, "g"_a, "coef0"_a, "degree"_a,
           "by_column"_a, "support"_a)
      .def("store", &SparseKernelValues::store, "X"_a, "out"_a);
}
