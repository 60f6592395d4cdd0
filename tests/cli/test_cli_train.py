"""``maxmargin train``: what it decides, learns, reports, saves and refuses."""

import errno
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from command_runner import call, found, refused
from sklearn.datasets import load_iris, make_moons
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, mean_absolute_error, precision_score, r2_score, root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, load
from maxmargin.cli import _results, main
from maxmargin.cli._estimator import decide_task, make_estimator
from maxmargin.io import _atomic, write_svmlight
from maxmargin.runtime.control import Status, watching
from maxmargin.svm.linear.regression import LinearSVR


def write_table(path, columns, rows):
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def iris(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    rows = [[*row, names[label]] for row, label in zip(X.tolist(), y, strict=True)]
    return write_table(
        tmp_path / "iris.csv", ["sepal length", "sepal width", "petal length", "petal width", "kind"], rows
    )


@pytest.fixture
def moons(tmp_path):
    X, y = make_moons(120, noise=0.2, random_state=0)
    path = tmp_path / "moons.svm"
    write_svmlight(X, np.where(y > 0, 1, -1), path)
    return path


@pytest.fixture
def sine(tmp_path):
    x = np.linspace(0, 6, 80)
    y = np.sin(x) + 0.05 * np.random.default_rng(0).standard_normal(80)
    return write_table(tmp_path / "sine.csv", ["x", "height"], zip(x.tolist(), y.tolist(), strict=True))


def iris_halves(**options):
    X, y = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    train, test = train_test_split(np.arange(150), test_size=38, random_state=0, stratify=y, **options)
    return X[np.sort(train)], X[np.sort(test)], y[np.sort(train)], y[np.sort(test)]


class TestClasses:
    def test_the_saved_model_is_the_pipeline_one_would_write(self, iris, tmp_path):
        assert call("train", iris, "-o", tmp_path / "iris.mm", "--scale", "--C", "3").exit_code == 0
        model = load(tmp_path / "iris.mm")
        X, X_test, y, _ = iris_halves()
        expected = make_pipeline(StandardScaler(), SVC(C=3)).fit(X, y)
        np.testing.assert_array_equal(model.predict(X_test), expected.predict(X_test))
        np.testing.assert_allclose(model.decision_function(X_test), expected.decision_function(X_test))

    def test_figures_stand_beside_the_baseline(self, iris):
        result = found("train", iris)
        X, X_test, y, y_test = iris_halves()
        predicted = make_pipeline(StandardScaler(), SVC()).fit(X, y).predict(X_test)
        test = result["test"]
        assert test["accuracy"] == accuracy_score(y_test, predicted)
        assert test["baseline"] == DummyClassifier().fit(X, y).score(X_test, y_test)
        ours = precision_score(y_test, predicted, average=None)
        assert [test["scores"][name]["precision"] for name in ("setosa", "versicolor", "virginica")] == list(ours)
        assert test["better_than_baseline"] is True
        assert result["report"]["status"] == "OPTIMAL"
        assert result["n_train"] == 112

    def test_says_what_it_did(self, iris):
        result = call("train", iris)
        text = " ".join(result.stdout.split())
        for words in (
            "150 rows, 4 columns, target 'kind': 3 classes (setosa 50, versicolor 50, virginica 50)",
            "task classify, because the target has 3 distinct texts (--task outliers to override)",
            "112 rows to train, 38 held out",
            "duality gap",
            "naive baseline 0.316",
            "a linear model",
            "true \\ predicted setosa versicolor virginica",
            "Columns that matter most",
            "The model is clearly better than the naive baseline (by accuracy).",
            "The model was not saved",
        ):
            assert words in text
        assert result.stderr == ""
        assert max(map(len, result.stdout.splitlines())) <= 80 or "/" in max(result.stdout.splitlines(), key=len)

    def test_a_model_that_learns_nothing_is_told_so(self, tmp_path):
        rng = np.random.default_rng(0)
        rows = [[*row, label] for row, label in zip(rng.random((200, 2)), rng.integers(0, 2, 200), strict=True)]
        path = write_table(tmp_path / "noise.csv", ["a", "b", "label"], rows)
        result = call("train", path)
        assert result.exit_code == 0
        assert "is clearly better" not in result.stdout
        assert found("train", path)["test"]["better_than_baseline"] is False

    def test_whole_numbers_are_labels(self, moons, tmp_path):
        call("train", moons, "-o", tmp_path / "moons.mm")
        model = load(tmp_path / "moons.mm")
        assert isinstance(model, SVC)
        assert model.classes_.tolist() == [-1, 1]
        assert model.classes_.dtype.kind == "i"

    def test_test_data_of_its_own(self, moons):
        result = found("train", moons, "--test", moons)
        assert (result["n_train"], result["test"]["n"]) == (120, 120)
        assert result["test"]["accuracy"] == pytest.approx(1 - result["report"]["training_error"])

    def test_no_test(self, moons):
        result = call("train", moons, "--test-size", "0")
        assert "120 samples" in result.stdout
        assert "baseline" not in result.stdout

    def test_a_label_of_one_row_is_trained_on(self, tmp_path):
        rows = [[k, "a" if k < 10 else "b"] for k in range(20)] + [[30, "c"]]
        result = call("train", write_table(tmp_path / "rare.csv", ["x", "label"], rows))
        assert result.exit_code == 0
        assert "1 label has a single row, which is used to train (c)" in result.stderr

    def test_weights_of_classes(self, moons):
        equal = found("train", moons, "--test-size", "0")["report"]
        balanced = found("train", moons, "--test-size", "0", "--class-weight", "balanced")["report"]
        assert balanced["dual_objective"] == pytest.approx(equal["dual_objective"])  # as many of either class
        heavy = found("train", moons, "--test-size", "0", "--class-weight", "1=9,-1=9")["report"]
        nine = found("train", moons, "--test-size", "0", "--C", "9")["report"]
        assert heavy["dual_objective"] == pytest.approx(nine["dual_objective"])

    def test_texts_become_columns(self, tmp_path):
        rows = [[shape, size, "yes" if shape == "round" else "no"] for shape in ("round", "flat") for size in range(20)]
        path = write_table(tmp_path / "shapes.csv", ["shape", "size", "label"], rows)
        result = call("train", path, "-o", tmp_path / "shapes.mm", "--scale")
        assert "Columns: 1 category, 1 number, numbers standardised" in result.stdout
        assert load(tmp_path / "shapes.mm")[-1].n_features_in_ == 3
        assert found("train", path, "--scale")["test"]["accuracy"] == 1.0

    def test_a_text_that_only_the_test_has(self, tmp_path):
        rows = [[f"word{k}", k, "ab"[k % 2]] for k in range(20)]
        path = write_table(tmp_path / "words.csv", ["word", "number", "label"], rows)
        assert call("train", path).exit_code == 0
        other = write_table(tmp_path / "other.csv", ["word", "number", "label"], [["new", 1, "a"]])
        assert call("train", path, "--test", other).exit_code == 0
        error = refused("train", path, "--test", other, "--unknown", "error")
        assert error.startswith("Error: other.csv, column 'word': 1 value unknown to the model ('new'): correct them,")
        known = write_table(
            tmp_path / "known.csv", ["word", "number", "label"], [["ab"[k % 2], k, k % 2] for k in range(20)]
        )
        call("train", known, "--unknown", "error", "-o", tmp_path / "known.mm")
        assert refused("predict", tmp_path / "known.mm", other).startswith("Error: other.csv, column 'word': 1 value")


class TestNumbers:
    def test_figures_stand_beside_the_baselines(self, sine, tmp_path):
        result = found("train", sine, "--C", "10", "--epsilon", "0.05", "-o", tmp_path / "sine.mm")
        data = np.loadtxt(sine, delimiter=",", skiprows=1)
        train, test = (np.sort(part) for part in train_test_split(np.arange(80), test_size=20, random_state=0))
        X, y = data[:, :1], data[:, 1]
        spread = np.std(y[train])
        estimator = make_pipeline(StandardScaler(), SVR(C=10 * spread, epsilon=0.05 * spread, tol=1e-3 * spread))
        predicted = estimator.fit(X[train], y[train]).predict(X[test])
        assert result["task"] == "regress"
        assert result["test"]["mae"] == pytest.approx(mean_absolute_error(y[test], predicted))
        assert result["test"]["rmse"] == pytest.approx(root_mean_squared_error(y[test], predicted))
        assert result["test"]["r2"] == pytest.approx(r2_score(y[test], predicted))
        for strategy in ("mean", "median"):
            naive = DummyRegressor(strategy=strategy).fit(X[train], y[train]).predict(X[test])
            assert result["test"][f"baseline_{strategy}"]["mae"] == pytest.approx(mean_absolute_error(y[test], naive))
        assert result["test"]["better_than_baseline"] is True
        np.testing.assert_allclose(load(tmp_path / "sine.mm").predict(X[test]), predicted)

    def test_text(self, sine):
        result = call("train", sine)
        assert "target 'height': numbers from" in result.stdout.replace("\n  ", " ")
        assert "naive: median" in result.stdout


class TestOutliers:
    def test_share_outside(self, moons, tmp_path):
        result = found("train", moons, "--task", "outliers", "--nu", "0.2", "-o", tmp_path / "odd.mm")
        estimator = load(tmp_path / "odd.mm")
        assert isinstance(estimator, OneClassSVM)
        assert estimator.nu == 0.2
        assert result["test"]["expected_share"] == result["report"]["training_error"]
        assert sum(row["outside"] for row in result["test"]["by_label"].values()) == result["test"]["n_outliers"]

    def test_all_columns_of_a_table_count(self, sine, tmp_path):
        call("train", sine, "--task", "outliers", "-o", tmp_path / "odd.mm")
        assert load(tmp_path / "odd.mm")[-1].n_features_in_ == 2
        call("train", sine, "--task", "outliers", "--target", "height", "-o", tmp_path / "odd.mm")
        assert load(tmp_path / "odd.mm")[-1].n_features_in_ == 1


class TestTask:
    @pytest.mark.parametrize(
        ("y", "task"),
        [
            (None, "outliers"),
            (np.array(["a", "b", "b"]), "classify"),
            (np.array(["true", "false"]), "classify"),
            (np.tile([-1.0, 1.0], 20), "classify"),
            (np.tile([0.5, 1.5], 20), "classify"),
            (np.tile(np.arange(10.0), 30), "classify"),
            (np.tile(np.arange(28.0), 30), "regress"),
            (np.arange(10.0), "regress"),
            (np.linspace(0, 1, 50), "regress"),
        ],
    )
    def test_decided_by_the_target(self, y, task):
        assert decide_task(y)[0] == task

    def test_overridden(self, moons):
        assert found("train", moons, "--task", "regress")["task"] == "regress"


class TestEstimator:
    @pytest.mark.parametrize(
        ("task", "options", "kind"),
        [
            ("classify", {}, SVC),
            ("classify", {"nu": 0.2}, NuSVC),
            ("classify", {"kernel": "linear"}, LinearSVC),
            ("classify", {"kernel": "linear", "estimator": "kernel"}, SVC),
            ("classify", {"kernel": "linear", "multiclass": "ovo"}, SVC),
            ("classify", {"kernel": "linear", "solver": "active_set"}, SVC),
            ("classify", {"kernel": "linear", "solver": "pegasos"}, LinearSVC),
            ("classify", {"estimator": "linear", "multiclass": "crammer_singer"}, LinearSVC),
            ("regress", {"kernel": "laplacian", "gamma": 0.5}, SVR),
            ("regress", {"kernel": "linear"}, LinearSVR),
            ("regress", {"nu": 0.5}, NuSVR),
            ("outliers", {"kernel": "linear"}, OneClassSVM),
        ],
    )
    def test_chosen(self, task, options, kind):
        assert type(make_estimator(task, options)) is kind

    def test_sigma_is_a_width(self, moons):
        result = found("train", moons, "--sigma", "2")
        assert result["report"]["kernel"] == "RBF(gamma=0.125)"

    def test_the_linear_estimator_solves_the_same_problem(self, moons):
        same = ("train", moons, "--kernel", "linear", "--test-size", "0")
        linear = found(*same, "--tol", "1e-9")["report"]
        kernel = found(*same, "--tol", "1e-6", "--estimator", "kernel")["report"]
        assert linear["model"].startswith("LinearSVC")
        assert linear["primal_objective"] == pytest.approx(kernel["primal_objective"], rel=1e-6)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--epsilon", "0.1"], "--epsilon does not apply to SVC"),
            (["--kernel", "linear", "--gamma", "1"], "--gamma does not apply to the linear kernel"),
            (["--degree", "2"], "--degree does not apply to the rbf kernel"),
            (["--sigma", "1", "--gamma", "1"], "give one of them"),
            (["--sigma", "0"], "--sigma must be a positive number"),
            (["--nu", "0.2", "--C", "1"], "--C does not apply to NuSVC"),
            (["--estimator", "linear", "--kernel", "rbf"], "--estimator linear has no kernel rbf"),
            (["--estimator", "linear", "--multiclass", "ovo"], "use ovr or crammer_singer"),
            (["--estimator", "linear", "--nu", "0.1"], "--nu does not apply to LinearSVC"),
            (["--task", "outliers", "--C", "1"], "--C does not apply to OneClassSVM"),
            (["--task", "outliers", "--estimator", "linear"], "does not find outliers"),
            (["--kernel", "rfb"], "Did you mean 'rbf'?"),
            (["--kernel", "spectrum"], "--kernel must be one of"),
            (["--solver", "nope"], "solver must be one of"),
            (["--C", "-1"], "C must be > 0"),
            (["--C", "much"], "'much' is not a valid float"),
            (["--gamma", "wide"], "'wide' is neither a number nor 'scale' nor 'auto'"),
            (["--class-weight", "2=1"], "'2=1' is not LABEL=NUMBER"),
            (["--test-size", "1"], "--test-size"),
            (["--test-size", "0.2", "--test", "x.svm"], "give one of them"),
            (["--test-size", "0.999"], "cannot be divided"),
            (["--test-last", "--test", "x.svm"], "--test and --test-last say different things"),
        ],
    )
    def test_options_that_make_no_sense(self, moons, options, words):
        assert words in refused("train", moons, *options)


