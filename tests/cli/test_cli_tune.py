"""``maxmargin tune``: it chooses, tests, saves and refuses."""

import json
import signal

import numpy as np
import pytest
from command_runner import call, refused
from sklearn.datasets import load_iris

from maxmargin import SVCCV, load
from maxmargin.cli.commands.tune import numbers
from maxmargin.runtime.control import watching


@pytest.fixture
def iris(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    path = tmp_path / "iris.csv"
    lines = ["a,b,c,d,species", *(",".join([*map(str, row), name]) for row, name in zip(X, names, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_it_chooses_tests_and_saves(iris, tmp_path):
    model, picture = tmp_path / "iris.mm", tmp_path / "map.png"
    result = call("tune", iris, "-o", model, "--Cs", "0.01,1,10", "--gammas", "0.1,1", "--plot", picture)
    assert result.exit_code == 0, result.output
    assert "6 cells on 5 folds, complete; the best by accuracy" in result.stdout
    assert "naive baseline" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = load(model)
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    assert np.mean(again.predict(X.astype(object)) == names) > 0.9


def test_the_choice_is_that_of_the_search(iris):
    result = call("tune", iris, "--Cs", "0.01,1,10", "--gammas", "0.1,1", "--test-size", "0", "--no-scale", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    from sklearn.model_selection import StratifiedKFold

    X, y = load_iris(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = SVCCV(Cs=[0.01, 1, 10], gammas=[0.1, 1], cv=folds).fit(X, y)
    assert told["best_params"] == search.best_params_
    assert told["best_score"] == pytest.approx(search.best_score_)
    assert told["cells"] == 6
    assert told["test"] is None


def test_the_grid_goes_on_beyond_its_edge(iris):
    narrow = (iris, "--Cs", "0.001,0.01,0.1", "--gammas", "0.1,0.3", "--folds", "3", "--json")
    told = json.loads(call("tune", *narrow).stdout)
    assert told["best_params"]["C"] > 0.1
    assert told["cells"] > 6
    assert "the best cell is at the edge of the grid: trying C above 0.1, too" in told["notes"][0]
    stayed = json.loads(call("tune", *narrow, "--no-extend").stdout)
    assert stayed["cells"] == 6
    assert stayed["edge"] == ["C"]
    assert told["best_score"] >= stayed["best_score"]


def test_it_does_not_advise_what_it_has_done(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{c}" for a, b, c in zip(*rng.normal(size=(2, 200)), rng.integers(0, 2, 200), strict=True)]
    path = tmp_path / "noise.csv"
    path.write_text("\n".join(["a,b,label", *rows]) + "\n")
    grid = ("--Cs", "1,10", "--gammas", "1", "--folds", "3")
    tips = json.loads(call("tune", path, *grid, "--json").stdout)["tips"]
    assert tips == ["these columns hardly tell the target: more rows, other columns, or another --target may help."]
    assert "maxmargin tune" not in call("tune", path, *grid).stdout
    assert "maxmargin tune" in call("train", path).stdout


def test_numbers_are_a_regression(iris):
    result = call("tune", iris, "--target", "d", "--Cs", "1,10", "--epsilons", "0.05,0.2", "--folds", "3", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["task"] == "regress"
    assert set(told["best_params"]) >= {"C", "epsilon"}
    assert told["folds"] == 3
    assert told["best_score"] > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--Cs", "1,x"], "'1,x' is not a list of numbers"),
        (["--Cs", "0"], "C"),
        (["--nus", "0.1"], "--nus does not apply to --task classify: leave it out, or use --task outliers"),
        (["--epsilons", "1"], "--epsilons does not apply to --task classify"),
        (["--target", "d", "--class-weight", "balanced"], "--class-weight does not apply to --task regress"),
        (["--kernel", "none"], "--kernel must be one of"),
        (["--scoring", "beauty"], "beauty"),
        (["-o", "model.csv"], "give the model a name that ends in .mm"),
        (["-o", "missing/model.mm"], "missing"),
    ],
)
def test_what_it_refuses(iris, arguments, message):
    assert message in refused("tune", iris, *arguments)


def test_lists_of_numbers():
    assert numbers(None, None, "0.1,1e3") == [0.1, 1000.0]
    assert numbers(None, None, None) is None


def test_a_search_that_is_interrupted(iris, tmp_path):
    """The best model so far is saved, as train does, and the exit code says so."""

    def once(progress):
        if not sent:
            sent.append(progress)
            signal.raise_signal(signal.SIGINT)

    sent = []
    with watching(once):
        result = call("tune", iris, "-o", tmp_path / "iris.mm", "--Cs", "1,10,100", "--gammas", "0.1,1,10")
    assert sent
    assert result.exit_code == 130
    assert "interrupted by the user; the best by accuracy" in result.stdout.replace("\n  ", " ")
    assert "nan" not in result.stdout
    assert "the best model so far" in result.stdout
    assert load(tmp_path / "iris.mm").predict([[5.1, 3.5, 1.4, 0.2]]) == ["setosa"]
