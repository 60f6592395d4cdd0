#include "word_products/word_products.h"

#include "core/simd.h"

namespace LEVEL {

int64_t add(const WordProducts& products, int64_t first, int64_t max_operations) {
  const auto &F = products.F, &E = products.E, &Phi = products.Phi;
  const int64_t others = products.others;
  double* similarity = products.similarity;
  int64_t operations = 0, w = first;
  for (; w < F.rows && operations < max_operations; w++) {
    operations++;
    if (F.indptr[w] == F.indptr[w + 1]) continue;
    for (int64_t j = 0; j < others; j++) similarity[j] = 0.0;
    for (int64_t p = E.indptr[w]; p < E.indptr[w + 1]; p++) {
      const int64_t f = E.indices[p];
      const double weight = products.h[f];
      for (int64_t q = Phi.indptr[f]; q < Phi.indptr[f + 1]; q++) similarity[Phi.indices[q]] += weight * Phi.data[q];
      operations += Phi.indptr[f + 1] - Phi.indptr[f] + 1;
    }
    for (int64_t p = F.indptr[w]; p < F.indptr[w + 1]; p++) {
      const double count = F.data[p];
      double* row = products.K + F.indices[p] * others;
      for (int64_t j = 0; j < others; j++) row[j] += count * similarity[j];
      operations += others;
    }
  }
  return w;
}

const WordProductsTable word_products_table = {add};

}  // namespace LEVEL
