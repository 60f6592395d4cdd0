"""The estimators among the tools of scikit-learn and of others: as a user would put them together."""

from __future__ import annotations

import importlib.util
import math
import pickle
import warnings

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from maxmargin import (
    SVC,
    SVR,
    BasisRegression,
    KernelDiscriminantAnalysis,
    KernelKMeans,
    KernelKNeighborsClassifier,
    KernelPCA,
    KernelRidge,
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    margin_report,
)
from maxmargin.kernel_methods.feature_maps import GaussianSeriesMap, MonomialMap, PolynomialMap
from maxmargin.kernels import RBF, Linear, Polynomial
from maxmargin.runtime.callbacks import CallbackSupport, with_callbacks

X, Y = load_iris(return_X_y=True)
TABLE = pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])
WORDS = np.array(["setosa", "versicolor", "virginica"])[Y]
T = X[:, 3] + 0.1 * X[:, 0]

CLASSIFIERS = [SVC(), NuSVC(nu=0.2), LinearSVC(), SVC(multiclass="crammer_singer"), SVC(multiclass="ovr")]
REGRESSORS = [SVR(), NuSVR(), KernelRidge(kernel="rbf")]


# Searching and validating


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_classifiers_in_a_pipeline_and_a_search(model):
    pipeline = make_pipeline(StandardScaler(), model)
    search = GridSearchCV(pipeline, {f"{pipeline.steps[-1][0]}__tol": [1e-2, 1e-3]}, cv=3, error_score="raise")
    assert search.fit(TABLE, WORDS).score(TABLE, WORDS) > 0.9
    assert set(search.predict(TABLE)) == set(WORDS)


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_regressors_in_a_pipeline_and_a_search(model):
    pipeline = Pipeline([("scale", StandardScaler()), ("model", model)])
    search = GridSearchCV(pipeline, {"model__gamma": [0.1, 1.0]}, cv=3, error_score="raise").fit(TABLE, T)
    assert search.score(TABLE, T) > 0.9
    logarithmic = TransformedTargetRegressor(model, func=np.log1p, inverse_func=np.expm1)
    assert cross_val_score(logarithmic, X, T, cv=KFold(3, shuffle=True, random_state=0)).min() > 0.6


