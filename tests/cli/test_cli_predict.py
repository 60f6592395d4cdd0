"""``maxmargin predict`` and ``maxmargin evaluate``: the same answers as in Python, for data of every form."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from command_runner import call, refused
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score, r2_score

from maxmargin import SVC, SVR, OneClassSVM, load, save
from maxmargin.cli._findings import ClassFindings, NumberFindings, OutlierFindings
from maxmargin.cli._options import figure
from maxmargin.cli.commands.explain import _shown
from maxmargin.io import write_svmlight

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
KINDS = np.array(["setosa", "versicolor", "virginica"])


def write_table(path, columns, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([columns, *rows] if columns else rows)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Iris as a table, and a model trained on it by the command."""
    folder = tmp_path_factory.mktemp("iris")
    X, y = load_iris(return_X_y=True)
    rows = [[*row, KINDS[label]] for row, label in zip(X.tolist(), y, strict=True)]
    write_table(folder / "iris.csv", [*NAMES, "kind"], rows)
    assert call("train", folder / "iris.csv", "-o", folder / "iris.mm", "--scale").exit_code == 0
    return folder


@pytest.fixture(scope="module")
def expected(folder):
    return load(folder / "iris.mm").predict(load_iris().data)


class TestPredict:
    def test_one_label_a_line(self, folder, expected):
        result = call("predict", folder / "iris.mm", folder / "iris.csv")
        assert result.exit_code == 0
        assert result.stdout.splitlines() == expected.tolist()
        assert result.stderr == ""

    def test_columns_are_matched_by_name(self, folder, expected, tmp_path):
        X = load_iris().data
        mixed = write_table(
            tmp_path / "mixed.csv",
            ["petal width", "id", *NAMES[:3]],
            [[row[3], k, *row[:3]] for k, row in enumerate(X.tolist())],
        )
        assert call("predict", folder / "iris.mm", mixed).stdout.splitlines() == expected.tolist()

    def test_without_names_by_place(self, folder, expected, tmp_path):
        bare = write_table(tmp_path / "bare.csv", None, load_iris().data.tolist())
        assert call("predict", folder / "iris.mm", bare).stdout.splitlines() == expected.tolist()

    @pytest.mark.parametrize("columns", [3, 6])
    def test_a_wrong_number_of_columns(self, folder, tmp_path, columns):
        bare = write_table(tmp_path / "bare.csv", None, np.ones((4, columns)).tolist())
        message = refused("predict", folder / "iris.mm", bare)
        assert f"{columns} columns" in message
        assert "4 features" in message

    def test_missing_columns_are_named(self, folder, tmp_path):
        few = write_table(tmp_path / "few.csv", NAMES[:3], [[1, 2, 3]])
        assert "'petal width'" in refused("predict", folder / "iris.mm", few)

    def test_values(self, folder, expected):
        values = load(folder / "iris.mm").decision_function(load_iris().data)
        lines = call("predict", folder / "iris.mm", folder / "iris.csv", "--values").stdout.splitlines()
        head, *rows = [line.split("\t") for line in lines]
        assert head == ["prediction", "value setosa", "value versicolor", "value virginica"]
        assert [row[0] for row in rows] == expected.tolist()
        np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=float), values)

    def test_files(self, folder, expected, tmp_path):
        values = load(folder / "iris.mm").decision_function(load_iris().data)
        for name, extra in (("p.txt", []), ("p.csv", ["--values"]), ("p.npy", []), ("p.npz", ["--values"])):
            result = call("predict", folder / "iris.mm", folder / "iris.csv", "-o", tmp_path / name, *extra)
            assert result.exit_code == 0, result.output
            assert f"wrote {tmp_path / name}: 150 predictions" in " ".join(result.stdout.split())  # lines are folded
        assert (tmp_path / "p.txt").read_text().splitlines() == expected.tolist()
        np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), expected)
        with np.load(tmp_path / "p.npz") as arrays:
            np.testing.assert_array_equal(arrays["values"], values)
        with open(tmp_path / "p.csv", newline="") as file:
            head, *rows = csv.reader(file)
        assert head == ["prediction", *(f"value {kind}" for kind in KINDS)]
        np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=float), values)

    def test_json(self, folder, expected):
        result = call("predict", folder / "iris.mm", folder / "iris.csv", "--json")
        assert json.loads(result.stdout)["predictions"] == expected.tolist()
        assert result.stderr == ""

    def test_a_pipe_through(self, tmp_path):
        X, y = load_iris(return_X_y=True)
        estimator = SVC().fit(X, KINDS[y])
        save(estimator, tmp_path / "m.mm")
        with open(write_table(tmp_path / "d.csv", None, X.tolist()), "rb") as file:
            done = subprocess.run(
                [sys.executable, "-c", "from maxmargin.cli import main; main()", "predict", tmp_path / "m.mm", "-"],
                stdin=file,
                capture_output=True,
                text=True,
                check=True,
            )
        assert done.stdout.splitlines() == estimator.predict(X).tolist()
        assert done.stderr == ""

    @pytest.mark.parametrize("name", ["p.xls", "none/p.csv"])
    def test_files_that_cannot_be_written(self, folder, tmp_path, name):
        assert name in refused("predict", folder / "iris.mm", folder / "iris.csv", "-o", tmp_path / name)

    def test_options_that_make_no_sense(self, folder, tmp_path):
        assert "one array" in refused(
            "predict", folder / "iris.mm", folder / "iris.csv", "-o", tmp_path / "p.npy", "--values"
        )
        save(SVR().fit([[0.0], [1.0]], [0.0, 1.0]), tmp_path / "r.mm")
        write_table(tmp_path / "r.csv", ["x"], [[1], [2]])
        assert "predicts numbers" in refused("predict", tmp_path / "r.mm", tmp_path / "r.csv", "--values")

    def test_numbers_come_back_to_the_bit(self, tmp_path):
        X = np.linspace(0, 1, 7)[:, None]
        estimator = SVR().fit(X, np.exp(X).ravel())
        save(estimator, tmp_path / "r.mm")
        np.save(tmp_path / "X.npy", X)
        lines = call("predict", tmp_path / "r.mm", tmp_path / "X.npy").stdout.splitlines()
        assert [float(line) for line in lines] == estimator.predict(X).tolist()


