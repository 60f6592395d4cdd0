"""``maxmargin train`` for many rows: --approximate, --components, --stream, --dask."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import make_classification

from maxmargin import load
from maxmargin.cli import main

X, CODES = make_classification(900, 6, n_informative=4, n_classes=3, random_state=0)
LABELS = np.array(["low", "middle", "high"])[CODES]


@pytest.fixture
def folder(tmp_path):
    def write(name, rows, target, column):
        lines = [
            ",".join(f"{value:.6g}" for value in row) + f",{t}" for row, t in zip(X[rows], target[rows], strict=True)
        ]
        (tmp_path / name).write_text("\n".join(["a,b,c,d,e,f," + column, *lines]) + "\n")

    write("train.csv", slice(0, 600), LABELS, "kind")
    write("test.csv", slice(600, 900), LABELS, "kind")
    write("numbers.csv", slice(0, 600), np.round(X[:, 0] + X[:, 1] ** 2, 4), "size")
    return tmp_path


def run(*arguments, code=0):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.output


def told(*arguments):
    return json.loads(run(*arguments, "--json"))


def test_an_approximate_estimator_is_named_so(folder):
    out = told("train", folder / "train.csv", "--test", folder / "test.csv", "--approximate", "--components", 60)
    assert "approximate" in out["report"]["model"]
    assert out["test"]["accuracy"] > 0.6


def test_a_model_from_a_stream_is_that_of_the_rows_in_memory(folder):
    common = ["--approximate", "--components", 60, "--scale", "--test", folder / "test.csv"]
    whole = told("train", folder / "train.csv", *common, "-o", folder / "whole.mm")
    streamed = told("train", folder / "train.csv", *common, "--stream", "-o", folder / "stream.mm")
    assert streamed["n_train"] == whole["n_train"] == 600
    assert abs(streamed["test"]["accuracy"] - whole["test"]["accuracy"]) < 0.03
    first, second = (run("predict", folder / name, folder / "test.csv").split() for name in ("whole.mm", "stream.mm"))
    assert np.mean(np.array(first) == np.array(second)) > 0.95
    assert list(load(folder / "stream.mm").steps[0][1].columns) == list("abcdef")


def test_a_regression_streams_too(folder):
    out = told("train", folder / "numbers.csv", "--approximate", "--components", 50, "--stream", "--C", 10)
    assert out["task"] == "regress"
    assert out["report"]["status"] == "OPTIMAL"


def test_the_linear_estimator_streams_row_by_row(folder):
    out = told("train", folder / "train.csv", "--kernel", "linear", "--stream", "--test", folder / "test.csv")
    assert out["report"]["complete"] is True
    assert 0 < out["report"]["held_out"] < 600
    assert out["test"]["accuracy"] > 0.5


def test_a_cluster_finds_the_same_estimator(folder):
    pytest.importorskip("distributed")
    common = ["--kernel", "linear", "--tol", 1e-8, "--test", folder / "test.csv"]
    run("train", folder / "train.csv", *common, "-o", folder / "here.mm")
    run("train", folder / "train.csv", *common, "--dask", "local", "-o", folder / "there.mm")
    here, there = (load(folder / name).steps[-1][1] for name in ("here.mm", "there.mm"))
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stream"], "--stream does not go with SVC"),
        (["--dask", "local"], "this is SVC: add --approximate"),
        (["--components", "10"], "--components does not apply to SVC: it belongs to --approximate"),
        (["--approximate", "--components", "ten"], "neither a whole number nor 'auto'"),
        (["--approximate", "--components", "0"], "n_components"),
        (["--approximate", "--nu", "0.5"], "has no --nu"),
        (["--approximate", "--estimator", "linear"], "leave one of them out"),
        (["--approximate", "--task", "outliers"], "does not find outliers"),
        (["--stream", "--task", "outliers"], "does not find outliers"),
        (["--stream", "--approximate", "--test-size", "0.2"], "with --test"),
        (["--stream", "--approximate", "--dask", "local"], "leave out one of them"),
    ],
    ids=lambda value: "_".join(value).replace("--", "") if isinstance(value, list) else None,
)
def test_what_does_not_go_together_is_refused_in_one_line(folder, options, message):
    out = run("train", folder / "train.csv", *options, code=2)
    assert message in out
    assert "Traceback" not in out


def test_an_address_that_was_forgotten_is_missed(folder):
    assert "--dask needs a value" in run("train", folder / "train.csv", "--dask", "--approximate", code=2)


def test_schemes_of_several_classes_are_refused_with_the_reason(folder):
    out = run("train", folder / "train.csv", "--approximate", "--multiclass", "ovo", code=2)
    assert "each class against the rest" in out