def test_a_search_reaches_into_kernels_in_several_processes():
    kernel = RBF() + 0.1 * Polynomial(degree=2)
    grid = {"kernel__k0__gamma": [0.1, 1.0], "kernel__k1__kernel__degree": [1, 2], "C": [1.0]}
    search = GridSearchCV(SVC(kernel=kernel), grid, cv=2, error_score="raise")
    alone, together = (clone(search).set_params(n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    np.testing.assert_array_equal(*(found.cv_results_["mean_test_score"] for found in (alone, together)))
    assert together.best_estimator_.kernel_.kernels[0].gamma == together.best_params_["kernel__k0__gamma"]
    assert kernel.kernels[0].gamma == "scale"  # the user's own is not changed


def test_a_search_over_kernels_and_gamma():
    grid = [{"kernel": [Linear(), "rbf"]}, {"kernel": [RBF()], "kernel__gamma": [0.1, 1.0]}]
    search = GridSearchCV(SVC(), grid, cv=2, error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    draws = RandomizedSearchCV(SVC(kernel=RBF()), {"kernel__gamma": [0.1, 1.0]}, n_iter=2, cv=2).fit(X, Y)
    assert draws.best_score_ > 0.9


def test_a_precomputed_kernel_is_cut_in_both_directions():
    K = RBF(gamma=0.5)(X)
    ours = cross_val_score(SVC(kernel="precomputed"), K, Y, cv=StratifiedKFold(3))
    np.testing.assert_array_equal(ours, cross_val_score(SVC(gamma=0.5), X, Y, cv=StratifiedKFold(3)))


def test_cross_validation():
    scores = cross_validate(SVC(), X, WORDS, scoring=["accuracy", "f1_macro"], return_estimator=True)
    assert scores["test_accuracy"].mean() > 0.9
    assert all(model.report_.status.converged for model in scores["estimator"])
    values = cross_val_predict(SVC(), X, Y, method="decision_function")
    assert values.shape == (150, 3)
    assert cross_val_score(LinearSVC(), X, Y == 0, scoring="roc_auc").min() > 0.99
    sizes, _, test = learning_curve(SVC(), X, Y, train_sizes=[0.5, 1.0], cv=3, shuffle=True, random_state=0)
    assert len(sizes) == 2
    assert test.mean() > 0.8
    assert permutation_importance(SVC().fit(X, Y), X, Y, n_repeats=2, random_state=0).importances_mean.max() > 0


# Around our models


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_probabilities(ensemble, method):
    model = CalibratedClassifierCV(SVC(), ensemble=ensemble, method=method, cv=3).fit(TABLE, WORDS)
    probabilities = model.predict_proba(TABLE)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.score(TABLE, WORDS) > 0.9


def test_around_many():
    assert (
        VotingClassifier([("a", SVC()), ("b", LinearSVC()), ("c", NuSVC(nu=0.2))]).fit(X, WORDS).score(X, WORDS) > 0.9
    )
    assert StackingClassifier([("a", SVC()), ("b", LinearSVC())], SVC(), cv=2).fit(X, WORDS).score(X, WORDS) > 0.9
    assert BaggingClassifier(SVC(), 3, random_state=0).fit(X, Y).score(X, Y) > 0.9
    assert OneVsRestClassifier(SVC()).fit(X, Y).score(X, Y) > 0.9
    assert OneVsOneClassifier(LinearSVC()).fit(X, Y).score(X, Y) > 0.9
    assert MultiOutputRegressor(SVR()).fit(X, np.column_stack((T, -T))).score(X, np.column_stack((T, -T))) > 0.9
    assert RFE(LinearSVC(), n_features_to_select=2).fit(X, Y).support_.sum() == 2
    assert SelectFromModel(SVC(kernel="linear")).fit(X, Y > 0).transform(X).shape[1] >= 1
    partly = np.where(np.arange(150) % 3 == 0, Y, -1)
    assert SelfTrainingClassifier(CalibratedClassifierCV(SVC(), cv=2)).fit(X, partly).score(X, Y) > 0.9


def test_text_and_mixed_columns():
    words = ["a cat", "the cat sat", "a dog", "the dog ran", "cat and cat", "dog and dog"]
    model = make_pipeline(TfidfVectorizer(), LinearSVC()).fit(words, ["cat", "cat", "dog", "dog", "cat", "dog"])
    assert model.predict(["one cat"]).tolist() == ["cat"]
    mixed = TABLE.assign(colour=np.where(Y > 1, "blue", "red"))
    columns = make_column_transformer((OneHotEncoder(), ["colour"]), remainder=StandardScaler())
    assert make_pipeline(columns, SVC()).fit(mixed, Y).score(mixed, Y) > 0.9
    union = FeatureUnion([("pca", KernelPCA(2)), ("map", PolynomialMap(degree=2))])
    assert make_pipeline(union, LinearSVC()).fit(X, Y).score(X, Y) > 0.9


# Weights, routed


@pytest.mark.parametrize("model", [SVC(), NuSVC(nu=0.1), LinearSVC(), SVR(), OneClassSVM(), KernelRidge()], ids=str)
def test_weights_that_are_asked_for_arrive(model):
    weights = np.linspace(0.0, 2.0, len(Y))
    scaled = StandardScaler().fit_transform(X)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(model).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asked)
        option, value = ("tol", 0.01) if hasattr(model, "tol") else ("alpha", 2.0)
        alone = clone(model).set_params(**{option: value})
        expected = alone.fit(scaled, Y, sample_weight=weights).predict(scaled)
        grid = {f"{pipeline.steps[-1][0]}__{option}": [value]}
        search = GridSearchCV(pipeline, grid, cv=2, scoring=lambda model, X, y: 1.0, error_score="raise")
        np.testing.assert_array_equal(search.fit(X, Y, sample_weight=weights).predict(X), expected)
        assert not np.array_equal(clone(alone).fit(scaled, Y).predict(scaled), expected)  # the weights matter


def test_weights_that_nobody_asked_for_are_an_error():
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"),
    ):
        make_pipeline(StandardScaler(), SVC()).fit(X, Y, sample_weight=np.ones(150))


def test_weighted_scores():
    with sklearn.config_context(enable_metadata_routing=True):
        model = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_validate(model, X, Y, params={"sample_weight": (Y > 0).astype(float)}, error_score="raise")
        assert np.isfinite(scores["test_score"]).all()


# Tables


@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        LinearSVC(),
        SVR(),
        OneClassSVM(),
        KernelRidge(),
        KernelPCA(2),
        KernelKMeans(2, random_state=0),
        KernelDiscriminantAnalysis(),
        KernelKNeighborsClassifier(),
        PolynomialMap(degree=2),
        BasisRegression(),
    ],
    ids=str,
)
def test_tables_of_pandas_and_polars(model):
    """The same numbers whichever form they come in, and names that are remembered and compared."""
    fitted = [clone(model).fit(table, Y) for table in (X, TABLE, pl.DataFrame(TABLE))]
    method = "predict" if hasattr(model, "predict") else "transform"
    results = [getattr(m, method)(table) for m, table in zip(fitted, (X, TABLE, pl.DataFrame(TABLE)), strict=True)]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    assert not hasattr(fitted[0], "feature_names_in_")
    assert fitted[1].feature_names_in_.tolist() == list(TABLE.columns)
    with pytest.raises(ValueError, match="feature names"):
        getattr(fitted[1], method)(TABLE.rename(columns={"petal width": "width"}))
    with pytest.raises(ValueError, match="order"):
        getattr(fitted[1], method)(TABLE[list(TABLE.columns[::-1])])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        getattr(fitted[1], method)(X)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        getattr(fitted[0], method)(TABLE)


