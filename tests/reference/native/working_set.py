"""NumPy twins of native/working_set and native/conditions."""

import numpy as np


def group_sides(g, a, lower, upper, group, ids, zero_offset, groups):
    """(violation, middle of each group)."""
    worst, middle = 0.0, np.zeros(groups)
    for k in range(groups):
        mine = ids[group[ids] == k]
        up, down = g[mine][a[mine] < upper[mine]], g[mine][a[mine] > lower[mine]]
        rise = up.min(initial=0.0 if zero_offset else np.inf)
        fall = down.max(initial=0.0 if zero_offset else -np.inf)
        worst = max(worst, fall - rise)
        ends = [end for end in (rise, fall) if np.isfinite(end)]
        middle[k] = sum(ends) / len(ends) if ends else 0.0
    return worst, middle


def side_excess(g, a, lower, upper, group, ids, middle):
    above = g[ids] - middle[group[ids]]
    out = np.full(len(ids), -np.inf)
    out = np.where(a[ids] < upper[ids], -above, out)
    return np.where(a[ids] > lower[ids], np.maximum(out, above), out)


def scan_conditions(gradient, a, lower, upper, group, groups):
    out = np.zeros((5, groups + 1))
    for k in range(groups + 1):
        mine = group == (k if k < groups else -1)
        g, x, may_rise, may_fall = gradient[mine], a[mine], (a < upper)[mine], (a > lower)[mine]
        known = k == groups and mine.any()
        out[0, k] = g[may_rise].min(initial=0.0 if known else np.inf)
        out[1, k] = g[may_fall].max(initial=0.0 if known else -np.inf)
        free = may_rise & may_fall
        out[2:, k] = g[free].sum(), free.sum(), x.sum()
    return out


def slackness(gradient, a, lower, upper, group, offset):
    pull = gradient - np.append(offset, 0.0)[group]
    outside = max(0.0, (lower - a).max(initial=0.0), (a - upper).max(initial=0.0))
    slack = np.where(pull > 0, a - lower, upper - a)
    finite = np.isfinite(slack)
    return (np.abs(pull) * np.where(finite, slack, 0.0)).max(initial=0.0), outside
