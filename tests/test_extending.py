"""The examples of docs/extending.md, run as they stand there, and held to what the library's own parts are held to."""

from __future__ import annotations

import pickle
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestCentroid

from maxmargin import SVC, SVR, OneClassSVM, validate_gram
from maxmargin.cli import COMMANDS, main
from maxmargin.kernels import KERNELS, Linear
from maxmargin.kernels.gram.operator import StoredGram
from maxmargin.problems import optimality
from maxmargin.problems.dual import c_svc, eps_svr
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers import SOLVERS
from reference import qp
from test_docs import DOCS, blocks, run

PAGE = DOCS / "extending.md"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What the page defines; the lists it adds to are restored afterwards."""
    lists = (KERNELS, SOLVERS, COMMANDS)
    before = [dict(entries) for entries in lists]
    with pytest.MonkeyPatch.context() as patch:
        yield run(PAGE, tmp_path_factory.mktemp("page"), patch)
    for entries, old in zip(lists, before, strict=True):
        entries.clear()
        entries.update(old)


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(30, 4))


def test_the_page_has_all_four(page):
    code = "".join(body for _, info, body in blocks(PAGE) if info == "python")
    for line in ('KERNELS["cauchy"]', "SOLVERS[", "class NearestMean", 'COMMANDS["separable"]'):
        assert line in code


# The kernel


def test_the_kernel_is_what_its_formula_says(page, points):
    expected = 1 / (1 + 0.3 * euclidean_distances(points) ** 2)
    np.testing.assert_allclose(page.Cauchy(gamma=0.3)(points), expected, atol=1e-12)
    np.testing.assert_allclose(page.Cauchy(gamma=0.3)(sp.csr_array(points)), expected, atol=1e-12)


def test_the_kernel_is_valid_and_has_what_kernels_have(page, points):
    kernel = page.Cauchy()
    assert validate_gram(kernel(points)).psd
    assert repr(clone(kernel)) == repr(pickle.loads(pickle.dumps(kernel))) == "Cauchy()"
    np.testing.assert_allclose((2 * kernel + Linear())(points), 2 * kernel(points) + Linear()(points))
    np.testing.assert_allclose(kernel.diagonal(points), 1.0)


def test_every_estimator_takes_the_kernel(page, points):
    y = points[:, 0] > 0
    assert SVC(kernel="cauchy").fit(points, y).report_.kernel_valid
    assert SVR(kernel=page.Cauchy(gamma=1.0)).fit(points, points[:, 1]).report_.converged
    assert OneClassSVM(kernel="cauchy", gamma=0.5).fit(points).report_.converged


# The solver


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["c_svc", "eps_svr"])
def test_the_solver_finds_the_oracle_s_optimum(page, kind, seed):
    X, arguments = qp.draw(kind, False, seed, 24)
    K = np.exp(-0.5 * euclidean_distances(X) ** 2)
    problem = {"c_svc": c_svc, "eps_svr": eps_svr}[kind](**arguments)
    solution = page.ProjectedGradient().solve(problem, StoredGram(K), tol=1e-6, control=Control())
    assert solution.status is Status.OPTIMAL
    assert (solution.a >= problem.lower).all()
    assert (solution.a <= problem.upper).all()
    f = K @ problem.coefficients(solution.a)
    assert optimality.violation(problem, solution.a, problem.gradient(f, solution.a)) <= 1e-6 + 1e-12
    assert -problem.objective(f, solution.a) == pytest.approx(qp.solve(kind, K, arguments).objective, rel=1e-6)


def test_the_solver_stops_when_told_to(page):
    X, arguments = qp.draw("c_svc", False, 0, 24)
    K, problem = StoredGram(X @ X.T), c_svc(**arguments)
    solver = page.ProjectedGradient()
    assert solver.solve(problem, K, tol=1e-9, control=Control(max_iter=2)).status is Status.MAX_ITER
    assert solver.solve(problem, K, tol=1e-9, control=Control(max_seconds=0.0)).status is Status.DEADLINE


def test_the_solver_refuses_what_it_cannot_solve(page, points):
    y = points[:, 0] > 0
    with pytest.raises(ValueError, match="fit_intercept=False"):
        SVC(solver="projected_gradient").fit(points, y)
    with pytest.raises(ValueError, match="finite C"):
        SVC(solver="projected_gradient", fit_intercept=False, C=np.inf).fit(points, y)


# The estimator


def test_the_estimator_finds_the_nearest_mean(page):
    X, y = make_blobs(90, centers=3, random_state=1)
    new = np.random.default_rng(0).uniform(X.min(), X.max(), size=(200, 2))
    expected = NearestCentroid().fit(X, y).predict(new)
    np.testing.assert_array_equal(page.NearestMean(kernel="linear").fit(X, y).predict(new), expected)
    np.testing.assert_array_equal(page.NearestMean(kernel="precomputed").fit(X @ X.T, y).predict(new @ X.T), expected)


def test_a_class_without_weight_is_never_predicted(page, points):
    y = np.arange(30) % 3
    estimator = page.NearestMean().fit(points, y, sample_weight=(y != 1).astype(float))
    assert list(estimator.classes_) == [0, 1, 2]
    assert set(estimator.predict(points)) == {0, 2}


# The command


def command_module():
    """The file of the page's command, as a module."""
    source = next(body for _, info, body in blocks(PAGE) if info == "python" and "@click.command" in body)
    module = types.ModuleType("maxmargin.cli.commands.separable")
    exec(source, module.__dict__)
    return module


@pytest.mark.parametrize(
    ("lines", "answer"),
    [("1 1:2\n-1 1:-1\n", "separable    yes"), ("1 1:2\n-1 1:2\n", "separable    no")],
)
def test_the_command_answers(page, tmp_path, monkeypatch, lines, answer):
    monkeypatch.setitem(sys.modules, "maxmargin.cli.commands.separable", command_module())
    file = tmp_path / "points.svm"
    file.write_text(lines)
    result = CliRunner().invoke(main, ["separable", str(file)])
    assert result.exit_code == 0, result.output
    assert answer in result.output
    assert "svmlight" in CliRunner().invoke(main, ["separable", "--help"]).output


def test_errors_of_the_input_are_one_line(page, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "maxmargin.cli.commands.separable", command_module())
    file = tmp_path / "points.svm"
    file.write_text("1 nonsense\n")
    result = CliRunner().invoke(main, ["separable", str(file)])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