@pytest.mark.parametrize(
    "transformer",
    [KernelPCA(2), PolynomialMap(degree=2), MonomialMap(degree=2), GaussianSeriesMap()],
    ids=str,
)
def test_transformers_give_the_table_that_is_asked_for(transformer):
    values = transformer.fit_transform(TABLE)
    for kind, table in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        wanted = clone(transformer).set_output(transform=kind)
        result = wanted.fit_transform(TABLE)
        assert isinstance(result, table)
        assert list(result.columns) == wanted.get_feature_names_out().tolist()
        np.testing.assert_allclose(result.to_numpy(), values.toarray() if sp.issparse(values) else values)
        with sklearn.config_context(transform_output=kind):
            assert isinstance(clone(transformer).fit(TABLE).transform(TABLE), table)
    pipeline = make_pipeline(StandardScaler(), clone(transformer)).set_output(transform="pandas")
    result = pipeline.fit_transform(TABLE.set_index(np.arange(100, 250)))
    assert result.index.tolist() == list(range(100, 250))
    columns = ColumnTransformer([("a", clone(transformer), ["petal length", "petal width"])], remainder="passthrough")
    out = columns.set_output(transform="pandas").fit_transform(TABLE)
    assert "remainder__sepal length" in out.columns


def test_columns_of_other_kinds():
    nullable = TABLE.convert_dtypes()
    assert SVC().fit(nullable, pd.Series(WORDS, dtype="category")).score(nullable, WORDS) > 0.9
    assert SVC().fit(TABLE, pd.Series(WORDS, dtype="string")).score(TABLE, WORDS) > 0.9
    assert SVR().fit(TABLE, pd.Series(T, index=np.arange(150)[::-1])).score(TABLE, T) > 0.9
    missing = TABLE.copy()
    missing.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SVC().fit(missing, Y)


# Keeping


FITTED = [
    make_pipeline(StandardScaler(), SVC(kernel=RBF() + Linear())),
    NuSVC(nu=0.2),
    LinearSVC(),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    KernelRidge(kernel="rbf"),
    KernelPCA(2),
    Perceptron(tol=1e-3),
]


