"""Curves through points (x, y): ridge regression on basis functions and through a kernel, support vector regression.

    ridge_poly     f(x) = w'Phi(x),  Phi = (1, x, ..., x^degree),                w = (Phi'Phi + lambda I)^-1 Phi'y
    ridge_gauss    the same with Phi_j = exp(-(x - c_j)^2 / (2 sigma^2)), a bump on each centre c_j
    kernel_ridge   f(x) = sum_i c_i k(x_i, x),  c = (K + lambda I)^-1 y,         k = exp(-(x - z)^2 / (2 sigma^2))
    svr            f(x) = sum_i a_i k(x_i, x) + b,  min 1/2 |w|^2 + C sum max(0, |y_i - f(x_i)| - epsilon)

The first three depend on y linearly: f(x) = b(x)'y, a blend of the targets with weights b_i(x) that do not depend on
them. Support vector regression is no such blend; its terms a_i k(x_i, x) are shown instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin import SVR
from maxmargin.kernel_methods.feature_maps import GaussianBasis, MonomialMap
from maxmargin.kernel_methods.ridge import BasisRegression, KernelRidge
from maxmargin.lab import requests
from maxmargin.lab.jobs import Run
from maxmargin.lab.requests import RequestError
from maxmargin.lab.traces.answers import UNFINISHED, listed, seconds, short
from maxmargin.runtime.validation import Array

MODELS = ("ridge_poly", "ridge_gauss", "kernel_ridge", "svr")
REGRESSION_MAX_POINTS = 1_000
MAX_SAMPLES = 400
DEFAULT_SAMPLES = 200
MAX_DEGREE = 30  # degree
MAX_CONDITION = 1e12  # a condition number from which on half of the digits and more are lost
EDGE_TOLERANCE = 1e-6  # of the tube: how near to it a residual is on it


@np.errstate(over="ignore", invalid="ignore")  # high powers far away are infinite, and None in the answer
def regress(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """A curve through points.

    request: ``points`` [[x, y], ...]; ``model``, one of ``MODELS``; ``degree``; ``centres`` (``"points"``, a number of
        equally spaced ones, or a list); ``sigma``; ``lambda``; ``C``, ``epsilon`` of the support vector machine;
        ``view`` {x0, x1, ...}, ``samples`` <= 400 of the curve in it
    Returns ``curve`` [[x, f(x)], ...]; ``tube`` with ``upper`` and ``lower`` (None but for svr); ``support``;
        ``residuals`` y_i - f(x_i); ``coefficients`` (and ``intercept``); ``condition`` of the system solved; ``rmse``;
        ``comment``, sentences; ``script``.
    """
    control = control or Run()
    x, y, settings = _checked(request)
    model = _fitted(x, y, settings, control)
    x0, x1 = _ends(request, x)
    count = int(requests.number(request, "samples", DEFAULT_SAMPLES, least=2, most=MAX_SAMPLES, integer=True))
    at = np.linspace(x0, x1, count)
    f, at_points = model.predict(at[:, None]), model.predict(x[:, None])
    residuals = y - at_points
    is_svr = settings["model"] == "svr"
    epsilon = settings.get("epsilon", 0.0)
    condition = None if is_svr else _condition(model, x, settings)
    return {
        "model": settings["model"],
        "curve": listed(np.column_stack((at, f))),
        "tube": {"upper": listed(f + epsilon), "lower": listed(f - epsilon)} if is_svr else None,
        "support": model.support_.tolist() if is_svr else list(range(len(x))),
        "residuals": listed(residuals),
        "coefficients": listed(_coefficients(model, settings, len(x))),
        "intercept": short(float(model.intercept_[0] if is_svr else model.intercept_)),
        "condition": short(condition) if condition is not None else None,
        "rmse": short(float(np.sqrt(np.mean(residuals**2)))),
        "comment": _comment(model, x, residuals, condition, settings),
        "script": script(request),
    }


@np.errstate(over="ignore", invalid="ignore")
def blend(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """One prediction, made of the targets.

    request: as for :func:`regress`, and ``at``, an x
    Returns ``weights`` b_i(x) with ``value`` f(x) = sum_i b_i y_i, and ``exact`` True; of support vector regression,
        which has none, the ``weights`` are a_i k(x_i, x), whose sum and the ``intercept`` are f(x), and ``exact`` is
        False. ``sentence`` says so.
    """
    control = control or Run()
    x, y, settings = _checked(request)
    at = requests.number(request, "at", least=-2 * requests.MAX_COORDINATE, most=2 * requests.MAX_COORDINATE)
    model = _fitted(x, y, settings, control)
    value = float(model.predict([[at]])[0])
    intercept = 0.0
    if settings["model"] == "svr":
        weights, intercept = np.zeros(len(x)), float(model.intercept_[0])
        if len(model.support_):
            k = model.kernel_.matrix(np.array([[at]]), model.support_vectors_)[0]
            weights[model.support_] = model.dual_coef_[0] * k
        count = int(np.count_nonzero(np.abs(weights) > 1e-3 * (np.abs(weights).max(initial=0.0) or 1.0)))
        sentence = (
            "Support vector regression does not blend the targets: which points count depends on y itself. Shown are "
            f"its terms a_i k(x_i, x); with b = {intercept:.3g} they sum to f({at:.3g}) = {value:.3g}. {count} of them "
            "matter."
        )
    else:
        weights = model.blend_weights([[at]])[0]
        total, largest = float(weights.sum()), int(np.argmax(np.abs(weights)))
        sentence = (
            f"f({at:.3g}) = {value:.3g} is the sum of b_i(x) y_i. The weights do not depend on y and sum to "
            f"{total:.3g}; the largest, {weights[largest]:.3g}, is that of the point at x\u00a0=\u00a0{x[largest]:.3g}."
        )
        if (weights < -1e-3 * np.abs(weights).max()).any():
            sentence += " Some are negative: raising those targets lowers the curve here."
    return {
        "at": at,
        "weights": listed(weights),
        "value": short(value),
        "intercept": short(intercept),
        "exact": settings["model"] != "svr",
        "sentence": sentence,
    }


def _checked(request: Mapping[str, Any]) -> tuple[Array, Array, dict[str, Any]]:
    """x, y, and the model's name and parameters."""
    table = requests.rows(request, "points", 2, "x and y")
    if len(table) == 0:
        raise RequestError("There are no points: add some first.", "points")
    if len(table) > REGRESSION_MAX_POINTS:
        raise RequestError(
            f"This tab takes at most {REGRESSION_MAX_POINTS:,} points, and there are {len(table):,}: remove some.",
            "points",
        )
    name = requests.choice(request, "model", MODELS, "ridge_poly")
    if name == "svr" and len(table) < 2:
        raise RequestError("Support vector regression needs two points or more: add another one.", "points")
    found: dict[str, Any] = {"model": name}
    if name == "ridge_poly":
        found["degree"] = int(requests.number(request, "degree", 3, least=0, most=MAX_DEGREE, integer=True))
    else:
        found["sigma"] = requests.number(request, "sigma", 1.0, least=1e-6, most=1e9)
    if name == "ridge_gauss":
        found["centres"] = _centres(request, table[:, 0])
    if name == "svr":
        found["C"] = requests.number(request, "C", 1.0, least=requests.SMALLEST_C, most=requests.LARGEST_C)
        found["epsilon"] = requests.number(request, "epsilon", 0.1, least=0.0, most=requests.MAX_COORDINATE)
    else:
        found["lambda"] = requests.number(request, "lambda", 0.1, least=0.0, most=1e12)
    return table[:, 0], table[:, 1], found


