"""From a target to the task, and from the task and the options to an estimator.

    no target                                    outliers   OneClassSVM
    strings, or whole numbers that come often    classify   SVC, NuSVC (--nu), LinearSVC (--kernel linear)
    other numbers                                regress    SVR, NuSVR (--nu), LinearSVR (--kernel linear)

With --approximate, NystroemSVC and NystroemSVR.

An option that the estimator does not have is refused, with the reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.cli import UserError
from maxmargin.runtime.validation import Array, check_choice

LABELS_MAX_WHOLE_NUMBERS = 20  # different ones up to which they are labels
COUNTS_MIN_WHOLE_NUMBERS = 11  # different ones from which on a rare one shows that they are counts or grades
LABEL_MIN_ROWS = 5  # of a label, where there are so many
DEFAULT_EPSILON = 0.1  # what every regression starts from
DEFAULT_NU = 0.1  # the share of outliers that training allows when nobody says
WORDS = {"classify": "classes", "regress": "numbers", "outliers": "outliers"}

# option of the command -> parameter of the estimators, where the names differ
PARAMETERS = {"threads": "n_jobs", "seed": "random_state", "components": "n_components"}
KERNEL_OPTIONS = ("gamma", "sigma", "degree", "coef0")
REASONS = {
    "C": "--nu takes its place",
    "epsilon": "it is half the width of the tube of a regression without --nu",
    "nu": "use --estimator kernel",
    "multiclass": "only classification has classes",
    "class_weight": "only classification has classes",
    "cache_size": "it keeps no kernel values",
    "components": "it belongs to --approximate",
}


def decide_task(y: Array | None) -> tuple[str, str]:
    """The task that a target asks for, and why."""
    if y is None:
        return "outliers", "there is no target"
    values, rows = np.unique(y, return_counts=True)
    if y.dtype.kind != "f":
        return "classify", f"the target has {len(values):,} distinct text{'s' * (len(values) != 1)}"
    whole = bool((values == np.round(values)).all())
    kind = "whole numbers" if whole else "numbers"
    counts = len(values) >= COUNTS_MIN_WHOLE_NUMBERS and rows.min() < LABEL_MIN_ROWS
    if len(values) <= 2 or (whole and not counts and len(values) <= min(LABELS_MAX_WHOLE_NUMBERS, len(y) // 3)):
        return "classify", f"the target has only {len(values):,} distinct {kind}"
    return "regress", f"the target has {len(values):,} distinct {kind}"


def as_labels(y: Array) -> Array:
    """Labels for a classifier: whole numbers as integers, so that they print and compare as such."""
    if y.dtype.kind == "f" and (y == np.round(y)).all() and (np.abs(y) < 2**53).all():
        return y.astype(np.int64)
    return np.asarray(y)


def as_numbers(y: Array, source: str) -> Array:
    """Targets for a regression."""
    if y.dtype.kind == "f":
        return y
    for i, value in enumerate(y):
        try:
            float(value)
        except ValueError:
            raise UserError(
                f"{source}: the target of row {i + 1} is {str(value)!r}, no number, and --task regress needs numbers: "
                "choose another column with --target, or use --task classify."
            ) from None
    return y.astype(np.float64)


def check_kernel(name: str) -> Any:
    """The kernel of this name, if it compares rows of numbers."""
    from maxmargin.kernels import KERNELS, as_kernel

    names = [key for key, kind in KERNELS.items() if key != "precomputed" and kind().takes_vectors]
    return as_kernel(check_choice("--kernel", name, names))


def make_estimator(task: str, options: dict[str, Any], classes: Array | None = None) -> Any:
    """The estimator of a task; ``options`` holds those that were given, by their names on the command line."""
    given = {name: value for name, value in options.items() if value is not None}
    kind, name = given.pop("estimator", "auto"), given.pop("kernel", "rbf")
    kernel = check_kernel(name)
    if given.pop("approximate", False):
        kind = _check_approximate(kind, task, given)
    if kind == "linear" and name != "linear" and options.get("kernel") is not None:
        raise UserError(f"--estimator linear has no kernel {name}: leave out --kernel, or use --estimator kernel.")
    if kind == "auto" and name == "linear" and task != "outliers" and _fits_linear(given):
        kind = "linear"
    if kind == "linear" and task == "outliers":
        raise UserError("--estimator linear does not find outliers: leave it out, and use --kernel linear.")
    made: Any = _class(task, kind, "nu" in given)
    known = made._get_param_names()
    parameters: dict[str, Any] = {}
    if kind == "linear":
        _refuse_kernel_options(given, "linear")
        if task == "classify":  # the problem of the kernel estimator with the linear kernel
            parameters["loss"] = "hinge"
        else:
            parameters["epsilon"] = DEFAULT_EPSILON
        if "multiclass" in given and "multi_class" in known:
            parameters["multi_class"] = given.pop("multiclass")
            if parameters["multi_class"] == "ovo":
                raise UserError("--estimator linear has no --multiclass ovo: use ovr or crammer_singer.")
    else:
        parameters["kernel"] = name
        _refuse_kernel_options(given, name, kernel._get_param_names())
        if "sigma" in given:
            parameters["gamma"] = _gamma_of(given.pop("sigma"), given)
        if task == "outliers":
            parameters["nu"] = DEFAULT_NU
        if kind == "approximate" and task == "classify":  # the problem of the exact estimator
            parameters["loss"] = "hinge"
    seed = given.pop("seed", None)
    if kind in ("linear", "approximate"):  # others draw nothing at random
        parameters["random_state"] = seed
    if given.pop("probabilities", False):
        if "calibration" not in known:
            raise UserError(f"--probabilities does not apply to {made.__name__}: leave it out.")
        parameters["calibration"] = "sigmoid"
    if "class_weight" in given and classes is not None:
        given["class_weight"] = _class_weight(given["class_weight"], classes)
    for option, value in given.items():
        parameter = PARAMETERS.get(option, option)
        if parameter not in known:
            reason = REASONS.get(option, "leave it out")
            if option == "multiclass" and task == "classify":
                reason = "it takes each class against the rest"
            raise UserError(f"--{option.replace('_', '-')} does not apply to {made.__name__}: {reason}.")
        parameters[parameter] = value
    return made(**parameters)


def _check_approximate(kind: str, task: str, given: dict[str, Any]) -> str:
    """Refuse what has no approximate estimators."""
    if kind == "linear":
        raise UserError("--approximate is for kernels, and --estimator linear has none: leave one of them out.")
    if task == "outliers":
        raise UserError("--approximate classifies and regresses, it does not find outliers: leave it out.")
    if "nu" in given:
        raise UserError("--approximate has no --nu: give --C.")
    return "approximate"


def count_problems(svm: Any, n_classes: int) -> int:
    """How many problems a fit solves."""
    scheme = getattr(svm, "multiclass", getattr(svm, "multi_class", None))
    if scheme in (None, "crammer_singer") or n_classes <= 2:
        return 1
    return n_classes * (n_classes - 1) // 2 if scheme == "ovo" else n_classes


def _fits_linear(given: dict[str, Any]) -> bool:
    """Whether the linear estimator has all that was asked for."""
    from maxmargin.solvers import solvers_for

    solver = given.get("solver", "auto")
    return (
        "nu" not in given
        and "cache_size" not in given
        and given.get("multiclass") != "ovo"
        and (solver == "auto" or solver in solvers_for("linear"))
    )


def _class(task: str, kind: str, nu: bool) -> Any:
    from maxmargin import svm

    if task == "outliers":
        return svm.OneClassSVM
    if kind == "approximate":
        from maxmargin import large_scale as approximation

        return approximation.NystroemSVC if task == "classify" else approximation.NystroemSVR
    if kind == "linear" and task == "regress":
        from maxmargin.svm.linear.regression import LinearSVR

        return LinearSVR
    name = "LinearSVC" if kind == "linear" else ("Nu" if nu else "") + ("SVC" if task == "classify" else "SVR")
    return getattr(svm, name)


def _refuse_kernel_options(given: dict[str, Any], kernel: str, has: Any = ()) -> None:
    for option in KERNEL_OPTIONS:
        if option in given and option not in has:
            raise UserError(f"--{option} does not apply to the {kernel} kernel: leave it out, or choose another.")


def _gamma_of(sigma: float, given: dict[str, Any]) -> float:
    """The Gaussian kernel's exp(-gamma |x - z|^2) is exp(-|x - z|^2 / 2 sigma^2)."""
    if "gamma" in given:
        raise UserError("--sigma and --gamma say the same, gamma = 1 / (2 sigma^2): give one of them.")
    if not 1e-150 < sigma < 1e150:
        raise UserError(f"--sigma must be a positive number; got {sigma:g}.")
    return 1 / (2 * sigma**2)


def _class_weight(text: str, classes: Array) -> Any:
    """``balanced``, or factors of C by label: ``yes=2,no=1``."""
    if text == "balanced":
        return text
    by_name = {str(label): label for label in classes.tolist()}
    weights = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            weights[by_name[name.strip()]] = float(number)
        except (KeyError, ValueError):
            raise UserError(
                f"--class-weight {text}: {part!r} is not LABEL=NUMBER with a label of the data "
                f"({', '.join(list(by_name)[:6])}); or say balanced."
            ) from None
    return weights


def in_target_units(estimator: Any, y: Array | None) -> float:
    """Give C, epsilon and tol the units of the target, so that a regression is that of a target of variance 1.

    With s the standard deviation of y, the regression of y / s with C, epsilon and tol is that of y with s C, s epsilon
    and s tol; of a squared loss, with C. Returns s."""
    spread = 1.0 if y is None else float(np.std(y))
    if not (np.isfinite(spread) and spread > 0):
        return 1.0
    known = estimator.get_params(deep=False)
    squared = str(known.get("loss", "")).startswith("squared")
    for name in ("C", "epsilon", "tol"):
        if name in known and not (squared and name == "C"):
            estimator.set_params(**{name: known[name] * spread})
    return spread