class TestFiles:
    def test_missing(self, tmp_path):
        assert "nothing.csv" in refused("train", tmp_path / "nothing.csv")

    def test_regression_on_words(self, iris):
        assert "'setosa', no number" in refused("train", iris, "--task", "regress")

    def test_a_single_label(self, tmp_path):
        path = write_table(tmp_path / "same.csv", ["a", "label"], [[k, "x"] for k in range(9)])
        assert "the only label is 'x'" in refused("train", path)
        assert "use --task outliers" in refused("train", path)

    def test_an_unknown_target(self, iris):
        assert "did you mean 'kind'?" in refused("train", iris, "--target", "kinds")

    @pytest.mark.parametrize("name", ["none/model.mm", "model.model", "model.onnx", "data.csv"])
    def test_output_is_checked_before_the_fit(self, moons, tmp_path, name):
        before = sorted(os.listdir(tmp_path))
        assert name.rsplit("/")[-1] in refused("train", moons, "-o", tmp_path / name)
        assert sorted(os.listdir(tmp_path)) == before

    def test_a_failed_fit_leaves_the_old_model(self, moons, tmp_path):
        call("train", moons, "-o", tmp_path / "model.mm")
        before = (tmp_path / "model.mm").read_bytes()
        refused("train", moons, "-o", tmp_path / "model.mm", "--C", "-1")
        assert (tmp_path / "model.mm").read_bytes() == before

    def test_standard_input(self, iris):
        result = CliRunner().invoke(main, ["train", "-", "--json"], input=iris.read_text())
        assert json.loads(result.stdout)["n_train"] == 112