def _centres(request: Mapping[str, Any], x: Array) -> list[float] | None:
    """None for the points themselves."""
    given = request.get("centres", "points")
    if given is None or given == "points":
        return None
    if isinstance(given, list):
        if not 1 <= len(given) <= MAX_SAMPLES:
            raise RequestError(f"centres must be 1 to {MAX_SAMPLES} numbers; there are {len(given):,}.", "centres")
        far = requests.MAX_COORDINATE
        return [requests.number({"centres": centre}, "centres", least=-far, most=far) for centre in given]
    if isinstance(given, str):
        raise RequestError('centres must be "points", a number of them, or a list of places.', "centres")
    count = int(requests.number(request, "centres", least=1, most=MAX_SAMPLES, integer=True))
    return list(np.linspace(x.min(), x.max(), count).tolist()) if count > 1 else [float(x.min() + x.max()) / 2]


def _ends(request: Mapping[str, Any], x: Array) -> tuple[float, float]:
    room = 0.1 * (float(np.ptp(x)) or 1.0)
    frame = {"x0": float(x.min()) - room, "x1": float(x.max()) + room, **requests.part(request, "view")}
    far = 2 * requests.MAX_COORDINATE
    x0, x1 = (requests.number(frame, name, least=-far, most=far) for name in ("x0", "x1"))
    if not x0 < x1:
        raise RequestError("The view is empty: x0 must be below x1.", "view")
    return x0, x1


