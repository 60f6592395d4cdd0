"""The search for the point nearest to x where functions are positive, within a box.

    minimise |x' - x|^2    where   f_j(x') >= margin for all j,    low <= x' <= high

Of linear functions this is a convex problem, solved in its dual: x' = clip(x + A'l, low, high) for multipliers l >= 0,
one after the other by bisection, each until its constraint holds. Other functions are replaced by their tangents at a
point where they are positive, the convex problem is solved, and its solution is brought back across the boundary, again
and again. This finds a local minimum, so that the search begins at several points, in directions that differ.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from maxmargin.inspection._functions import FittedFunctions, dense
from maxmargin.inspection.sensitivities import gradient
from maxmargin.kernels import Linear
from maxmargin.runtime.validation import Array

MAX_STARTS = 8  # points with the wanted prediction that the search begins at
# Segments from x, to the nearest support vectors, away from them and along the features, on which the boundary is
# looked for, and the places on each: their values are a matrix of kernel values per place.
MAX_SEGMENTS = 256
SEGMENT_PLACES = 16
DISTINCT_MAX_COSINE = 0.9  # of the directions of two starts: closer ones end at the same point of the boundary
SEARCH_MAX_STEPS = 100
DUAL_PASSES = 200
MAX_BISECTIONS = 60
RELATIVE_PROGRESS = 1e-6  # of the distance, below which a search ends


class BoundarySearch:
    """The search for one point."""

    def __init__(self, functions: FittedFunctions, x: Array, low: Array, high: Array, margin: float) -> None:
        self.functions, self.x, self.low, self.high, self.margin = functions, x, low, high, margin
        self.anchors = dense(functions.anchors)
        terms = np.abs(functions.kernel.matrix(x[None], self.anchors)[0]) @ np.abs(functions.coefficients)
        size = float((terms + np.abs(functions.intercept)).max(initial=0.0))
        self.aim = margin * (1.0 + 1e-6) + 1e-12 * size  # a little more than what is accepted, for rounding

    def values(self, point: Array) -> Array:
        """All functions at one point."""
        f = self.functions
        return f.kernel.matrix(point[None], self.anchors)[0] @ f.coefficients + f.intercept

    def value(self, point: Array) -> float:
        """The smallest function."""
        return float(self.values(point).min(initial=np.inf))

    def slopes(self, point: Array) -> Array:
        """The derivatives of all functions, one row each."""
        kernel, C = self.functions.kernel, self.functions.coefficients
        return np.array([gradient(kernel, point, self.anchors, C[:, t]) for t in range(C.shape[1])])

    def clip(self, point: Array) -> Array:
        return np.minimum(np.maximum(point, self.low), self.high)

    def run(self, wanted: str) -> Array:
        start = self.clip(self.x)
        if self.value(start) >= self.margin:
            return start
        if isinstance(self.functions.kernel, Linear):
            found = self.project(start, self.values(start), self.slopes(start))
            found = None if found is None else self.restore(found)
            if found is None:
                raise ValueError(f"there is no point with the prediction {wanted} within the bounds.")
            return found
        best = None
        for begin in self.starts():
            found = self.descend(begin)
            if best is None or np.linalg.norm(found - self.x) < np.linalg.norm(best - self.x):
                best = found
        if best is None:
            raise ValueError(
                f"no point with the prediction {wanted} was found within the bounds: the search began at the support "
                "vectors. Fix fewer features, widen the bounds, or lower the margin."
            )
        return best

    def starts(self) -> list[Array]:
        """Points with the wanted prediction in different directions, the nearest of each; or where f rises to."""
        x, inside = self.clip(self.x), np.unique(self.clip(self.anchors), axis=0)
        near = inside[np.argsort(np.linalg.norm(inside - x, axis=1), kind="stable")[: MAX_SEGMENTS // 2]]
        ends, free = [near, self.clip(2.0 * x - near), self.rise(x)[None]], np.flatnonzero(self.low < self.high)
        if 2 * len(free) <= MAX_SEGMENTS:
            along = np.diag(np.abs(self.anchors - x).max(axis=0, initial=0.0))[free]
            ends += [self.clip(x + along), self.clip(x - along)]
        found = self.chosen(x, self.crossed(x, np.concatenate(ends)))
        if found:
            return found
        values = self.functions(inside).min(axis=1)
        risen = [self.rise(point) for point in inside[np.argsort(-values, kind="stable")[:MAX_STARTS]]]
        return [point for point in risen if self.value(point) >= self.margin]

    def crossed(self, x: Array, ends: Array) -> Array:
        """On each segment from x the nearest of some places that has the wanted prediction, if there is one."""
        found, left = [], ends
        for place in np.arange(1, SEGMENT_PLACES + 1) / SEGMENT_PLACES:
            points = x + place * (left - x)
            good = self.functions(points).min(axis=1) >= self.margin
            found.append(points[good])
            left = left[~good]
            if len(left) == 0:
                break
        return np.concatenate(found)

    def chosen(self, x: Array, points: Array) -> list[Array]:
        """The nearest points of different directions."""
        sizes, chosen, directions = np.linalg.norm(points - x, axis=1), list[Array](), np.empty((0, len(x)))
        for i in np.argsort(sizes, kind="stable"):
            direction = (points[i] - x) / (sizes[i] or 1.0)
            if (directions @ direction <= DISTINCT_MAX_COSINE).all():
                chosen.append(points[i])
                directions = np.vstack([directions, direction])
            if len(chosen) == MAX_STARTS:
                break
        return chosen

    def rise(self, point: Array) -> Array:
        """Where the smallest function is larger."""

        def downhill(at: Array) -> tuple[float, Array]:
            values = self.values(at)
            t = int(values.argmin())
            C = self.functions.coefficients
            return -float(values[t]), -gradient(self.functions.kernel, at, self.anchors, C[:, t])

        reach = 2.0 * np.abs(self.anchors - point).max(axis=0, initial=0.0)  # beyond, polynomials rise for ever
        box = np.column_stack((np.maximum(self.low, point - reach), np.minimum(self.high, point + reach)))
        found = minimize(downhill, point, jac=True, method="L-BFGS-B", bounds=box)
        return self.clip(found.x)

    def descend(self, point: Array) -> Array:
        """Nearer to x along the boundary, from a point with the wanted prediction."""
        point = self.toward(self.clip(self.x), point)
        for _ in range(SEARCH_MAX_STEPS):
            before = float(np.linalg.norm(point - self.x))
            step = self.project(point, self.values(point), self.slopes(point))
            if step is None:
                return point
            for share in 0.5 ** np.arange(12.0):
                tried = self.restore(self.clip(point + share * (step - point)))
                if tried is not None and np.linalg.norm(tried - self.x) < before:
                    point = tried
                    break
            if before - float(np.linalg.norm(point - self.x)) <= RELATIVE_PROGRESS * before:
                return point
        return point

    def toward(self, outside: Array, inside: Array) -> Array:
        """Where the segment crosses the boundary, on the side of ``inside``."""
        for _ in range(MAX_BISECTIONS):
            middle = (outside + inside) / 2.0
            outside, inside = (outside, middle) if self.value(middle) >= self.margin else (middle, inside)
        return inside

    def restore(self, point: Array) -> Array | None:
        """A point near this one on the right side; None if a few Newton steps find none."""
        for _ in range(8):
            if self.value(point) >= self.margin:
                return point
            values, slopes = self.values(point), self.slopes(point)
            t = int(values.argmin())
            free = np.where(self.low < self.high, slopes[t], 0.0)
            size = float(free @ free)
            if size == 0.0:
                return None
            point = self.clip(point + (self.aim - values[t]) / size * free)
        return None

    def project(self, at: Array, values: Array, slopes: Array) -> Array | None:
        """The point nearest to x where values + slopes (x' - at) >= margin, within the box; None if there is none."""
        needed = self.aim - values + slopes @ at
        farthest = np.where(slopes > 0, self.high, np.where(slopes < 0, self.low, 0.0))
        with np.errstate(invalid="ignore"):
            reach = np.where(slopes != 0, slopes * farthest, 0.0).sum(axis=1)
        if (reach < needed).any():
            return None
        weights = np.zeros(len(values))
        for _ in range(DUAL_PASSES):
            before = weights.copy()
            for t in range(len(weights)):
                weights[t] = self._weight(weights, t, slopes, float(needed[t]))
            if np.abs(weights - before).max(initial=0.0) <= 1e-12 * max(1.0, weights.max(initial=0.0)):
                break
        return self.clip(self.x + weights @ slopes)

    def _weight(self, weights: Array, t: int, slopes: Array, needed: float) -> float:
        """The smallest multiplier for which constraint t holds, given the others."""
        others = self.x + weights @ slopes - weights[t] * slopes[t]

        def reached(weight: float) -> float:
            return float(slopes[t] @ self.clip(others + weight * slopes[t]))

        if reached(0.0) >= needed:
            return 0.0
        low, high = 0.0, max((needed - reached(0.0)) / float(slopes[t] @ slopes[t]), 1e-300)
        if abs(reached(high) - needed) <= 1e-14 * abs(needed):  # no feature is at its bound
            return high
        for _ in range(1000):
            if reached(high) >= needed:
                break
            low, high = high, 2.0 * high
        for _ in range(MAX_BISECTIONS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if reached(middle) >= needed else (middle, high)
        return high
