"""NumPy twins of native/smoothed_losses."""

import numpy as np


def hinge(s, squared, width, centre):
    """Value, first and second derivative."""
    if squared:
        part = np.maximum(0.0, s)
        return part**2, 2.0 * part, np.where(s > 0, 2.0, 0.0)
    if width == 0:
        return np.maximum(0.0, s), np.where(s >= 0, 1.0, 0.0), np.zeros(s.shape)
    a = np.clip(centre + s / width, 0.0, 1.0)
    inside = (s > -centre * width) & (s < (1.0 - centre) * width)
    return a * s - 0.5 * width * (a - centre) ** 2, a, np.where(inside, 1.0 / width, 0.0)


def values(loss, F, y, centre):
    """The smooth loss, the multiplier, the second derivative, and the true loss."""
    tube, squared, epsilon, width = loss
    up, down = (0.5, 0.5) if centre is None else (np.maximum(0.0, centre), np.maximum(0.0, -centre))
    s = np.maximum(0.0, np.abs(y - F) - epsilon) if tube else np.maximum(0.0, 1.0 - y * F)
    true = s**2 if squared else s
    if not tube:
        return *hinge(1.0 - y * F, squared, width, up), true
    if squared and epsilon == 0.0:
        return (y - F) ** 2, 2.0 * (y - F), np.full(F.shape, 2.0), true
    above, below = (hinge(sign * (y - F) - epsilon, squared, width, at) for sign, at in ((1, up), (-1, down)))
    return above[0] + below[0], above[1] - below[1], above[2] + below[2], true


def loss_first_order(loss, F, y, c, centre, g, sums):
    tube, squared, epsilon, _ = loss
    smooth, a, curvature, true = values(loss, F, y, centre)
    g[:] = -c * a if tube else -c * a * y
    linear = epsilon * np.abs(c * a) - c * a * y if tube else -c * a
    quadratic = 0.25 * c * a**2 if squared else np.zeros(F.shape)
    lines = [c * true, c * smooth]
    for side in (g > 0, g < 0):
        lines += [g * side, linear * side, quadratic * side]
    sums += np.array([line.sum(axis=0) for line in (*lines, c, c * curvature)])
    return np.count_nonzero(g.any(axis=1))


def loss_second_order(loss, F, y, c, centre, D):
    D[:] = c * values(loss, F, y, centre)[2]


def loss_multipliers(loss, F, y, centre, a):
    a[:] = values(loss, F, y, centre)[1]


def loss_along_line(loss, F, G, y, c, centre, steps, values_, slopes):
    for q, t in enumerate(steps):
        smooth, a, _, _ = values(loss, F + t * G, y, centre)
        values_[q] += (c * smooth).sum(axis=0)
        slopes[q] -= (c * a * G * (1.0 if loss[0] else y)).sum(axis=0)


def hinge_changes(F, y, c, output, inside, change):
    now = (y * F < 1.0)[:, output] & (c[:, output] > 0)
    change[:] = 2.0 * c[:, output] * (now.astype(float) - inside)
    changed = np.count_nonzero(now != inside)
    inside[:] = now
    return changed, np.count_nonzero(now)