def _estimator(settings: dict[str, Any]) -> Any:
    name = settings["model"]
    if name == "svr":
        gamma = 1.0 / (2.0 * settings["sigma"] ** 2)
        return SVR(kernel="rbf", gamma=gamma, C=settings["C"], epsilon=settings["epsilon"], tol=1e-6)
    if name == "kernel_ridge":
        return KernelRidge(alpha=settings["lambda"], kernel="rbf", gamma=1.0 / (2.0 * settings["sigma"] ** 2))
    if name == "ridge_poly":
        basis: Any = MonomialMap(settings["degree"], include_bias=True) if settings["degree"] else _constant
    else:
        basis = GaussianBasis(sigma=_basis_width(settings), centers=settings["centres"])
    return BasisRegression(basis, alpha=settings["lambda"])


def _basis_width(settings: dict[str, Any]) -> float:
    """exp(-(x - c)^2 / (2 sigma^2)), as in all tabs: the library's basis has no 2."""
    return math.sqrt(2.0) * float(settings["sigma"])


def _constant(X: Array) -> Array:
    """The basis of degree 0."""
    return np.ones((X.shape[0], 1))


def _fitted(x: Array, y: Array, settings: dict[str, Any], control: Run) -> Any:
    model = _estimator(settings)
    if settings["model"] == "svr":
        model.set_params(max_seconds=seconds(control))
    try:
        model.fit(x[:, None], y)
        finite = np.isfinite(_coefficients(model, settings, len(x))).all()
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise RequestError(" ".join(str(error).split()), "points") from error
    if not finite:
        raise RequestError("The powers of x overflow: use a lower degree, or points nearer to 0.", "degree")
    return model


def _coefficients(model: Any, settings: dict[str, Any], n: int) -> Array:
    """w, c, or the a_i of all points."""
    if settings["model"] == "svr":
        out = np.zeros(n)
        out[model.support_] = model.dual_coef_[0]
        return out
    return np.asarray(model.dual_coef_ if settings["model"] == "kernel_ridge" else model.coef_)


def _condition(model: Any, x: Array, settings: dict[str, Any]) -> float:
    """Largest over smallest eigenvalue of Phi'Phi + lambda I, or of K + lambda I."""
    if settings["model"] == "kernel_ridge":
        values = np.linalg.eigvalsh(model.kernel_.matrix(x[:, None], x[:, None]))
    else:
        Phi = np.asarray(model.basis_.transform(x[:, None]), np.float64)
        values = np.linalg.svd(Phi, compute_uv=False) ** 2
        values = np.pad(values, (0, max(0, Phi.shape[1] - len(values))))
    low, high = max(0.0, float(values.min())) + settings["lambda"], float(values.max()) + settings["lambda"]
    return high / low if low > 0 else np.inf


