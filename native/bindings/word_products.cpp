#include "word_products/word_products.h"

#include <vector>

#include "core/compound.h"

using nb::literals::operator""_a;

static int64_t add_word_products(nb::handle F_, nb::handle E_, nb::handle h_, nb::handle Phi_, nb::handle K_,
                                 int64_t first, int64_t max_operations) {
  const border::CsrInput F(F_, "F"), E(E_, "E"), Phi(Phi_, "Phi");
  const border::Input h(h_, "h");
  const border::Output K(K_, "K");
  const auto k = K.array<double, 2>();
  const auto weights = h.array<double, 1>();
  std::vector<double> similarity(k.shape[1]);
  const WordProducts products{F.matrix<double, int64_t>(k.shape[0]),
                              E.matrix<double, int64_t>(weights.shape[0]),
                              Phi.matrix<double, int64_t>(k.shape[1]),
                              weights.data,
                              k.data,
                              k.shape[1],
                              similarity.data()};
  border::check_count("words of E", products.E.rows, products.F.rows, "words of F");
  border::check_count("features of Phi", products.Phi.rows, weights.shape[0], "entries of h");
  border::check_range(first, products.F.rows, products.F.rows, "words");
  border::check_scalar(max_operations > 0, "max_operations", "above 0", double(max_operations));
  nb::gil_scoped_release released;
  return word_products_table().add(products, first, max_operations);
}

void bind_word_products(nb::module_& m) {
  m.def("add_word_products", &add_word_products, "F"_a, "E"_a, "h"_a, "Phi"_a, "K"_a, "first"_a, "max_operations"_a);
}
