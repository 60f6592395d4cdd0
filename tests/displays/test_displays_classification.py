"""Pictures of classifiers, histories and losses: what is drawn is what the fit says."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import SVC, SVR, KernelKNeighborsClassifier, NuSVC, OneClassSVM
from maxmargin.displays._figure import BETWEEN, CLASSES, filled_lines, kernel_text
from maxmargin.displays.history import HistoryDisplay
from maxmargin.displays.losses import LossDisplay
from maxmargin.displays.margin import MarginDisplay
from maxmargin.inspection.margins import margin_report
from maxmargin.kernels import RBF, Laplacian, Polynomial
from maxmargin.runtime.history import History
from maxmargin.svm.linear.classification import LinearSVC
from maxmargin.svm.perceptron import Perceptron

X, Y = make_moons(50, noise=0.25, random_state=0)
BLOBS, CODES = make_blobs(60, centers=((-2, 0), (2, 0), (0, 3)), cluster_std=0.7, random_state=0)
NAMES = np.array(["ash", "beech", "cedar"])[CODES]


def made(estimator, X=X, y=Y, **options):
    return MarginDisplay.from_estimator(estimator, X, y, grid_resolution=40, **options)


def legend_texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def rings(display):
    return np.asarray(display.rings_.get_offsets())


# MarginDisplay: what is drawn


def test_classes_have_the_colours_of_the_lab():
    css = Path(maxmargin.__file__).parent / "lab" / "static" / "css" / "base.css"
    light = dict(re.findall(r"--class-(\d): (#\w+);", css.read_text(encoding="utf-8").split("}")[0]))
    assert [light[str(k)].upper() for k in range(6)] == list(CLASSES[:6])


def test_contours_are_the_boundary_and_the_margin():
    display = made(SVC(C=10.0).fit(X, Y)).plot()
    assert list(display.contours_.levels) == [-1, 0, 1]
    assert display.contours_.linestyles == "solid"
    outer, boundary, other = display.contours_.get_linewidths()
    assert outer == other < boundary  # as in the lab


def test_contours_lie_where_the_decision_function_says():
    model = SVC(C=10.0).fit(X, Y)
    display = MarginDisplay.from_estimator(model, X, Y, grid_resolution=150).plot()
    for level, path in zip(display.contours_.levels, display.contours_.get_paths(), strict=True):
        assert np.abs(model.decision_function(path.vertices) - level).max() < 0.05


@pytest.mark.parametrize(
    "estimator", [SVC(C=10.0), SVC(kernel="linear"), NuSVC(nu=0.4), SVC(multiclass="crammer_singer")]
)
def test_every_support_vector_has_its_ring(estimator):
    estimator.fit(X, Y)
    display = made(estimator).plot()
    drawn, expected = rings(display), X[estimator.support_]
    assert len(drawn) == estimator.report_.n_support
    np.testing.assert_array_equal(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])


def test_support_vectors_are_ringed_on_other_points_too():
    model = SVC(C=10.0).fit(X, Y)
    display = made(model, X[:7], Y[:7]).plot()
    assert len(rings(display)) == len(model.support_)
    assert display.horizontal[0] <= X[model.support_, 0].min()
    assert display.horizontal[-1] >= X[model.support_, 0].max()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_linear_model_has_rings_where_its_loss_is_not_flat(loss):
    model = LinearSVC(loss=loss, tol=1e-9).fit(X, Y)
    display = made(model).plot()
    slack = 1 - np.where(Y == 1, 1, -1) * model.decision_function(X)
    assert len(rings(display)) == np.count_nonzero(slack > -1e-3)
    assert list(display.contours_.levels) == [-1, 0, 1]


def test_the_categories_are_those_of_the_margin_report():
    model = SVC(kernel="linear", C=0.5, tol=1e-6).fit(X, Y)
    display = made(model).plot()
    np.testing.assert_array_equal(display.category, margin_report(model, X, Y).category)
    y_f = np.where(Y == 1, 1, -1) * model.decision_function(X)
    crosses = [c for c in display.ax_.collections if c.get_zorder() == 4]
    assert len(crosses[0].get_offsets()) == np.count_nonzero(y_f < 0)


def test_rings_are_dashed_inside_the_margin_and_beyond():
    model = SVC(kernel="linear", C=0.5, tol=1e-6).fit(X, Y)
    display = made(model).plot()
    category = dict(zip(map(tuple, X), margin_report(model, X, Y).category, strict=True))
    expected = [category[tuple(place)] in ("inside", "misclassified") for place in rings(display)]
    assert [style[1] is not None for style in display.rings_.get_linestyle()] == expected
    assert 0 < sum(expected) < len(expected)


def test_every_point_is_drawn_once_in_the_colour_of_its_class():
    display = made(SVC().fit(X, Y)).plot()
    groups = [c for c in display.ax_.collections if c.get_zorder() == 3]
    drawn = np.concatenate([np.asarray(group.get_offsets()) for group in groups])
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, X))
    for group in groups:
        colours = {to_hex(c) for c in (*group.get_facecolor(), *group.get_edgecolor())}
        for point in np.asarray(group.get_offsets()):
            label = Y[(point == X).all(axis=1)][0]
            assert CLASSES[label].lower() in colours
            assert CLASSES[1 - label].lower() not in colours


def test_the_shading_is_of_the_side():
    model = SVC(C=10.0).fit(X, Y)
    display = made(model).plot()
    points = np.array([[display.horizontal[3], display.vertical[30]], [display.horizontal[30], display.vertical[5]]])
    np.testing.assert_allclose(model.decision_function(points), [display.values[30, 3], display.values[5, 30]])
    blue, vermilion = display.surface_.cmap(0.0), display.surface_.cmap(1.0)
    assert blue[2] > blue[0]
    assert vermilion[0] > vermilion[2]


def test_legend_names_classes_and_what_is_there():
    y = np.array(["left", "right"])[Y]
    display = made(SVC(C=0.5).fit(X, y), y=y).plot()
    texts = legend_texts(display)
    assert {"left", "right", "support vectors", "f = 0, the boundary", "f = ±1, the margin"} <= set(texts)
    for category, words in (
        ("inside", "inside the margin"),
        ("on", "on the margin"),
        ("misclassified", "misclassified"),
    ):
        assert (words in texts) == (category in display.category)
    assert made(SVC().fit(X, Y)).plot(legend=False).ax_.get_legend() is None


def test_the_caption_has_the_figures_of_the_report():
    model = SVC(kernel=RBF(sigma=0.5), C=10.0).fit(X, Y)
    caption = made(model).plot().caption_.get_text()
    report = model.report_
    for figure in (
        report.solver,
        "σ = 0.5",
        "C = 10",
        f"{report.kernel_evaluations:,} kernel evaluations",
        f"{report.n_support} support vectors",
        f"margin {report.margin:.4g}",
        f"training error {report.training_error:.1%}",
    ):
        assert figure in caption
    assert made(model).plot(caption=False).caption_ is None


@pytest.mark.parametrize("panels", [1, 3])
def test_nothing_hangs_out_of_the_picture(panels):
    figure = Figure(figsize=(5.2 * panels, 6), layout="constrained")
    displays = [
        made(SVC(kernel="linear").fit(X, Y)).plot(ax, legend=False) for ax in np.ravel(figure.subplots(1, panels))
    ]
    figure.draw_without_rendering()
    boxes = [display.caption_.get_window_extent() for display in displays]
    width, height = figure.bbox.width, figure.bbox.height
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height for box in boxes)
    assert all(one.x1 < two.x0 for one, two in pairwise(boxes))
    assert all(
        box.y1 < display.ax_.xaxis.label.get_window_extent().y0 for box, display in zip(boxes, displays, strict=True)
    )


# MarginDisplay: other models


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "crammer_singer"])
def test_many_classes_are_regions(multiclass):
    model = SVC(kernel="linear", multiclass=multiclass).fit(BLOBS, NAMES)
    display = made(model, BLOBS, NAMES).plot()
    assert display.contours_ is None
    corner = [[display.horizontal[0], display.vertical[-1]]]
    assert model.classes_[int(display.values[-1, 0])] == model.predict(corner)[0]
    assert {"ash", "beech", "cedar"} <= set(legend_texts(display))
    assert "f = 0, the boundary" not in legend_texts(display)
    assert len(rings(display)) == model.report_.n_support


@pytest.mark.parametrize(
    ("multiclass", "model"),
    [("ovo", ("beech", "cedar")), ("crammer_singer", ("cedar", "ash")), ("ovr", "beech")],
)
def test_one_model_of_many(multiclass, model):
    fitted = SVC(multiclass=multiclass, kernel="linear", decision_function_shape="ovr").fit(BLOBS, NAMES)
    display = made(fitted, BLOBS, NAMES, classes=model).plot()
    report = margin_report(fitted, BLOBS, NAMES, classes=model)
    assert len(display.X) == len(report.rows)
    assert list(display.contours_.levels) == [-1, 0, 1]
    assert len(rings(display)) == np.count_nonzero(report.alpha)
    assert f"margin {report.margin:.4g}" in BETWEEN.join(display.caption)
    assert legend_texts(display)[2:4] == (["the rest", "beech"] if multiclass == "ovr" else list(model)[::-1])


def test_one_class():
    model = OneClassSVM(nu=0.2).fit(X)
    display = MarginDisplay.from_estimator(model, X, grid_resolution=40).plot()
    assert list(display.contours_.levels) == [0]
    np.testing.assert_array_equal(display.codes, model.predict(X) == 1)
    assert len(rings(display)) == len(model.support_)
    assert "nu = 0.2" in display.caption_.get_text()
    assert "margin" not in display.caption_.get_text()
    shapes = {handle.get_label(): handle.get_marker() for handle in display.handles_}
    assert shapes["inside the region"] == "o"  # that of blue elsewhere
    assert shapes["outside the region"] == "s"


def test_the_perceptron_has_a_boundary_and_no_margin():
    separable = X + 3.0 * Y[:, None]
    display = made(Perceptron().fit(separable, Y), separable).plot()
    assert list(display.contours_.levels) == [0]
    assert len(rings(display)) == 0
    assert set(display.category) == {""}
    assert "0.0% of these points wrong" in display.caption_.get_text()


def test_classifiers_without_a_hyperplane_are_regions():
    model = KernelKNeighborsClassifier(n_neighbors=1).fit(X, Y)
    display = made(model).plot()
    assert display.regions
    assert set(display.values.ravel()) == {0, 1}
    with pytest.raises(ValueError, match="no binary problems"):
        made(model, classes=1)


def test_the_last_step_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(X * (1, 50), Y)
    display = made(pipeline, X * (1, 50)).plot()
    assert len(rings(display)) == len(pipeline[-1].support_)
    at = [[display.horizontal[3], display.vertical[30]]]
    np.testing.assert_allclose(display.values[30, 3], pipeline.decision_function(at)[0])
    assert display.ax_.get_aspect() == "auto"  # equal units would leave a line


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda columns: pl.DataFrame(columns)])
def test_frames_name_the_axes(frame):
    table = frame({"length": X[:, 0], "width": X[:, 1]})
    display = made(SVC().fit(table, Y), table).plot()
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")


@pytest.mark.parametrize("convert", [sp.csr_matrix, lambda X: X.astype(np.float32), lambda X: X.tolist()])
def test_other_forms_of_points(convert):
    model = SVC(kernel="linear").fit(convert(X), Y)
    assert len(rings(made(model, convert(X)).plot())) == len(model.support_)


def test_a_constant_column_and_a_constant_function():
    flat = np.column_stack((X[:, 0], np.ones(len(X))))
    made(SVC().fit(flat, Y), flat).plot()
    same = np.ones((4, 2))
    display = made(SVC().fit(same, [0, 0, 0, 1]), same, [0, 0, 0, 1]).plot()
    assert display.ax_.get_xlim()[0] < 1 < display.ax_.get_xlim()[1]


def test_labels_are_shown_as_they_are():
    y = np.array(["_low", "$x^$"])[Y]
    table = pd.DataFrame({"price in $": X[:, 0], "_b $^$": X[:, 1]})
    display = made(SVC().fit(table, y), table, y).plot()
    assert len(legend_texts(display)) == len(display.handles_)
    display.figure_.draw_without_rendering()


# MarginDisplay: refusals


def test_it_refuses_what_is_no_plane():
    Z = np.column_stack((X, X))
    with pytest.raises(ValueError, match=r"X has 4 columns.*KernelPCA"):
        made(SVC().fit(Z, Y), Z)
    K = X[:2] @ X[:2].T
    with pytest.raises(ValueError, match=r"kernel matrix.*KernelPCA"):
        made(SVC(kernel="precomputed").fit(K, [0, 1]), K, [0, 1])
    with pytest.raises(ValueError, match=r"list of objects.*KernelPCA"):
        made(SVC().fit(X, Y), ["abc", "de"], [0, 1])


def test_it_refuses_what_is_no_classifier():
    with pytest.raises(TypeError, match="got SVR"):
        made(SVR().fit(X, Y.astype(float)))
    with pytest.raises(ValueError, match="y is None"):
        MarginDisplay.from_estimator(SVC().fit(X, Y), X)
    with pytest.raises(ValueError, match="label 7"):
        made(SVC().fit(X, Y), y=np.where(Y == 1, 7, 0))
    with pytest.raises(ValueError, match="label 'oak'"):
        made(SVC().fit(BLOBS, NAMES), BLOBS, np.full(len(NAMES), "oak"))
    with pytest.raises(ValueError, match="grid_resolution"):
        MarginDisplay.from_estimator(SVC().fit(X, Y), X, Y, grid_resolution=1)


# Captions


def test_lines_are_few_and_even():
    items = ["a" * 10, "b" * 10, "c" * 10, "d" * 10]
    assert filled_lines(items, 100).count("\n") == 0
    assert [len(line) for line in filled_lines(items, 40).split("\n")] == [23, 23]
    assert filled_lines(items, 5).count("\n") == 3


def test_kernels_are_short():
    assert kernel_text(RBF(gamma=2.0)) == "Gaussian kernel, σ = 0.5"
    assert kernel_text(Polynomial(degree=2, gamma=0.123456789)) == "polynomial kernel, (0.1235 x·z)^2"
    assert kernel_text(Polynomial(degree=1, gamma=1.0, coef0=1.0)) == "polynomial kernel, (x·z + 1)"
    assert "0.1235" in kernel_text(Laplacian(gamma=0.123456789))


# HistoryDisplay


def history(gaps, problem=0, seconds=True):
    made = History()
    for i, gap in enumerate(gaps):
        dual = 10.0 - gap
        made.append(iteration=i, objective=10.0, dual=dual, seconds=0.1 * i if seconds else np.nan, problem=problem)
    return made


def test_a_line_has_the_records_and_leaves_out_what_is_not_there():
    display = HistoryDisplay(history([4.0, np.nan, 1.0, np.inf, 0.25, 0.0])).plot()
    ((line,),) = display.lines_.values()
    np.testing.assert_allclose(line.get_xdata(), [0, 2, 4])
    np.testing.assert_allclose(line.get_ydata(), [4.0, 1.0, 0.25])
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_xscale() == "linear"


def test_scales_are_log_only_where_all_is_positive():
    display = HistoryDisplay(history([12.0, 4.0, 1.0])).plot(y="dual")  # -2, 6, 9
    assert display.ax_.get_yscale() == "linear"
    assert HistoryDisplay(history([4.0] * 300)).plot().ax_.get_xscale() == "log"
    assert HistoryDisplay(history([4.0, 1.0])).plot(yscale="linear").ax_.get_yscale() == "linear"


def test_a_single_record_is_a_marker():
    display = HistoryDisplay.from_histories({"direct": history([0.5]), "iterative": history([4.0, 0.5])}).plot()
    assert display.lines_["direct"][0].get_marker() == "o"
    assert display.lines_["iterative"][0].get_marker() == "None"
    assert legend_texts(display) == ["direct", "iterative"]


def test_binary_problems_are_faint_lines_of_one_colour_up_to_a_number():
    many = History.joined([history([4.0, 2.0 / (k + 1)]) for k in range(6)])
    display = HistoryDisplay.from_histories({"all": many}).plot(max_problems=4)
    assert len(display.lines_["all"]) == 4
    assert len({line.get_color() for line in display.lines_["all"]}) == 1
    assert all(line.get_alpha() < 1 for line in display.lines_["all"])
    assert legend_texts(display) == ["all (4 of 6 binary problems)"]
    assert legend_texts(HistoryDisplay(many).plot()) == ["history (6 binary problems)"]


def test_excess_is_measured_from_the_best_bound_of_all():
    one, other = History(), History()
    for i, objective in enumerate((9.0, 7.0, 6.0)):
        one.append(iteration=i, objective=objective)
    other.append(iteration=0, objective=8.0, dual=5.0)
    display = HistoryDisplay({"primal only": one, "both": other}).plot(y="excess")
    np.testing.assert_allclose(display.lines_["primal only"][0].get_ydata(), [4.0, 2.0, 1.0])
    np.testing.assert_allclose(display.lines_["both"][0].get_ydata(), [3.0])


def test_a_history_without_the_column_is_named_in_the_legend():
    nothing = History()
    nothing.append(iteration=0, objective=3.0)
    display = HistoryDisplay({"known": history([4.0, 1.0]), "unknown": nothing}).plot()
    assert legend_texts(display) == ["known", "unknown (no duality gap)"]
    with pytest.raises(ValueError, match=r"y='gap'.*Choose another"):
        HistoryDisplay(nothing).plot()


def test_the_history_of_an_estimator():
    model = SVC().fit(X, Y)
    display = HistoryDisplay.from_estimator(model).plot(x="seconds", y="relative_gap")
    ((name, (line,)),) = display.lines_.items()
    assert name == f"SVC, {model.report_.solver}"
    gaps = model.history_.relative_gap
    np.testing.assert_allclose(line.get_ydata(), gaps[np.isfinite(gaps) & (gaps > 0)])
    assert display.ax_.get_xlabel() == "seconds"


def test_histories_that_are_none():
    with pytest.raises(TypeError, match="keeps no History"):
        HistoryDisplay.from_estimator(KernelKNeighborsClassifier().fit(X, Y))
    with pytest.raises(TypeError, match="dict of name to History"):
        HistoryDisplay({"a": [1, 2]}).plot()
    with pytest.raises(ValueError, match="empty"):
        HistoryDisplay({}).plot()
    with pytest.raises(ValueError, match="Did you mean 'relative_gap'"):
        HistoryDisplay(history([1.0, 0.5])).plot(y="relative_gaps")
    with pytest.raises(ValueError, match="xscale"):
        HistoryDisplay(history([1.0, 0.5])).plot(xscale="symlog")


# LossDisplay


@pytest.mark.parametrize(
    ("name", "values"),
    [  # at m = -2, 0, 1, 3
        ("zero_one", [1, 0, 0, 0]),
        ("hinge", [3, 1, 0, 0]),
        ("squared_hinge", [9, 1, 0, 0]),
        ("logistic", [np.log2(1 + np.e**2), 1, np.log2(1 + np.e**-1), np.log2(1 + np.e**-3)]),
    ],
)
def test_losses_have_the_values_of_their_formulas(name, values):
    line = LossDisplay((name,)).plot().lines_[name]
    m, loss = line.get_data()
    np.testing.assert_allclose([loss[np.flatnonzero(m == at)[0]] for at in (-2, 0, 1, 3)], values, atol=1e-12)
    assert (np.diff(loss) <= 0).all()


def test_every_loss_but_the_logistic_bounds_the_errors():
    display = LossDisplay().plot()
    errors = display.lines_["zero_one"].get_ydata()
    assert (display.lines_["hinge"].get_ydata() >= errors - 1e-8).all()
    assert (display.lines_["squared_hinge"].get_ydata() >= errors - 1e-8).all()
    assert len(legend_texts(display)) == 4


def test_losses_draw_into_given_axes_and_refuse_unknown_names():
    ax = Figure().add_subplot()
    display = LossDisplay("hinge").plot(ax, low=0.5, high=2.0, legend=False)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_xlim() == (0.5, 2.0)
    with pytest.raises(ValueError, match="Did you mean 'hinge'"):
        LossDisplay(("hing",)).plot()
    with pytest.raises(ValueError, match="empty"):
        LossDisplay(()).plot()
    with pytest.raises(ValueError, match="high"):
        LossDisplay().plot(low=1.0, high=0.0)


def test_a_display_draws_itself_when_it_is_looked_at():
    """In a notebook, and wherever its figure or axes are read; on the axes that are given, at once."""
    X, y = make_moons(30, noise=0.2, random_state=0)
    model = SVC().fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    assert " at 0x" not in repr(display)
    assert "figure_" not in vars(display)
    assert display._repr_png_().startswith(b"\x89PNG")
    assert display.figure_ is display.ax_.figure
    with pytest.raises(AttributeError, match="no attribute 'nothing_'"):
        display.nothing_  # noqa: B018
    axes = Figure().subplots()
    assert MarginDisplay.from_estimator(model, X, y, ax=axes).ax_ is axes
    assert HistoryDisplay.from_estimator(model, ax=axes).ax_ is axes
