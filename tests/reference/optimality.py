"""Is it optimal? Violation, objectives and feasibility of support vector machines, from the definitions.

A fitted model is given by its coefficients (y_i alpha_i, or alpha_i - alpha*_i), its intercept and, where it has one,
rho or epsilon; K is the kernel matrix, c the bounds (C times the weights). With f = K a, the primal problems are

    c_svc      1/2 a'Ka + sum c_i max(0, 1 - y_i (f_i + b))
    nu_svc     1/2 a'Ka - nu rho sum c_i + sum c_i max(0, rho - y_i (f_i + b))
    eps_svr    1/2 a'Ka + sum c_i max(0, |y_i - f_i - b| - epsilon)
    nu_svr     1/2 a'Ka + nu epsilon sum c_i + sum c_i max(0, |y_i - f_i - b| - epsilon)
    one_class  1/2 a'Ka - nu rho sum c_i + sum c_i max(0, rho - f_i)

and the dual problems maximise -1/2 a'Ka plus sum y_i a_i (c_svc), 0 (nu_svc, one_class), y'a - epsilon |a|_1 (eps_svr)
or y'a (nu_svr). The violation is LIBSVM's m(a) - M(a) (Fan, Chen & Lin 2005): the largest difference of the dual's
derivatives between a variable that may fall and one that may rise, inside each equality constraint.

If the violation is v and the intercept lies between the two, primal - dual = sum of multiplier times slack <= v sum c:
each row's share is the product of its distance from the bound, at most c_i, and a derivative of at most v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

AT_BOUND = 1e-12  # share of its bound up to which a variable counts as being there


@dataclass(frozen=True)
class Optimality:
    """What the conditions say: all are zero, and primal equals dual, at the optimum."""

    violation: float
    primal: float
    dual: float
    outside: float
    equality: float

    @property
    def gap(self):
        return self.primal - self.dual


def _violation(groups):
    """m - M of variables given as (derivative, may rise, may fall), one triple per equality constraint."""
    worst = 0.0
    for g, rise, fall in groups:
        if rise.any() and fall.any():
            worst = max(worst, float(g[fall].max() - g[rise].min()))
    return worst


def _without_equality(g, rise, fall):
    """The same where no equality ties the variables: each derivative is compared with zero."""
    return max(0.0, float(np.max(-g[rise], initial=0.0)), float(np.max(g[fall], initial=0.0)))


def _inside(a, lower, upper):
    width = AT_BOUND * (upper - lower)
    width = np.where(np.isfinite(width), width, 0.0)
    return a < upper - width, a > lower + width


def _outside(a, lower, upper):
    return float(max(0.0, np.max(lower - a, initial=0.0), np.max(a - upper, initial=0.0)))


def c_svc(K, a, b, y, c, fit_intercept=True):
    """Classification with C; a row of infinite c has no slack, and its loss is left out."""
    f, lower, upper = K @ a, np.where(y > 0, 0.0, -c), np.where(y > 0, c, 0.0)
    g, (rise, fall) = f - y, _inside(a, lower, upper)
    soft = np.where(np.isfinite(c), c, 0.0)
    own = a @ f
    return Optimality(
        violation=_violation([(g, rise, fall)]) if fit_intercept else _without_equality(g, rise, fall),
        primal=float(own / 2 + soft @ np.maximum(0, 1 - y * (f + b))),
        dual=float(y @ a - own / 2),
        outside=_outside(a, lower, upper),
        equality=abs(float(a.sum())) if fit_intercept else 0.0,
    )


def nu_svc(K, a, b, rho, y, c, nu, fit_intercept=True):
    """Classification with nu; ``a``, ``b`` and ``rho`` are those of LIBSVM's problem, before it divides by rho."""
    f, alpha = K @ a, y * a
    total, (rise, fall) = nu * c.sum(), _inside(alpha, 0.0 * c, c)
    g = y * f
    if fit_intercept:
        groups = [(g[y == s], rise[y == s], fall[y == s]) for s in (1, -1)]
        equality = max(abs(float(alpha[y == s].sum() - total / 2)) for s in (1, -1))
    else:
        groups, equality = [(g, rise, fall)], abs(float(alpha.sum() - total))
    own = a @ f
    return Optimality(
        violation=_violation(groups),
        primal=float(own / 2 - total * rho + c @ np.maximum(0, rho - y * (f + b))),
        dual=float(-own / 2),
        outside=_outside(alpha, 0.0 * c, c),
        equality=equality,
    )