def _comment(model: Any, x: Array, residuals: Array, condition: float | None, settings: dict[str, Any]) -> list[str]:
    name, n = settings["model"], len(x)
    rmse = float(np.sqrt(np.mean(residuals**2)))
    if name == "svr":
        epsilon, C = settings["epsilon"], settings["C"]
        beyond = int(np.count_nonzero(np.abs(residuals) > epsilon + EDGE_TOLERANCE * (1.0 + epsilon)))
        count = len(model.support_)
        rest = "" if count == n else " The others could be removed without changing f."
        return [
            f"A tube of half-width epsilon = {epsilon:.3g} around f: errors inside it cost nothing, those beyond it "
            f"C = {C:.3g} times their excess.",
            f"{count} of {n} points are support vectors: {count - beyond} on the edge of the tube and {beyond} beyond "
            f"it.{rest}",
            *([] if model.report_.converged else [UNFINISHED]),
        ]
    penalty = settings["lambda"]
    method = "least squares, since lambda = 0" if penalty == 0 else f"ridge regression with lambda = {penalty:.3g}"
    if name == "ridge_poly":
        d = settings["degree"]
        what = "the constant 1" if d == 0 else f"the {d + 1} powers 1, x" + (f", ..., x^{d}" if d > 1 else "")
    elif name == "ridge_gauss":
        what = f"{model.basis_.centers_.shape[0]} bumps of width sigma = {settings['sigma']:.3g}"
    if name == "kernel_ridge":
        method = "interpolation, since lambda = 0" if penalty == 0 else f"lambda = {penalty:.3g}"
        first = (
            f"f(x) = sum of c_i k(x_i, x) with a Gaussian kernel of width sigma = {settings['sigma']:.3g}: {method}."
        )
    else:
        first = f"f(x) = w'Phi(x) with {what}: {method}."
    size = float(np.linalg.norm(_coefficients(model, settings, n)))
    lines = [first, f"Root mean square error {rmse:.3g}; the coefficients have length {size:.3g}."]
    if condition is not None and not condition < MAX_CONDITION:
        text = "singular" if np.isinf(condition) else f"ill-conditioned ({condition:.1e})"
        lines.append(
            f"The linear system is {text}: the curve depends on rounding and on every point. A larger lambda helps."
        )
    return lines


def warm_up() -> None:
    """Fit a few points by every model, so that all compiled code is loaded."""
    points = [[-0.8, 0.1], [-0.3, 0.4], [0.2, 0.3], [0.6, -0.2], [0.9, 0.1]]
    for name in MODELS:
        regress({"points": points, "model": name})
        blend({"points": points, "model": name, "at": 0.0})


def script(state: Mapping[str, Any]) -> str:
    """The curve as a Python script.

    state: as for :func:`regress`
    Returns source that leaves the model in ``model`` and the curve in ``at`` and ``f``.
    """
    from maxmargin.lab.script import call, heading, literal

    x, y, settings = _checked(state)
    x0, x1 = _ends(state, x)
    count = int(requests.number(state, "samples", DEFAULT_SAMPLES, least=2, most=MAX_SAMPLES, integer=True))
    name, gamma = settings["model"], 1.0 / (2.0 * settings.get("sigma", 1.0) ** 2)
    imports = ["from maxmargin.kernel_methods.ridge import BasisRegression"]
    if name == "svr":
        imports = ["from maxmargin import SVR"]
        given = {"kernel": "rbf", "gamma": gamma, "C": settings["C"], "epsilon": settings["epsilon"], "tol": 1e-6}
        code = call("SVR", given)
    elif name == "kernel_ridge":
        imports = ["from maxmargin.kernel_methods.ridge import KernelRidge"]
        code = call("KernelRidge", {"alpha": settings["lambda"], "kernel": "rbf", "gamma": gamma})
    elif name == "ridge_gauss":
        imports.insert(0, "from maxmargin.kernel_methods.feature_maps import GaussianBasis")
        basis = call("GaussianBasis", {"sigma": _basis_width(settings), "centers": settings["centres"]})
        code = f"BasisRegression({basis}, alpha={settings['lambda']!r})"
    else:
        imports.insert(0, "from maxmargin.kernel_methods.feature_maps import MonomialMap")
        basis = f"MonomialMap({settings['degree']}, include_bias=True)"
        if settings["degree"] == 0:
            imports, basis = imports[1:], "lambda X: np.ones((len(X), 1))"
        code = f"BasisRegression({basis}, alpha={settings['lambda']!r})"
    lines = [
        *heading("A curve"),
        *imports,
        "",
        *literal("points", np.column_stack([x, y]), "x, y"),
        "X, y = points[:, :1], points[:, 1]",
        "",
        f"model = {code}.fit(X, y)",
        f"at = np.linspace({x0!r}, {x1!r}, {count})",
        "f = model.predict(at[:, None])",
        'print("residuals", y - model.predict(X))',
        "",
        "import matplotlib.pyplot as plt",
        "",
        'plt.plot(X[:, 0], y, "o")',
        "plt.plot(at, f)",
        *(
            [f"plt.fill_between(at, f - {settings['epsilon']!r}, f + {settings['epsilon']!r}, alpha=0.2)"]
            if name == "svr"
            else []
        ),
        'plt.savefig("maxmargin-lab.png", dpi=150)',
        'print("wrote maxmargin-lab.png")',
    ]
    return "\n".join(lines) + "\n"
