import numpy as np
import pytest

from maxmargin import SVC, shapley_values
from maxmargin.displays import ShapleyDisplay


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    return shapley_values(SVC().fit(X, X[:, 0] > 0), X, X[:5])


def test_bars_are_the_mean_sizes(found):
    ax = ShapleyDisplay(found, kind="bar", top=4).plot().ax_
    np.testing.assert_allclose(
        sorted(bar.get_width() for bar in ax.patches), sorted(np.abs(found.values).mean(axis=0))[-4:]
    )


def test_the_swarm_has_a_dot_for_each_row(found):
    ax = ShapleyDisplay(found).plot().ax_
    j = int(np.argmax(found.importance))
    dots = ax.collections[0].get_offsets()
    np.testing.assert_allclose(dots[:, 0], found.values[:, j])
    assert np.abs(dots[:, 1] - 5).max() < 0.5


def test_the_force_ends_at_the_decision_value(found):
    ax = ShapleyDisplay(found[3], kind="force", top=4).plot().ax_
    assert len(ax.patches) == 5
    assert ax.get_yticklabels()[-1].get_text() == "2 others"
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(ends[-1], found.base_values[3] + found.values[3].sum())


def test_refusals(found):
    with pytest.raises(ValueError, match="kind"):
        ShapleyDisplay(found, kind="pie").plot()
    with pytest.raises(ValueError, match="no rows"):
        ShapleyDisplay(found[:0]).plot()
    X = np.random.default_rng(0).normal(size=(30, 3))
    several = shapley_values(SVC().fit(X, np.arange(30) % 3), X)
    with pytest.raises(ValueError, match="several outputs"):
        ShapleyDisplay(several).plot()
    assert ShapleyDisplay(several.output(1), kind="bar").plot().ax_.patches


def test_from_estimator_draws_where_it_is_told():
    from matplotlib.figure import Figure

    X = np.random.default_rng(0).normal(size=(30, 3))
    ax = Figure().add_subplot()
    display = ShapleyDisplay.from_estimator(SVC().fit(X, X[:, 0] > 0), X, ax=ax)
    assert display.ax_ is ax
