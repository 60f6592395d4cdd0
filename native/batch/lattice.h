// Points on a lattice: x_q = offset_q + step k_q with small integers k_q. Pixels, counts and ratings are such points, also
// after they were divided by 255, or shifted and scaled as a whole. Their squared distances are
//
//     |x - z|^2 = step^2 (|k|^2 + |l|^2 - 2 k'l),
//
// an exact integer that products of two bytes, or of one, give in half or a quarter of the time of float32 ones
// (batch/integer_tile.h).
#pragma once
#include "batch/batch.h"

namespace batch {

// Looks at a sample of the points only: packing (BatchTable::pack_integers) finds out whether the others belong to it.
// step is 0 where there is no lattice.
Lattice lattice_of(const Points& points, const Segments& segments);

}  // namespace batch