class TestSvmlight:
    @pytest.fixture
    def model(self, tmp_path):
        X = np.eye(4)[np.arange(12) % 4] + 0.1
        save(SVC().fit(X, np.arange(12) % 2), tmp_path / "m.mm")
        return tmp_path / "m.mm"

    def test_fewer_columns_are_zeros(self, model, tmp_path):
        (tmp_path / "d.svm").write_text("1 1:1\n0 2:1\n")
        lines = call("predict", model, tmp_path / "d.svm").stdout.splitlines()
        assert [int(line) for line in lines] == load(model).predict([[1, 0, 0, 0], [0, 1, 0, 0]]).tolist()

    def test_more_are_refused(self, model, tmp_path):
        (tmp_path / "d.svm").write_text("1 1:1\n0 7:1\n")
        message = refused("predict", model, tmp_path / "d.svm")
        assert "7" in message
        assert "4 columns" in message

    def test_counted_from_zero(self, model, tmp_path):
        (tmp_path / "d.svm").write_text("1 1:1\n0 3:1\n")
        lines = call("predict", model, tmp_path / "d.svm", "--zero-based", "--values").stdout.splitlines()[1:]
        values = load(model).decision_function([[0, 1, 0, 0], [0, 0, 0, 1]])
        np.testing.assert_array_equal([float(line.split("\t")[1]) for line in lines], values)

    def test_a_libsvm_model_learns_its_columns_from_the_data(self, tmp_path):
        X = np.column_stack([np.linspace(-1, 1, 20), np.zeros(20), np.zeros(20)])
        estimator = SVC(kernel="linear").fit(X, np.arange(20) // 10)
        save(estimator, tmp_path / "m.mm")
        assert call("convert", tmp_path / "m.mm", tmp_path / "m.model").exit_code == 0
        write_table(tmp_path / "d.csv", ["a", "b", "c", "label"], [[*row, 0] for row in X.tolist()])
        lines = call("predict", tmp_path / "m.model", tmp_path / "d.csv").stdout.splitlines()
        assert [int(line) for line in lines] == estimator.predict(X).tolist()


class TestEvaluate:
    def test_classes(self, folder, expected):
        result = call("evaluate", folder / "iris.mm", folder / "iris.csv", "--json")
        found = json.loads(result.stdout)
        assert found["accuracy"] == accuracy_score(KINDS[load_iris().target], expected)
        assert found["baseline"] == pytest.approx(1 / 3)
        text = call("evaluate", folder / "iris.mm", folder / "iris.csv").stdout
        assert "SVC of" in text
        assert "target 'kind'" in text
        assert "naive baseline   0.333" in text

    def test_labels_that_the_model_does_not_know(self, folder, tmp_path):
        rows = [
            [*row, kind] for row, kind in zip(load_iris().data[:4].tolist(), ["setosa"] * 3 + ["rose"], strict=True)
        ]
        path = write_table(tmp_path / "d.csv", [*NAMES, "kind"], rows)
        result = call("evaluate", folder / "iris.mm", path)
        assert "1 row with labels the model does not know ('rose') count as wrong" in result.stderr
        assert "accuracy         0.750" in result.stdout
        other = write_table(tmp_path / "e.csv", [*NAMES, "kind"], [[*row[:4], "rose"] for row in rows])
        assert "'rose', and the model knows 'setosa'" in refused("evaluate", folder / "iris.mm", other)

    def test_data_without_labels(self, folder, tmp_path):
        path = write_table(tmp_path / "d.csv", NAMES, load_iris().data[:4].tolist())
        assert "lacks the column 'kind'" in refused("evaluate", folder / "iris.mm", path)

    def test_numbers(self, tmp_path):
        X = np.linspace(0, 1, 30)[:, None]
        y = np.exp(X).ravel()
        estimator = SVR(C=10, epsilon=0.01).fit(X, y)
        save(estimator, tmp_path / "r.mm")
        write_table(tmp_path / "r.csv", ["x", "y"], np.column_stack((X, y)).tolist())
        found = json.loads(call("evaluate", tmp_path / "r.mm", tmp_path / "r.csv", "--json").stdout)
        assert found["r2"] == pytest.approx(r2_score(y, estimator.predict(X)))
        assert found["baseline_mean"]["r2"] == pytest.approx(0.0)

    def test_outliers(self, tmp_path):
        X = np.random.default_rng(0).standard_normal((60, 2))
        estimator = OneClassSVM(nu=0.2).fit(X)
        save(estimator, tmp_path / "o.mm")
        write_svmlight(np.vstack((X, [[9, 9]])), [0] * 60 + [1], tmp_path / "o.svm")
        found = json.loads(call("evaluate", tmp_path / "o.mm", tmp_path / "o.svm", "--json").stdout)
        assert found["by_label"]["1"] == {"outside": 1, "n": 1}
        assert found["n_outliers"] == 1 + int((estimator.predict(X) < 0).sum())
        assert "outliers" in call("evaluate", tmp_path / "o.mm", tmp_path / "o.svm").stdout


def test_figures_for_reading():
    found = [figure(value) for value in (0.0, 12.3456, -9876.54, 12345.6, -4663831.0, 3.2e13, 1e-7)]
    assert found == ["0", "12.346", "-9876.5", "12,346", "-4,663,800", "3.2e+13", "1e-07"]


def test_cells_that_are_explained():
    cells = (20210821.0, float("nan"), None, 0.123456789, 1234567.8, -3.0, "x")
    assert [_shown(cell) for cell in cells] == [
        *("20210821", "(missing)", "(missing)", "0.123457", "1,234,570", "-3", "x")
    ]


class TestFindings:
    def test_chance_is_not_called_better(self):
        truth = np.array([0] * 50 + [1] * 50)
        lucky = np.where(np.arange(100) < 55, truth, 1 - truth)
        assert not ClassFindings(truth, lucky, 0, "").better
        assert "not by more than chance" in ClassFindings(truth, lucky, 0, "").verdict
        assert "NOT better" in ClassFindings(truth, np.zeros(100), 0, "").verdict
        assert ClassFindings(truth, truth, 0, "").better

    def test_chance_in_numbers(self):
        rng = np.random.default_rng(0)
        truth = rng.standard_normal(50)
        assert NumberFindings(truth, truth + 0.1, 0.0, 0.0, "").better
        assert "NOT better" in NumberFindings(truth, truth + 5, 0.0, 0.0, "").verdict
        constant = NumberFindings(np.ones(3), np.ones(3), 1.0, 1.0, "")
        assert not constant.better
        far = NumberFindings(truth, truth + 1e9, 0.0, 0.0, "").text()
        assert max(map(len, far.splitlines())) <= 80
        assert "R2 is undefined" in constant.text()
        assert "nan" not in constant.text()

    def test_shares_of_outliers(self):
        outside = np.arange(100) < 50
        assert "more rows lie outside than expected" in OutlierFindings(outside, 0.1, "nu is").verdict
        assert "Fewer rows" in OutlierFindings(outside, 0.9, "nu is").verdict
        assert "As many rows" in OutlierFindings(outside, 0.5, "nu is").verdict

    def test_very_many_classes_are_not_listed(self):
        labels = np.arange(100)
        assert len(ClassFindings(labels, labels, 0, "").text().splitlines()) < 10
