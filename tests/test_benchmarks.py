"""The benchmarks: their judge against brute force, their readers and tables, and a tiny run of each command."""

from __future__ import annotations

import ast
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm

import maxmargin

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _records_data, exact, growth, invariances, records
from benchmarks._cold import Start
from benchmarks._data import RECIPES, MissingDataError, load, read_npz
from benchmarks._evaluate import Evaluation, Kernel, evaluate
from benchmarks._libraries import Options, Work, cannot, installed
from benchmarks._runner import Outcome, Result, run
from benchmarks._table import geometric_mean, markdown

ROOT = Path(exact.__file__).resolve().parents[1]
LIBRARIES = [maxmargin, sklearn.svm]


def blobs(n: int = 60, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 3)) + 1.2 * np.eye(classes, 3)[y], y


def brute_kernel(name: str, gamma: float, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    K = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            if name == "rbf":
                K[i, j] = math.exp(-gamma * sum((p - q) ** 2 for p, q in zip(a, b, strict=True)))
            elif name == "laplacian":
                K[i, j] = math.exp(-gamma * sum(abs(p - q) for p, q in zip(a, b, strict=True)))
            else:
                product = sum(p * q for p, q in zip(a, b, strict=True))
                K[i, j] = {"linear": product, "poly": (gamma * product + 1) ** 3}[name]
    return K


def libsvm_form(K: np.ndarray, p: np.ndarray, y: np.ndarray, alpha: np.ndarray, C: float) -> tuple[float, float]:
    """Dual objective and m - M of min 1/2 a'Qa + p'a, Q = yy'K, 0 <= a <= C, as LIBSVM states them, in loops."""
    n = len(alpha)
    gradient = [sum(y[i] * y[j] * K[i, j] * alpha[j] for j in range(n)) + p[i] for i in range(n)]
    objective = sum(0.5 * alpha[i] * (gradient[i] + p[i]) for i in range(n))
    up = [-y[i] * gradient[i] for i in range(n) if (alpha[i] < C if y[i] > 0 else alpha[i] > 0)]
    low = [-y[i] * gradient[i] for i in range(n) if (alpha[i] > 0 if y[i] > 0 else alpha[i] < C)]
    return -objective, max(0.0, max(up) - min(low))


def full(model: object, n: int, row: int = 0) -> np.ndarray:
    coef = np.zeros(n)
    coef[model.support_] = np.asarray(model.dual_coef_)[row]
    return coef


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("tol", [1e-3, 0.3])
def test_judge_of_two_classes(library, kernel, tol):
    X, y = blobs()
    C, gamma = 2.0, 0.4
    model = library.SVC(C=C, kernel=kernel, gamma=gamma, coef0=1.0, tol=tol).fit(X, y)
    sign = 2.0 * y - 1
    K = brute_kernel(kernel, gamma, X, X)
    alpha = np.clip(sign * full(model, len(y)), 0, C)
    dual, violation = libsvm_form(K, -np.ones(len(y)), sign, alpha, C)
    w2 = (alpha * sign) @ K @ (alpha * sign)
    hinge = sum(max(0.0, 1 - s * v) for s, v in zip(sign, model.decision_function(X), strict=True))
    judged = evaluate(model, X, y)
    assert judged.dual == pytest.approx(dual)
    assert judged.primal == pytest.approx(0.5 * w2 + C * hinge)
    assert judged.violation == pytest.approx(violation, abs=1e-9)
    assert judged.violation <= tol * (1 + 1e-6)
    assert judged.infeasibility < 1e-9
    assert judged.relative_gap == judged.worst_gap >= -1e-12


@pytest.mark.parametrize("library", LIBRARIES)
def test_judge_of_regression(library):
    X, _ = blobs()
    y = X[:, 0] ** 2 + 0.1 * X[:, 1]
    C, epsilon = 3.0, 0.1
    model = library.SVR(C=C, epsilon=epsilon, gamma=0.4).fit(X, y)
    K = brute_kernel("rbf", 0.4, X, X)
    coef = full(model, len(y))
    twice = np.block([[K, K], [K, K]])  # LIBSVM's variables: alpha, then alpha*
    alpha = np.clip(np.concatenate((coef, -coef)), 0, C)
    p, sign = np.concatenate((epsilon - y, epsilon + y)), np.repeat([1.0, -1.0], len(y))
    dual, violation = libsvm_form(twice, p, sign, alpha, C)
    judged = evaluate(model, X, y)
    tube = np.maximum(0, np.abs(y - model.predict(X)) - epsilon).sum()
    assert judged.dual == pytest.approx(dual)
    assert judged.primal == pytest.approx(0.5 * coef @ K @ coef + C * tube)
    assert judged.violation == pytest.approx(violation, abs=1e-9)
    assert judged.violation <= 1e-3 * (1 + 1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
def test_judge_of_one_class(library):
    X, _ = blobs()
    model = library.OneClassSVM(nu=0.3, gamma="scale").fit(X)
    K = brute_kernel("rbf", 1 / (3 * X.var()), X, X)
    alpha = full(model, len(X))
    dual, violation = libsvm_form(K, np.zeros(len(X)), np.ones(len(X)), alpha, 1.0)
    judged = evaluate(model, X, np.zeros(len(X)))
    assert judged.dual == pytest.approx(dual)
    assert judged.violation == pytest.approx(violation, abs=1e-9)
    assert judged.violation <= 1e-3 * (1 + 1e-6)
    assert 0 <= judged.relative_gap < 0.01
    assert judged.infeasibility < 1e-6


@pytest.mark.parametrize("library", LIBRARIES)
def test_judge_of_many_classes_is_that_of_its_pairs(library):
    X, y = blobs(90, classes=3)
    y = np.array([3, 5, 9])[y]
    judged = evaluate(library.SVC(C=2.0, gamma=0.4).fit(X, y), X, y)
    pairs = []
    for i, j in [(3, 5), (3, 9), (5, 9)]:
        keep = (y == i) | (y == j)
        pairs.append(evaluate(library.SVC(C=2.0, gamma=0.4, tol=1e-8).fit(X[keep], y[keep]), X[keep], y[keep]))
    assert judged.models == 3
    assert judged.dual == pytest.approx(sum(pair.dual for pair in pairs), rel=1e-4)
    assert judged.primal == pytest.approx(sum(pair.primal for pair in pairs), rel=1e-2)
    assert judged.violation <= 1e-3 * (1 + 1e-6)
    assert judged.infeasibility < 1e-9


def test_judge_takes_sparse_points_and_a_given_kernel():
    X, y = blobs()
    dense = sklearn.svm.SVC(gamma=0.4).fit(X, y)
    sparse = sklearn.svm.SVC(gamma=0.4).fit(sp.csr_matrix(X), y)
    assert evaluate(sparse, sp.csr_matrix(X), y).dual == pytest.approx(evaluate(dense, X, y).dual, rel=1e-5)
    laplacian = sklearn.svm.SVC(kernel=lambda A, B: brute_kernel("laplacian", 0.4, A, B)).fit(X, y)
    assert evaluate(laplacian, X, y, kernel=Kernel("laplacian", 0.4)).violation <= 1e-3 * (1 + 1e-6)
    np.testing.assert_allclose(Kernel("laplacian", 0.4)(X, X), brute_kernel("laplacian", 0.4, X, X))


def test_judge_is_not_fooled():
    X, y = blobs()
    model = sklearn.svm.SVC(gamma=0.4).fit(X, y)
    model._dual_coef_ = model.dual_coef_ = model.dual_coef_ * 1.5
    assert evaluate(model, X, y).infeasibility == pytest.approx(0.5)
    model = sklearn.svm.SVC(gamma=0.4).fit(X, y)
    with pytest.raises(ValueError, match="not the rows"):
        evaluate(model, X[::-1], y[::-1])
    with pytest.raises(ValueError, match="cannot judge"):
        evaluate(sklearn.svm.SVC(class_weight="balanced").fit(X, y), X, y)


@pytest.mark.parametrize("library", LIBRARIES)
def test_judge_of_problems_with_nu(library):
    X, y = blobs(90, classes=3)
    target = X[:, 0] + 0.3 * X[:, 1]
    for estimator, goal in ((library.NuSVC(nu=0.4), y), (library.NuSVR(nu=0.3, C=5.0), target)):
        for tol in (0.1, 1e-3):
            judged = evaluate(estimator.set_params(tol=tol).fit(X, goal), X, goal)
            assert judged.violation <= tol * (1 + 1e-6)
            assert judged.infeasibility < 1e-9
            assert judged.relative_gap < 10 * tol
        estimator._dual_coef_ = estimator.dual_coef_ = estimator.dual_coef_ * 0.9  # no longer optimal
        assert max(evaluate(estimator, X, goal).violation, evaluate(estimator, X, goal).relative_gap) > 2 * tol
    model = library.NuSVR(nu=0.3, C=5.0).fit(X, target)
    model.set_params(nu=0.2)
    assert evaluate(model, X, target).infeasibility > 0.1  # the tube that was asked for is narrower


def test_judge_does_not_know_the_library():
    tree = ast.parse((ROOT / "benchmarks" / "_evaluate.py").read_text())
    nodes = list(ast.walk(tree))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) if node.level == 0}
    assert not any(node.level for node in nodes if isinstance(node, ast.ImportFrom))
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names) | {"numpy", "scipy"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder in the format of the real one, with three small sets."""
    path = tmp_path_factory.mktemp("data")
    X, y = blobs(300)
    np.savez(path / "magic.npz", X=X.astype(np.float32) * 50 + 7, y=y.astype(np.int8))
    np.savez(path / "covtype.npz", X=(X * 100).astype(np.int16), y=y.astype(np.int8))
    csr = sp.csr_matrix((X > 0.5).astype(np.float32))
    parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": np.array(csr.shape)}
    arrays = {f"X_{split}_{key}": value for split in ("train", "test") for key, value in parts.items()}
    np.savez(path / "a9a.npz", y_train=2 * y - 1, y_test=2 * y - 1, **arrays)
    return path


def test_readers(folder):
    arrays = read_npz(folder, "a9a")
    assert sp.issparse(arrays["X_train"])
    assert set(arrays) == {"X_train", "X_test", "y_train", "y_test"}
    dense = load("a9a", folder, rows=200, test_rows=20)
    assert isinstance(dense.X, np.ndarray)
    np.testing.assert_array_equal(dense.X, arrays["X_train"].toarray()[:200])
    assert dense.X_test.shape == (20, 3)
    magic = load("magic", folder, dtype=np.float32)
    assert magic.X.dtype == np.float32
    np.testing.assert_allclose(magic.X.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(magic.X.std(axis=0), 1, atol=1e-6)
    covtype = load("covtype", folder, rows=50)
    order = np.random.RandomState(0).permutation(300)[:50]
    np.testing.assert_array_equal(covtype.y, read_npz(folder, "covtype")["y"][order])
    assert load("magic", folder, most=40).X.shape == (40, 3)
    with pytest.raises(MissingDataError, match="ijcnn1"):
        load("ijcnn1", folder)


def test_works_are_well_formed():
    names = [work.name for work in exact.WORK]
    assert len(set(names)) == len(names)
    assert {work.data for work in exact.WORK} <= set(RECIPES)
    assert {name for target in exact.TARGETS for name in target.works} <= set(names)
    assert [work.name for work in exact.selected(["=magic"])] == ["magic"]
    assert len(exact.selected(["magic"])) > 1
    with pytest.raises(SystemExit, match="nonsense"):
        exact.selected(["nonsense"])


def solved(library: str, seconds: float, violation: float = 5e-4, dual: float = 10.0) -> Outcome:
    judged = Evaluation(dual + 0.01, dual, violation, 1e-3, 0.0, 7, 1)
    return Outcome(library, fit=[seconds, 3 * seconds, seconds], evaluation=judged)


def test_tables():
    assert markdown(["a", "b"], [[1, "x|y"]]) == "| a | b |\n| --- | ---: |\n| 1 | x\\|y |"
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert math.isnan(geometric_mean([2.0, math.nan]))
    results = []
    for name, factor in zip(exact.BINARY, (20, 40, 80, 50), strict=True):
        outcomes = {"maxmargin": solved("maxmargin", 0.1), "sklearn": solved("sklearn", 0.1 * factor, dual=10.00002)}
        outcomes["sklearnex"] = Outcome("sklearnex", skipped="has none")
        results.append(Result(Work(name, name), "9 x 9", outcomes))
    text = exact.times_table(results, 1e-3)
    assert "42.3 x | - |" in text.splitlines()[-1]
    assert text.splitlines()[2].startswith(f"| {exact.BINARY[0]} |")  # the worst ratio first
    targets = exact.targets_table(
        results, [Start("maxmargin", 1.2, 0.5, 0.1), Start("scikit-learn", 1.0, 0.1, 0.1)], 1e-3
    )
    lines = {line.split(" | ")[0].strip("| "): line for line in targets.splitlines()}
    assert "42.3 x | met" in lines["fit, geometric mean of the four binary sets"]
    assert "20.0 x | met" in lines["fit, each of them"]
    assert "no peer: has none" in lines["fit, each of them"]
    assert "not measured" in lines["fit, mnist 20k, ten classes"]
    assert "**not met**" in lines["dual objective not worse than scikit-learn's by 1e-6"]
    assert "1.20 x (1.20 s) | met" in lines["import <= 1.3 x scikit-learn's"]
    assert "0.40 s (2,000 x 10) | **not met**" in lines["first fit of a process adds <= 0.1 s"]


def test_failures_are_flagged():
    loose, early = solved("maxmargin", 0.1, violation=2e-3), solved("sklearn", 1.0)
    early.warnings.append("stopped at max_iter")
    result = Result(Work("magic", "magic"), "9 x 9", {"maxmargin": loose, "sklearn": early})
    assert exact.times_table([result], 1e-3).count("FAILED") == 2
    assert "violation 2.00e-03 > tol" in exact.solutions_table([result], 1e-3)
    assert "stopped at max_iter" in exact.solutions_table([result], 1e-3)
    assert "magic failed" in exact.targets_table([result] * 4, [], 1e-3)


def test_a_fit_that_stops_early_or_breaks_is_a_result(folder):
    data = load("magic", folder)
    repeats = {"maxmargin": 1, "sklearn": 1}
    result = run(Work("early", "magic", {"C": 10.0, "max_iter": 2}), data, repeats, Options())
    assert all(outcome.failure(1e-3) for outcome in result.outcomes.values())
    result = run(Work("broken", "magic", {"C": -1.0}), data, repeats, Options())
    assert all(outcome.error and not outcome.fit for outcome in result.outcomes.values())


def test_exact_command(folder, tmp_path, capsys):
    out = tmp_path / "out.json"
    command = ["--data", str(folder), "--quick", "--no-cold-start", "--libraries", "maxmargin", "sklearn"]
    only = ["--only", "=magic", "magic, Laplacian", "a9a", "iris", "ijcnn1"]
    assert exact.main([*command, *only, "--json", str(out), "--markdown", str(tmp_path / "out.md")]) == 0
    printed = capsys.readouterr()
    assert "skipped ijcnn1" in printed.err
    assert "| a9a: predict 300 rows | 300 x 3 |" in printed.out
    assert "FAILED" not in printed.out
    assert printed.out.strip() == (tmp_path / "out.md").read_text().strip()
    results = json.loads(out.read_text())["results"]
    assert [result["work"]["name"] for result in results] == ["magic", "a9a", "iris", "magic, Laplacian"]
    for result in results:
        for outcome in result["outcomes"].values():
            assert outcome["evaluation"]["violation"] <= 1e-3 * (1 + 1e-6)


def test_growth_command(folder, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    command = ["--data", str(folder), "--sizes", "200", "--penalties", "1", "--rows", "100", "--repeats", "1"]
    command += ["--axes", "rows", "C", "threads"]
    picture = tmp_path / "growth.png"
    assert growth.main([*command, "--plot", str(picture), "--json", str(tmp_path / "out.json")]) == 0
    assert "| 200 |" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
    points = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [point["library"] for point in points] == list(growth.LIBRARIES)
    assert all(point["seconds"] > 0 for point in points)


def test_a_slow_peer_is_left_out(monkeypatch, folder):
    def child(library, work, folder, options, **_):
        return {"seconds": work.rows / (1000 if library == "maxmargin" else 1), "memory": 1.0, "n_support": 3}

    monkeypatch.setattr(growth, "in_own_process", child)
    (axis,) = (axis for axis in growth.axes([10, 20, 40], [1.0], 5) if axis.name == "rows")
    points = growth.sweep(axis, folder, Options(), repeats=1, peer_seconds=50)
    assert [p.at for p in points if p.library == "sklearn" and not math.isnan(p.seconds)] == [10, 20]
    assert growth.exponent(points, "maxmargin", "seconds") == pytest.approx(1.0)
    assert "| 40 | 0.04 | - | - |" in growth.table(points, "n")


@pytest.fixture(scope="module")
def published_sets(folder):
    """The sets of the records, tiny, beside those of ``folder``."""
    rng = np.random.default_rng(0)
    pixels, digit = rng.integers(0, 256, (80, 9)).astype(np.uint8), np.arange(80) % 4
    np.savez(folder / "mnist.npz", X_train=pixels, y_train=digit, X_test=pixels[:20], y_test=digit[:20])
    np.savez(folder / "kin40k.npz", X=rng.normal(size=(60, 3)), y=rng.normal(size=60))
    (folder / "oneclass").mkdir()
    np.savez(folder / "oneclass" / "mammography.npz", X=rng.normal(size=(60, 3)), y=np.zeros(60))
    bases = np.array(list("ACGT"))
    text = np.array(["".join(bases[rng.integers(0, 2 + kind, 30)]) for kind in np.arange(60) % 3])
    np.savez(folder / "splice.npz", text=text, y=np.arange(60) % 3)
    return folder


def test_every_record_is_a_command(published_sets, tmp_path, capsys):
    scores = {
        "mnist-sigma15",
        "mnist-odd-even",
        "covtype-dcsvm",
        "covtype-grid",
        "covtype-cells",
        "strings",
        "nystroem",
        "nystroem-stream",
    }
    for name in records.ROWS:
        out = tmp_path / f"{name}.json"
        assert records.main([name, "--data", str(published_sets), "--rows", "150", "--json", str(out)]) == 0
        printed = capsys.readouterr().out
        assert "A trial on at most 150 rows" in printed
        assert "FAILED" not in printed
        lines = json.loads(out.read_text())["lines"]
        assert lines
        assert all(line["seconds"] > 0 for line in lines)
        judged = [line["violation"] for line in lines if not math.isnan(line["violation"])]
        assert all(violation <= 1e-3 * (1 + 1e-6) for violation in judged)
        assert judged or name in ("covtype-linear", "nystroem", "nystroem-stream", "covtype-cells")
        if name in scores:
            assert all(0 <= line["score"] <= 1 for line in lines)
    assert "Missing: http" in _printed_of(["one-class", "--data", str(published_sets), "--rows", "50"], capsys)


def _printed_of(arguments: list[str], capsys) -> str:
    assert records.main(arguments) == 0
    return str(capsys.readouterr().out)


def test_records_beside_a_peer_and_a_missing_set(folder, tmp_path, capsys):
    both = ["--libraries", "maxmargin", "sklearn", "--rows", "200"]
    text = _printed_of(["covtype-dcsvm", "--data", str(folder), *both], capsys)
    assert "| covtype, C = 32, gamma = 32 | 200 x 3 | scikit-learn |" in text
    text = _printed_of(["covtype-linear", "--data", str(folder), *both], capsys)
    assert "LIBLINEAR) |" in text
    assert "objective" in text
    for row in ("covtype-dcsvm", "covtype-grid", "strings"):
        assert "Missing:" in _printed_of([row, "--data", str(tmp_path)], capsys)
    only = _printed_of(["sklbench", "--data", str(folder), "--rows", "60", "--only", "fried half"], capsys)
    assert only.count("| maxmargin |") == 1


def test_records_compare_the_works_that_were_done():
    lines = [
        records.Line("a", "9 x 9", "maxmargin", 1.0, 2.0),
        records.Line("a", "9 x 9", "sklearn", 4.0, 4.0, note="FAILED: violation above tol."),
        records.Line("b", "9 x 9", "maxmargin", 1.0, 1.0),
        records.Line("b", "9 x 9", "sklearn", 9.0, 9.0),
        records.Line("c", "9 x 9", "maxmargin", 1.0, 1.0, note="FAILED: violation above tol."),
        records.Line("c", "9 x 9", "sklearn", 1.0, 1.0),
    ]
    seconds, processor = records.comparison(lines)
    assert "6.00 x our seconds, the geometric mean of 2 works; the least is 4.00 x, a" in seconds
    assert "the least is 2.00 x, a" in processor


def test_records_call_a_missed_tolerance_failed():
    X, y = blobs()
    model = sklearn.svm.SVC(gamma=0.4, tol=0.5).fit(X, y)
    line = records.Line("w", "9 x 9", "sklearn")
    records.judge(line, model, X, y, 1e-3)
    assert line.note.startswith("FAILED")


def test_generated_records():
    X, y = (_records_data.two_planes()[part] for part in "Xy")
    assert set(np.unique(X[:, 0])) == {-1.0, 1.0}
    assert set(np.unique(X[:, 1:])) == {-1.0, 0.0, 1.0}
    expected = np.where(X[:, 0] > 0, 3 + 3 * X[:, 1] + 2 * X[:, 2] + X[:, 3], -3 + 3 * X[:, 4] + 2 * X[:, 5] + X[:, 6])
    assert np.std(y - expected) == pytest.approx(1.0, abs=0.02)
    unit = _records_data.unit_columns({"X": np.array([[0, 5], [10, 5], [5, 5], [2, 5], [1, 5]]), "y": np.arange(5)})
    assert unit["X_train"].shape == (4, 2)
    assert np.vstack((unit["X_train"], unit["X_test"])).max() == 1.0
    assert len(records.generated(30)[0]) == 30


def test_libraries():
    assert {"maxmargin", "sklearn"} <= set(installed())
    assert cannot("maxmargin", Work("w", "magic", estimator="OneClassSVM")) is None


def test_deskewing_makes_a_slanted_stroke_upright_and_central():
    image = np.zeros((28, 28))
    for row in range(4, 20):
        image[row, 3 + row // 2 : 6 + row // 2] = 255
    (upright,) = invariances.deskewed(image.reshape(1, -1)).reshape(1, 28, 28)
    rows, columns = np.mgrid[:28, :28]
    mass = upright.sum()
    centre = (upright * rows).sum() / mass, (upright * columns).sum() / mass
    np.testing.assert_allclose(centre, 13.5, atol=0.05)
    slant = (upright * (rows - 13.5) * (columns - 13.5)).sum() / (upright * (rows - 13.5) ** 2).sum()
    assert abs(slant) < 0.02
    assert mass == pytest.approx(image.sum() / 255, rel=1e-6)


def test_candidates_with_virtual_support_vectors(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.integers(0, 40, (80, 784)).astype(np.uint8)
    X[y == 1, 380:420] += 150
    np.savez(tmp_path / "mnist.npz", X_train=X[:60], y_train=y[:60], X_test=X[60:], y_test=y[60:])
    monkeypatch.setattr(invariances, "VALIDATION_ROWS", 20)
    for options in (["--choose", "--choice-rows", "40", "--only", "rotations"], []):
        monkeypatch.setattr(sys, "argv", ["invariances", "--data", str(tmp_path), *options])
        invariances.main()
        assert "| classifier | errors |" in capsys.readouterr().out