class TestHints:
    def test_a_fit_that_is_stopped(self, iris):
        result = call("train", iris, "--max-iter", "1", "--C", "1000")
        assert result.exit_code == 0
        assert "did not converge" in result.stderr
        assert "raise --max-iter" in " ".join(result.stderr.split())
        notes = json.loads(call("train", iris, "--max-iter", "1", "--C", "1000", "--json").stdout)["notes"]
        assert "did not converge" in notes[0]


class TestInterrupt:
    def interrupted(self, *arguments):
        """A fit that would take long, with Ctrl-C at its first sign of life."""

        def once(progress):
            if not sent:
                sent.append(progress)
                signal.raise_signal(signal.SIGINT)

        sent = []
        with watching(once):
            result = call("train", *arguments, "--solver", "smo", "--C", "1e6", "--tol", "1e-12")
        assert sent
        assert result.exit_code == 130
        assert "interrupted by the user" in result.stderr
        return result.stdout

    def test_the_best_model_so_far_is_saved(self, moons, tmp_path):
        assert "the best model so far" in self.interrupted(moons, "-o", tmp_path / "model.mm")
        assert load(tmp_path / "model.mm").report_.status is Status.INTERRUPTED

    def test_few_rows_are_predicted_after_it(self, moons, monkeypatch):
        assert "On the 30 rows of the test:" in self.interrupted(moons)
        monkeypatch.setattr(_results, "STOPPED_TEST_MAX_ROWS", 10)
        assert "On 10 of the 30 rows of the test:" in self.interrupted(moons)

    def test_in_a_process_of_its_own(self, moons, tmp_path):
        code = (
            "import os, signal\n"
            "from maxmargin.cli import main\n"
            "from maxmargin.runtime.control import watching\n"
            "def interrupt(progress):\n"
            "    if progress.iteration == 0:\n"
            "        os.kill(os.getpid(), signal.SIGINT)\n"
            "with watching(interrupt):\n"
            f"    main(['train', {str(moons)!r}, '--json', '--solver', 'smo', '--C', '1e6', '--tol', '1e-12'])\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 130, done.stderr
        assert json.loads(done.stdout)["report"]["status"] == "INTERRUPTED"
        assert done.stderr == ""


def test_results_are_shown_though_the_model_cannot_be_saved(iris, tmp_path, monkeypatch):
    """A full disk: the error names the file and the remedy, and the old model stays."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_atomic.os, "fsync", full)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "t.mm").write_text("old")
    result = call("train", iris, "-o", tmp_path / "models" / "t.mm")
    assert result.exit_code == 2
    assert result.stderr.replace("\n  ", " ").splitlines()[-1] == (
        f"Error: {tmp_path / 'models' / 't.mm'}: No space left on device: make room, or write to another disk."
    )
    assert "The model is clearly better than the naive baseline" in result.stdout.replace("\n  ", " ")
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["t.mm"]
    assert (tmp_path / "models" / "t.mm").read_text() == "old"