def one_class(K, a, rho, c, nu):
    """The support of a distribution."""
    f, total, (rise, fall) = K @ a, nu * c.sum(), _inside(a, 0.0 * c, c)
    own = a @ f
    return Optimality(
        violation=_violation([(f, rise, fall)]),
        primal=float(own / 2 - total * rho + c @ np.maximum(0, rho - f)),
        dual=float(-own / 2),
        outside=_outside(a, 0.0 * c, c),
        equality=abs(float(a.sum() - total)),
    )


def _two_sides(a, g, c, epsilon):
    """Variables alpha in [0, c] and -alpha* in [-c, 0] with the derivatives g + epsilon and g - epsilon."""
    up, down = np.maximum(a, 0), np.minimum(a, 0)
    zero = 0.0 * c
    return (g + epsilon, *_inside(up, zero, c)), (g - epsilon, *_inside(down, -c, zero))


def eps_svr(K, a, b, y, c, epsilon, fit_intercept=True):
    """Regression with a tube of given width; of the two multipliers of a row one is zero."""
    f = K @ a
    sides = _two_sides(a, f - y, c, epsilon)
    joined = tuple(np.concatenate(parts) for parts in zip(*sides, strict=True))
    own, soft = a @ f, np.where(np.isfinite(c), c, 0.0)
    return Optimality(
        violation=_violation([joined]) if fit_intercept else _without_equality(*joined),
        primal=float(own / 2 + soft @ np.maximum(0, np.abs(y - f - b) - epsilon)),
        dual=float(y @ a - epsilon * np.abs(a).sum() - own / 2),
        outside=_outside(a, -c, c),
        equality=abs(float(a.sum())) if fit_intercept else 0.0,
    )


def nu_svr(K, a, b, epsilon, y, c, nu, fit_intercept=True):
    """Regression with nu. alpha_i and alpha*_i may both be positive, and only their difference is public: the violation
    is known only where |a|_1 takes up all of nu sum c, and NaN elsewhere."""
    f, total = K @ a, nu * c.sum()
    own, used = a @ f, np.abs(a).sum()
    up, down = _two_sides(a, f - y, c, 0.0)
    if not abs(used - total) <= 1e-9 * total:
        violation = np.nan
    elif fit_intercept:
        violation = _violation([up, down])
    else:  # one equality: of alpha with derivative f - y, and alpha* with y - f
        flipped = (-down[0], down[2], down[1])
        violation = _violation([tuple(np.concatenate(parts) for parts in zip(up, flipped, strict=True))])
    return Optimality(
        violation=violation,
        primal=float(own / 2 + total * epsilon + c @ np.maximum(0, np.abs(y - f - b) - epsilon)),
        dual=float(y @ a - own / 2),
        outside=max(_outside(a, -c, c), float(used - total)),
        equality=abs(float(a.sum())) if fit_intercept else 0.0,
    )


def joint(K, A, label, c):
    """The joint multiclass model of Crammer & Singer (2001); column k of A belongs to class k."""
    F, rows = K @ A, np.arange(len(label))
    E = np.ones(A.shape)
    E[rows, label] = 0.0
    upper = np.zeros(A.shape)
    upper[rows, label] = c
    g = F + E
    rise = upper - A > AT_BOUND * c[:, None]
    least = np.where(rise, g, np.inf).min(axis=1)
    own = float(np.sum(A * F))
    loss = np.maximum(0, g.max(axis=1) - F[rows, label])
    return Optimality(
        violation=float(np.max(g.max(axis=1) - least, initial=0.0)),
        primal=own / 2 + float(c @ loss),
        dual=-own / 2 - float(np.sum(E * A)),
        outside=float(max(0.0, np.max(A - upper))),
        equality=float(np.abs(A.sum(axis=1)).max()),
    )
