"""The account of a fit: as attributes, as text and as HTML."""

from __future__ import annotations

import html
import math
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, SVR, FitReport, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.problems.optimality import Certificate
from maxmargin.runtime.control import Status
from maxmargin.svm.report import combine

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
Y = np.where(X[:, 0] + 0.3 * rng.standard_normal(40) > 0, "yes", "no")
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
VALUES = np.sin(X[:, 0])


@pytest.fixture(scope="module")
def binary():
    return SVC(n_jobs=1).fit(X, Y).report_


def lines(report):
    """The text's lines as name -> value."""
    return dict(line.split("  ", 1) for line in str(report).splitlines())


def value(report, name):
    return lines(report)[name].strip()


class Table(HTMLParser):
    """The rows of a table, as texts."""

    def __init__(self, source):
        super().__init__()
        self.rows, self.tags = [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data):
        self.rows[-1][-1] += data


def test_text_says_what_was_fitted_and_how_it_ended(binary):
    assert isinstance(binary, FitReport)
    assert binary.converged
    assert value(binary, "model").startswith("SVC, 2 classes")
    assert value(binary, "kernel").startswith("RBF(")
    assert value(binary, "parameters") == "C = 1"
    assert value(binary, "status") == "optimal within the tolerance"
    assert value(binary, "solver").startswith(binary.solver)
    assert binary.solver_reason in value(binary, "solver")
    assert f"{binary.n_support} (" in value(binary, "support vectors")
    assert "of 40 samples" in value(binary, "support vectors")


def test_text_is_aligned_with_one_line_a_fact(binary):
    rows = str(binary).splitlines()
    assert len({len(row) - len(row[len(name) :].lstrip()) for row, name in zip(rows, lines(binary), strict=True)}) == 1
    assert not any(row != row.rstrip() for row in rows)


def test_html_is_a_table_of_the_same_lines(binary):
    table = Table(binary._repr_html_())
    assert set(table.tags) == {"table", "tr", "th", "td"}
    assert [name for name, _ in table.rows] == list(lines(binary))
    assert [text for _, text in table.rows] == [text.strip() for text in lines(binary).values()]


def test_html_escapes_what_comes_from_the_user(binary):
    """A kernel's name may hold anything, a script too."""
    nasty = replace(binary, kernel="<script>alert('x')</script> & \"more\"")
    page = nasty._repr_html_()
    assert "<script" not in page
    assert html.escape(nasty.kernel) in page
    assert dict(Table(page).rows)["kernel"] == nasty.kernel


def test_a_callable_kernel_is_escaped():
    report = SVC(kernel=lambda A, B: A @ B.T).fit(X, Y).report_
    assert "<function" in str(report)
    assert "<function" not in report._repr_html_()
    assert "&lt;function" in report._repr_html_()


@pytest.mark.parametrize(("threads", "text"), [(1, "1 thread"), (2, "2 threads")])
def test_one_thread_is_singular(binary, threads, text):
    assert value(replace(binary, threads=threads), "time").endswith(text)


def test_a_constant_function_has_no_margin():
    points, targets = np.repeat([[0.0], [1.0]], 20, axis=0), np.tile(np.arange(20.0) % 7, 2)
    report = SVR(C=18.9, gamma=27.0, epsilon=0.5).fit(points, targets).report_
    assert value(report, "margin").startswith("infinite")
    assert value(SVC(C=1e-9).fit(X, Y).report_, "margin") != value(report, "margin")


def test_one_estimator_has_a_margin_and_several_have_a_smallest(binary):
    assert "margin" in lines(binary)
    assert binary.margin == binary.margins[0]
    several = SVC().fit(X, THREE).report_
    assert len(several.margins) == 3
    assert several.margin == several.margins.min()
    assert "smallest margin" in lines(several)
    assert "margin" not in lines(several)
    assert "3 classes, one-vs-one, 3 binary problems" in value(several, "model")


def test_margin_is_two_over_the_norm():
    """Two points at distance two."""
    report = SVC(kernel="linear", C=100.0, tol=1e-6).fit([[1.0], [-1.0]], [1, 0]).report_
    assert report.margin == pytest.approx(2.0, abs=1e-4)
    assert report.training_error == 0
    assert value(report, "training error") == "0.00%"


def test_an_estimator_without_weights_has_an_infinite_margin(binary):
    assert replace(binary, margins=np.empty(0)).margin == math.inf
    str(replace(binary, margins=np.empty(0), n_samples=0))  # nothing to divide by


@pytest.mark.parametrize("estimator", [SVR(), NuSVR()])
def test_regression_speaks_of_squared_errors(estimator):
    estimator.fit(X, VALUES)
    report = estimator.report_
    error = math.sqrt(np.mean((estimator.predict(X) - VALUES) ** 2))
    assert report.training_error == pytest.approx(error, rel=1e-6)
    assert value(report, "root mean squared training error") == f"{error:.4g}"
    assert "%" not in value(report, "root mean squared training error")


