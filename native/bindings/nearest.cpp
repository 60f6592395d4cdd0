#include "nearest/nearest.h"

#include "core/border.h"

using nb::literals::operator""_a;

static void keep_nearest(nb::handle K_, nb::handle k_xx_, nb::handle k_zz_, int64_t first, int64_t excluded,
                         double rounding, bool clip, nb::handle squares_, nb::handle indices_) {
  const border::Input K(K_, "K"), k_xx(k_xx_, "k_xx"), k_zz(k_zz_, "k_zz");
  const border::Output squares(squares_, "squares"), indices(indices_, "indices");
  const auto k = K.array<double, 2>();
  const auto xx = k_xx.array<double, 1>(), zz = k_zz.array<double, 1>();
  const auto s = squares.array<double, 2>();
  const auto i = indices.array<int64_t, 2>();
  border::check_length(xx, 0, k.shape[0], "rows of K");
  border::check_length(zz, 0, k.shape[1], "columns of K");
  border::check_length(s, 0, k.shape[0], "rows of K");
  border::check_at_least(s, 1, 1, "neighbours");
  border::check_length(i, 0, k.shape[0], "rows of K");
  border::check_length(i, 1, s.shape[1], "columns of squares");
  const NearestTile tile{k.data, xx.data, zz.data, k.shape[0], k.shape[1], first,
                         excluded, rounding, clip, s.data, i.data, s.shape[1]};
  nb::gil_scoped_release released;
  nearest_table().keep(tile);
}

void bind_nearest(nb::module_& m) {
  m.def("keep_nearest", &keep_nearest, "K"_a, "k_xx"_a, "k_zz"_a, "first"_a, "excluded"_a, "rounding"_a, "clip"_a,
        "squares"_a, "indices"_a);
}