@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_joblib_pickle_and_cloudpickle(model, tmp_path):
    model = clone(model).fit(X, Y)
    method = "predict" if hasattr(model, "predict") else "transform"
    joblib.dump(model, tmp_path / "model.joblib", compress=1)
    joblib.dump(model, tmp_path / "plain.joblib")
    copies = [
        joblib.load(tmp_path / "model.joblib"),
        joblib.load(tmp_path / "plain.joblib", mmap_mode="r"),  # read-only arrays
        pickle.loads(pickle.dumps(model)),
        cloudpickle.loads(cloudpickle.dumps(model)),
    ]
    for copy in copies:
        np.testing.assert_array_equal(getattr(copy, method)(X), getattr(model, method)(X))
        assert repr(copy) == repr(model)
        assert repr(clone(copy)) == repr(model)


def test_a_kernel_of_one_s_own_travels_by_cloudpickle():
    model = cloudpickle.loads(cloudpickle.dumps(SVC(kernel=lambda A, B: A @ B.T).fit(X, Y)))
    assert model.score(X, Y) > 0.9


# Notebooks and consoles


def test_names_are_short_and_stable():
    assert repr(SVC()) == "SVC()"
    assert repr(SVC(C=2.0, kernel=RBF(gamma=0.5))) == "SVC(C=2.0, kernel=RBF(gamma=0.5))"
    assert repr(SVC(C=2.0).fit(X, Y)) == "SVC(C=2.0)"
    assert repr(make_pipeline(SVC())) == "Pipeline(steps=[('svc', SVC())])"


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), SVR(), OneClassSVM(), KernelRidge(), KernelPCA(2)], ids=str)
def test_estimators_as_pages(model):
    for shown in (model, clone(model).fit(X, Y), make_pipeline(StandardScaler(), model)):
        page = shown._repr_html_()
        assert page.count("<div") == page.count("</div")
        assert type(model).__name__ in page
        assert "text/html" in shown._repr_mimebundle_()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_reports_as_pages():
    names = np.array(["<b>", "&"])[(Y > 0).astype(int)]
    reports = [
        SVC().fit(X, names).report_,
        LinearSVC().fit(X, names).report_,
        Perceptron().fit(X, names).report_,
        margin_report(SVC().fit(X, names), X, names),
    ]
    for report in reports:
        page = report._repr_html_()
        assert page.count("<table") == page.count("</table") >= 1
        assert page.count("<tr") == page.count("</tr")
        assert "<b>" not in page.replace("<br>", "")
        assert str(report).strip()


# scikit-learn's callbacks, from version 1.9 on


class Diary:
    """A callback that writes down what it is told."""

    def __init__(self):
        self.lines = []

    def setup(self, estimator, context):
        self.lines.append("setup")

    def teardown(self, estimator, context):
        self.lines.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.lines.append(f"{context.task_name} begins")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.lines.append(f"{context.task_name} ends")
        if context.task_name == "solve":
            assert math.isfinite(context.progress.violation)
        else:
            assert fitted_estimator is not None
            self.seen = (X, y, metadata, fitted_estimator.predict(X))