def test_one_class_speaks_of_points_outside():
    estimator = OneClassSVM(nu=0.2).fit(X)
    assert value(estimator.report_, "training points outside") == f"{estimator.report_.training_error:.2%}"
    assert value(estimator.report_, "parameters") == "nu = 0.2"


def test_classification_error_is_a_share():
    estimator = NuSVC(nu=0.4).fit(X, Y)
    assert estimator.report_.training_error == pytest.approx(1 - estimator.score(X, Y))


def test_an_indefinite_kernel_proves_nothing():
    report = SVC(kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X, Y).report_
    assert report.kernel_valid is False
    assert "proves nothing" in value(report, "duality gap")
    assert "indefinite" in value(report, "duality gap")


def test_a_kernel_of_which_nothing_is_known_shows_its_gap():
    report = SVC(kernel="precomputed").fit(X @ X.T, Y).report_
    assert report.kernel_valid is None
    assert "relative" in value(report, "duality gap")


def test_gap_is_primal_minus_dual(binary):
    assert binary.kernel_valid is True
    assert binary.duality_gap == binary.primal_objective - binary.dual_objective
    assert binary.relative_gap == pytest.approx(
        binary.duality_gap / max(abs(binary.primal_objective), abs(binary.dual_objective))
    )
    assert 0 <= binary.relative_gap < 1e-2
    assert binary.kkt_violation <= binary.tol


def test_hard_margin_is_named():
    report = SVC(kernel="linear", C=math.inf).fit([[1.0], [-1.0]], [1, 0]).report_
    assert value(report, "parameters") == "C = inf (hard margin)"


def test_a_fit_that_was_stopped_says_so():
    estimator = SVC(max_iter=2, C=100.0, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        estimator.fit(X, Y)
    assert estimator.report_.status is Status.MAX_ITER
    assert not estimator.report_.converged
    assert value(estimator.report_, "status") == Status.MAX_ITER.value


def test_large_numbers_are_grouped(binary):
    report = replace(binary, n_iter=1234567, kernel_evaluations=7654321, n_support=1000, n_samples=2000)
    assert value(report, "iterations") == "1,234,567"
    assert value(report, "kernel evaluations") == "7,654,321"
    assert value(report, "support vectors") == "1,000 (50% of 2,000 samples)"


def test_input_type_is_reported():
    assert SVC().fit(X.astype(np.float32), Y).report_.dtype == "float32"
    assert SVC().fit(X, Y).report_.dtype == "float64"


def certificate(**fields):
    zero = dict.fromkeys(Certificate.__dataclass_fields__, 0.0)
    return Certificate(**{**zero, **fields})


def test_combine_sums_objectives_and_keeps_the_worst_of_the_rest():
    parts = [
        certificate(primal=3.0, dual=2.5, violation=0.1, complementarity=0.7),
        certificate(primal=1.0, dual=1.0, violation=0.4, stationarity=0.2, dual_infeasibility=0.3),
    ]
    both = combine(parts)
    assert (both["primal_objective"], both["dual_objective"]) == (4.0, 3.5)
    assert both["relative_gap"] == pytest.approx(0.125)
    assert both["kkt_violation"] == 0.4
    assert (both["stationarity"], both["dual_infeasibility"], both["complementarity"]) == (0.2, 0.3, 0.7)
    assert both["primal_infeasibility"] == 0.0


def test_combine_of_nothing_is_zero():
    assert set(combine([]).values()) == {0.0}


def test_combine_of_an_infeasible_estimator_is_infinite():
    both = combine([certificate(primal=math.inf, dual=1.0), certificate(primal=1.0, dual=1.0)])
    assert both["primal_objective"] == both["relative_gap"] == math.inf


@pytest.mark.parametrize(
    "model", [SVC(max_iter=3), NuSVC(nu=0.2, max_iter=3), SVR(max_iter=3), OneClassSVM(max_iter=3)]
)
def test_a_kernel_fit_at_its_limit_says_what_scikit_learn_says(model):
    words = (
        r"Solver terminated early \(max_iter=3\)\.  "
        r"Consider pre-processing your data with StandardScaler or MinMaxScaler\."
    )
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    with pytest.warns(ConvergenceWarning, match=words):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="Solver terminated early")
        model.fit(X, y)


@pytest.mark.parametrize("model", [LinearSVC(max_iter=1, solver="coordinate_descent"), LinearSVR(max_iter=1, C=100.0)])
def test_a_linear_fit_at_its_limit_says_what_scikit_learn_says(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + rng.normal(size=200) > 0, 1.0, -1.0)
    with pytest.warns(ConvergenceWarning, match=r"failed to converge, increase the number of iterations\."):
        model.set_params(tol=1e-12).fit(X, y)
