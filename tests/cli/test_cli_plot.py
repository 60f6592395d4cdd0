"""``maxmargin plot``: the picture that suits the model."""

import json

import numpy as np
import pytest
from command_runner import call, refused
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearSVC, OneClassSVM, save
from maxmargin.cli._model import Model

pytest.importorskip("matplotlib")

MOONS, SIDES = make_moons(60, noise=0.2, random_state=0)
TEN = make_classification(60, 10, random_state=0)


def write(path, X, y):
    np.savez(path, X=X, **({} if y is None else {"y": y}))
    return path


@pytest.mark.parametrize(
    ("estimator", "X", "y", "what"),
    [
        (SVC(), MOONS, SIDES, "decision function"),
        (LinearSVC(), MOONS, SIDES, "decision function"),
        (make_pipeline(StandardScaler(), SVC()), MOONS, SIDES, "decision function"),
        (SVC(), *load_iris(return_X_y=True), "main directions"),
        (make_pipeline(StandardScaler(), LinearSVC()), *load_iris(return_X_y=True), "main directions"),
        (make_pipeline(StandardScaler(), SVC()), *TEN, "first residual direction"),
        (LinearSVC(), *TEN, "first residual direction"),
        (OneClassSVM(nu=0.1), MOONS, None, "region"),
        (OneClassSVM(nu=0.1), load_iris().data, None, "first residual direction"),
        (SVR(), MOONS[:, :1], MOONS[:, 1], "curve"),
        (SVR(), MOONS, MOONS[:, 0] * MOONS[:, 1], "predicted against true"),
    ],
)
def test_pictures(estimator, X, y, what, tmp_path):
    save(estimator.fit(X, y), tmp_path / "m.mm")
    result = call("plot", tmp_path / "m.mm", write(tmp_path / "d.npz", X, y), "-o", tmp_path / "m.png")
    assert result.exit_code == 0, result.output
    assert what in result.stdout
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


def test_ten_columns_in_the_plane_of_the_decision_function():
    """With the linear kernel, by its definition: the first principal component of what w'x leaves of the columns."""
    from maxmargin.cli._pictures import _decision_plane

    X, y = TEN
    model = SVC(kernel="linear").fit(X, y)
    _, _, places = _decision_plane(Model("", model, False), X)
    f = model.decision_function(X)
    np.testing.assert_allclose(places[:, 0], f)
    columns, g = X - X.mean(axis=0), f - f.mean()
    left = columns - np.outer(g, g @ columns) / (g @ g)  # the regression of each column on f
    u, s, _ = np.linalg.svd(left, full_matrices=False)
    first = u[:, 0] * s[0]
    np.testing.assert_allclose(places[:, 1], first * np.sign(first @ places[:, 1]), atol=1e-6 * s[0])
    assert abs(places[:, 1] @ g) < 1e-6 * s[0] * np.linalg.norm(g)


def test_support_vectors_are_drawn_where_they_are():
    from maxmargin.cli._pictures import _support_in_the_plane

    X = MOONS * [1, 50] + 7
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(X, SIDES)
    drawn = _support_in_the_plane(Model("", pipeline, False), X[:0])
    np.testing.assert_allclose(drawn, X[pipeline[-1].support_])


def test_rings_of_scaled_data_are_dashed_where_those_of_the_model_are():
    from maxmargin.cli._pictures import _plane

    X = MOONS * [1.7, 53.3] + 7.1
    pipeline = make_pipeline(StandardScaler(), SVC(C=2.0, tol=1e-8)).fit(X, SIDES)
    _, figure = _plane(Model("", pipeline, False), X, SIDES, None)
    (rings,) = (found for found in figure.axes[0].collections if found.get_zorder() == 5)
    slack = 1 - np.where(SIDES == 1, 1, -1) * pipeline.decision_function(X)
    expected = slack[pipeline[-1].support_] > 1e-4
    assert [style[1] is not None for style in rings.get_linestyle()] == expected.tolist()
    assert 0 < expected.sum() < len(expected)


def test_data_without_labels_are_coloured_by_prediction(tmp_path):
    save(SVC().fit(MOONS, SIDES), tmp_path / "m.mm")
    result = call("plot", tmp_path / "m.mm", write(tmp_path / "d.npz", MOONS, None), "-o", tmp_path / "m.svg", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["output"] == str(tmp_path / "m.svg")


def test_refusals(tmp_path):
    save(SVR().fit(MOONS, MOONS[:, 0]), tmp_path / "m.mm")
    unlabelled = write(tmp_path / "d.npz", MOONS, None)
    for arguments, words in [
        ((unlabelled, "-o", tmp_path / "m.bmp"), ".png, .svg, .pdf"),
        ((unlabelled, "-o", tmp_path / "none" / "m.png"), "no folder"),
        ((unlabelled, "-o", tmp_path / "m.png"), "2 are needed"),
    ]:
        assert words in refused("plot", tmp_path / "m.mm", *arguments)
    assert not list(tmp_path.glob("m.p*"))