class Told(CallbackSupport, BaseEstimator):
    """An estimator with callbacks, around a model that reports its progress."""

    def __init__(self, C=1.0):
        self.C = C

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Fit."""
        self.model_ = SVC(C=self.C, solver="smo").fit(X, y, sample_weight)
        return self

    def predict(self, X):
        return self.model_.predict(X)


TOLD = [Told()] + [model for model in (SVC(), NuSVC(nu=0.2), LinearSVC()) if hasattr(model, "set_callbacks")]
HAS_CALLBACKS = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="this scikit-learn has no callbacks"
)


@HAS_CALLBACKS
@pytest.mark.parametrize("model", TOLD, ids=str)
def test_callbacks_are_told_of_the_fit_and_of_the_solver_s_blocks(model):
    diary, weights = Diary(), np.linspace(0.5, 1.0, 150)
    model = clone(model).set_callbacks(diary).fit(X, Y, sample_weight=weights)
    assert diary.lines[:2] == ["setup", "fit begins"]
    assert diary.lines[-2:] == ["fit ends", "teardown"]
    assert diary.lines[2:4] == ["solve begins", "solve ends"]
    assert diary.seen[0] is X
    assert diary.seen[1] is Y
    assert diary.seen[2]["sample_weight"] is weights
    np.testing.assert_array_equal(diary.seen[3], model.predict(X))
    assert not any(key.startswith("_callback") for key in vars(model))
    again = len(diary.lines)
    model.set_callbacks().fit(X, Y)
    assert len(diary.lines) == again


@HAS_CALLBACKS
@pytest.mark.parametrize("model", TOLD, ids=str)
def test_callbacks_are_torn_down_after_an_error(model):
    diary = Diary()
    with pytest.raises(ValueError, match=r"(C|nu) must be"):
        clone(model).set_params(**{"nu" if "nu" in model.get_params() else "C": -1.0}).set_callbacks(diary).fit(X, Y)
    assert diary.lines == ["setup", "fit begins", "teardown"]


@HAS_CALLBACKS
@pytest.mark.parametrize("model", TOLD, ids=str)
def test_a_progress_bar_and_a_monitor(model, capsys):
    from sklearn.callback import ProgressBar, ScoringMonitor

    clone(model).set_callbacks(ProgressBar()).fit(X, Y)
    assert "fit" in capsys.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(StandardScaler(), clone(model)).set_callbacks(ProgressBar()).fit(X, Y)
    assert type(model).__name__ in capsys.readouterr().out
    if not isinstance(model, Told):
        monitor = ScoringMonitor(scoring="accuracy")
        clone(model).set_callbacks(monitor).fit(X, Y)


@HAS_CALLBACKS
def test_only_callbacks_are_taken():
    with pytest.raises(TypeError, match="FitCallback"):
        Told().set_callbacks("bar")


def test_a_fit_without_callbacks_is_as_it_was():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        Told().fit(X)
    assert Told.fit.__doc__ == "Fit."
    assert Told().fit(X, Y).predict(X).shape == (150,)


# Searches, selection, inspection


def test_halving_search():
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV

    search = HalvingGridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=2, random_state=0, min_resources=50)
    assert search.fit(*load_iris(return_X_y=True)).best_score_ > 0.9


def test_recursive_elimination_by_linear_weights():
    from sklearn.feature_selection import RFECV, SelectFromModel

    X, y = load_iris(return_X_y=True)
    for model in (SVC(kernel="linear"), LinearSVC()):
        assert RFECV(model, cv=2, min_features_to_select=2).fit(X, y).n_features_ >= 2
    assert SelectFromModel(LinearSVC()).fit_transform(X, y).shape[0] == 150


def test_permutation_importance():
    from sklearn.inspection import permutation_importance

    X, y = load_iris(return_X_y=True)
    found = permutation_importance(SVC().fit(X, y), X, y, n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() in (2, 3)


def test_the_boundary_is_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    from sklearn.inspection import DecisionBoundaryDisplay

    X, y = load_iris(return_X_y=True)
    for method in ("predict", "decision_function"):
        model = SVC().fit(X[:, :2], y == 1)
        display = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], response_method=method, grid_resolution=20)
        assert display.response.shape == (20, 20)


def test_frozen_models_are_not_fitted_again():
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    assert all(each.estimator.estimator is model for each in calibrated.calibrated_classifiers_)
    assert calibrated.predict_proba(X).shape == (150, 3)


def test_models_travel_to_other_processes_and_back():
    from joblib import Parallel, delayed

    X, y = load_iris(return_X_y=True)
    fitted = Parallel(n_jobs=2, backend="loky")(delayed(SVC(C=C).fit)(X, y) for C in (1.0, 10.0))
    for C, model in zip((1.0, 10.0), fitted, strict=True):
        np.testing.assert_array_equal(model.decision_function(X), SVC(C=C).fit(X, y).decision_function(X))
