"""A fit that fails leaves the estimator exactly as it was: every public estimator, every fit method, every failure.

Estimators are discovered, not listed. Besides input that is refused, failures are injected in the middle of a fit: a
profiler counts the calls of Python functions of the package and raises at some of them.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

import maxmargin
from maxmargin import LinearSVC, NystroemSVC, Perceptron, interrupts
from maxmargin.runtime.control import watching
from maxmargin.runtime.transaction import FIT_METHODS, all_or_nothing

RNG = np.random.default_rng(0)
X = RNG.normal(size=(48, 3))
LABELS = np.where(X[:, 0] + 0.5 * RNG.normal(size=48) > 0, "b", "a")
VALUES = X[:, 0] + 0.1 * RNG.normal(size=48)
OTHER_X = RNG.normal(size=(40, 2))
OTHER_LABELS = np.array(["x", "y", "z", "x"] * 10)
OTHER_VALUES = OTHER_X[:, 1]

REFUSAL = (ValueError, TypeError)

# What makes a fit of an estimator quick or possible here; most need nothing.
PARAMETERS = {
    "SVCCV": {"Cs": [1.0, 10.0], "gammas": [0.1], "cv": 2},
    "NuSVCCV": {"nus": [0.2, 0.3], "gammas": [0.1], "cv": 2},
    "SVRCV": {"Cs": [1.0, 10.0], "gammas": [0.1], "cv": 2},
    "OneClassSVMCV": {"nus": [0.2], "gammas": [0.1], "cv": 2},
    "LinearSVCCV": {"Cs": [0.1, 1.0], "cv": 2},
    "Nystroem": {"n_components": 8},
    "KernelKMeans": {"n_clusters": 2, "n_init": 2, "random_state": 0},
    "NystroemSVC": {"n_components": 8},
    "NystroemSVR": {"n_components": 8},
    "NystroemRidge": {"n_components": 8},
}


def discovered():
    """Every concrete estimator class of the package, by its module and name; those with a leading underscore serve
    others, and stand-ins are made from these."""
    found = {}
    for info in pkgutil.walk_packages(maxmargin.__path__, "maxmargin."):
        if ".lab" in info.name or info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, kind in vars(module).items():
            if not (inspect.isclass(kind) and kind.__module__ == info.name and not name.startswith("_")):
                continue
            if hasattr(kind, "fit") and issubclass(kind, BaseEstimator) and not inspect.isabstract(kind):
                found[f"{info.name.removeprefix('maxmargin.')}:{name}"] = kind
    return found


MADE_BY_OTHERS = {"CellClassifier"}  # a search makes it, and it refuses every fit


def constructible(kind):
    if kind.__name__ in MADE_BY_OTHERS:
        return None
    try:
        return kind(**PARAMETERS.get(kind.__name__, {}))
    except TypeError:
        return None


CLASSES = {name: kind for name, kind in discovered().items() if constructible(kind) is not None}
ON_CLUSTER = [name for name in CLASSES if ".dask" in name]
LOCAL = [name for name in CLASSES if name not in ON_CLUSTER]


def test_all_public_estimators_are_discovered():
    public = {
        name for name in maxmargin.__all__ if inspect.isclass(kind := getattr(maxmargin, name)) and hasattr(kind, "fit")
    }
    assert public <= {name.split(":")[1] for name in CLASSES}
    assert len(CLASSES) > 30
    assert len(ON_CLUSTER) == 4


@pytest.mark.parametrize("name", CLASSES)
def test_every_fit_method_is_all_or_nothing(name):
    """Inherited ones, too: ``fit_transform`` may fail in ``transform``."""
    for method in FIT_METHODS:
        found = inspect.getattr_static(CLASSES[name], method, None)
        found = getattr(found, "fn", found)  # inside available_if
        assert found is None or getattr(found, "all_or_nothing", False), f"{name}.{method}"


def data_of(kind, other=False):
    """X and y (None where there is none) for an estimator of this class."""
    points, labels, values = (OTHER_X, OTHER_LABELS, OTHER_VALUES) if other else (X, LABELS, VALUES)
    if kind.__name__ == "PolarMap":
        points = points[:, :2]
    tags = constructible(kind).__sklearn_tags__()
    if not tags.target_tags.required:
        return points, None
    if tags.classifier_tags is not None and not tags.classifier_tags.multi_class:
        labels = np.where(labels == "z", "x", labels)  # two classes
    return points, labels if tags.estimator_type == "classifier" else values


def is_classifier(kind):
    return constructible(kind).__sklearn_tags__().estimator_type == "classifier"


def fitted(kind, **parameters):
    model = constructible(kind).set_params(**parameters)
    points, y = data_of(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(points) if y is None else model.fit(points, y)


class State:
    """An estimator's state: every attribute as an object, and what all of it contains, bit for bit."""

    def __init__(self, model):
        self.kind, self.objects = type(model), dict(vars(model))
        self.content = {name: content(value) for name, value in vars(model).items() if name != "client"}

    def check(self, model, *, copied=()):
        assert type(model) is self.kind
        assert vars(model).keys() == self.objects.keys()
        for name, value in vars(model).items():
            assert value is self.objects[name] or name in copied, f"{name} is another object"
            if name != "client":  # of a cluster
                assert content(value) == self.content[name], f"the content of {name} has changed"


def content(value):
    """What a value contains, in bytes; caches that fill when they are asked for may be filled."""
    try:
        return pickle.dumps(copy.deepcopy(value))
    except Exception:
        return repr(value)


def refused(kind, model):
    """Calls of ``fit`` that must be refused."""
    points, y = data_of(kind)
    given = () if y is None else (y,)
    bad = points.copy()
    bad[3, 1] = np.nan
    yield "NaN", lambda: model.fit(bad, *given)
    yield "infinity", lambda: model.fit(np.where(np.isnan(bad), np.inf, bad), *given)
    yield "three dimensions", lambda: model.fit(points[None], *given)
    yield "empty", lambda: model.fit(points[:0], *(part[:0] for part in given))
    yield "a number", lambda: model.fit(7.0, *given)
    yield "sparse and damaged", lambda: model.fit(damaged(), *given)
    if kind.__name__ != "TableEncoder":
        yield "text", lambda: model.fit([["a", "b"], ["c", "d"]], *(part[:2] for part in given))
    if y is not None:
        yield "y too short", lambda: model.fit(points, y[:-1])
        yield "y of another shape", lambda: model.fit(points, np.stack([y, y, y])[None])
        yield "no y", lambda: model.fit(points, None)
        if y.dtype.kind == "f":
            yield "NaN in y", lambda: model.fit(points, np.where(np.arange(len(y)) == 3, np.nan, y))
            yield "text in y", lambda: model.fit(points, LABELS)
        else:
            yield "one class", lambda: model.fit(OTHER_X, np.zeros(len(OTHER_X)))
            yield "continuous y", lambda: model.fit(points, VALUES)
    if "sample_weight" in inspect.signature(kind.fit).parameters:
        for name, weights in {
            "short": np.ones(3),
            "negative": -np.ones(40),
            "NaN": np.full(40, np.nan),
            "zero": np.zeros(40),
            "text": ["a"] * 40,
            "huge": np.full(40, 1e200),
        }.items():
            other, labels = data_of(kind, other=True)
            rest = () if labels is None else (labels,)
            yield f"{name} weights", lambda w=weights, o=other, r=rest: model.fit(o, *r, sample_weight=w)


def damaged():
    matrix = sp.csr_matrix(X)
    matrix.indices = matrix.indices.copy()
    matrix.indices[5] = 99
    return matrix


def bad_parameters(model):
    """Every parameter with a value that nobody can mean."""
    for name in sorted(model.get_params(deep=False)):
        if name not in ("client", "random_state"):
            yield name


class Nonsense:
    """A parameter's value that is of no use."""

    def __repr__(self):
        return "Nonsense()"


@pytest.mark.parametrize("name", LOCAL)
def test_refused_input(name):
    kind = CLASSES[name]
    model = fitted(kind)
    count = 0
    for what, call in refused(kind, model):
        before = State(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                call()
            except Exception:
                count += 1
                before.check(model)
            else:
                model = fitted(kind)
                assert what not in ("NaN", "three dimensions", "one class"), f"{what} was accepted"
    assert count >= 3


@pytest.mark.parametrize("name", LOCAL)
def test_refused_parameters(name):
    kind = CLASSES[name]
    model = fitted(kind)
    points, y = data_of(kind, other=True)
    given = () if y is None else (y,)
    count = 0
    for parameter in bad_parameters(model):
        for value in (Nonsense(), -1.5, "nonsense"):
            good = getattr(model, parameter)
            setattr(model, parameter, value)
            before = State(model)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    model.fit(points, *given)
                except Exception:
                    count += 1
                    before.check(model)
                else:
                    model = fitted(kind)
            setattr(model, parameter, good)
    assert count >= 1 or not model.get_params(deep=False)


@pytest.mark.parametrize(
    "name", [name for name in LOCAL if "class_weight" in constructible(CLASSES[name]).get_params()]
)
def test_class_weights_that_leave_nothing(name):
    kind = CLASSES[name]
    model = fitted(kind)
    for weights in (dict.fromkeys("xyz", 0.0), {"x": -1.0}, {"x": float("nan")}, {"missing": 1.0}, "unknown"):
        model.set_params(class_weight=weights)
        before = State(model)
        with pytest.raises(REFUSAL):
            model.fit(OTHER_X, OTHER_LABELS)
        before.check(model)
    assert set(model.predict(X)) <= {"a", "b"}


class Injected(BaseException):
    """Raised where nobody expects it."""


def is_call(frame, event):
    """Whether this is the call of a Python function of the package. Generators are called by the garbage collector,
    too, which ignores exceptions."""
    return (
        event == "call" and "maxmargin" in frame.f_code.co_filename and not frame.f_code.co_flags & inspect.CO_GENERATOR
    )


def calls_of(function):
    """How many calls of the package's Python functions there are."""
    count = [0]

    def profile(frame, event, argument):
        if is_call(frame, event):
            count[0] += 1

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count[0]


def failing_at(number, error, function):
    """Call the function; the given call of one of the package's functions raises. Whether the error came out."""
    left = [number]

    def profile(frame, event, argument):
        if is_call(frame, event):
            left[0] -= 1
            if left[0] == 0:
                raise error("injected")

    sys.setprofile(profile)
    try:
        function()
        return False
    except (error, KeyboardInterrupt, TimeoutError, ValueError):  # a search reports why no cell has a score
        return True
    finally:
        sys.setprofile(None)


INJECTED = (ValueError, MemoryError, KeyboardInterrupt, Injected)


@pytest.mark.parametrize("name", LOCAL)
def test_failures_in_the_middle_of_a_fit(name):
    """At sixteen places from the first to the last call: after validation, between two attributes, in the solver, in
    the report."""
    kind = CLASSES[name]
    points, y = data_of(kind, other=True)
    given = () if y is None else (y,)
    for method in ("fit", *(m for m in ("fit_transform", "fit_predict") if hasattr(kind, m))):
        model = fitted(kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = getattr(clone(model), method)
            total = calls_of(lambda call=call: call(points, *given))
            places = np.unique(np.concatenate(([3, 4], np.linspace(5, total - 1, 14))).astype(int))
            raised = 0
            for place, error in zip(places, INJECTED * len(places), strict=False):
                before = State(model)
                call = getattr(model, method)
                if failing_at(int(place), error, lambda call=call: call(points, *given)):
                    before.check(model)
                    raised += 1
                else:
                    model = fitted(kind)
        assert raised >= min(4, len(places)), method


@pytest.mark.parametrize("name", [name for name in LOCAL if hasattr(constructible(CLASSES[name]), "set_callbacks")])
def test_errors_of_watchers(name):
    kind = CLASSES[name]
    model, calls = fitted(kind), []
    points, y = data_of(kind, other=True)

    def fail(progress):
        calls.append(progress)
        raise ZeroDivisionError("of the watcher")

    before = State(model)
    with warnings.catch_warnings(), watching(fail):
        warnings.simplefilter("ignore")
        try:
            model.fit(points) if y is None else model.fit(points, y)
        except (ZeroDivisionError, ValueError):  # a search counts it as the failure of every cell
            before.check(model)
        else:
            assert not calls


# Updates


UPDATED = [name for name in LOCAL if hasattr(constructible(CLASSES[name]), "learn")]


def test_updated_estimators_are_discovered():
    public = {name.split(":")[1] for name in UPDATED}
    assert {"SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"} <= public


def refused_updates(model, y):
    """Calls of ``learn`` and ``forget`` that must be refused."""
    given = () if y is None else (y,)
    bad = X.copy()
    bad[3, 1] = np.nan
    learn, forget = model.learn, model.forget
    yield lambda: learn(bad, *given)
    yield lambda: learn(X[None], *given)
    yield lambda: learn(X[:, :2], *given)
    yield lambda: learn([["a", "b", "c"]], *(part[:1] for part in given))
    yield lambda: learn(damaged(), *given)
    for weights in (np.ones(3), -np.ones(48), np.full(48, np.nan), np.full(48, 1e200), ["a"] * 48):
        yield lambda w=weights: learn(X, *given, sample_weight=w)
    if y is not None:
        yield lambda: learn(X)
        yield lambda: learn(X, y[:-1])
        yield lambda: learn(X, np.stack([y, y, y])[None])
    if y is not None and y.dtype.kind == "f":
        yield lambda: learn(X, np.where(np.arange(48) == 3, np.nan, y))
        yield lambda: learn(X, LABELS)
    for rows in (48, [-50], [0.5], ["a"], np.arange(48), np.ones(5, bool), [[0, 1]], None, {"a": 1}):
        yield lambda r=rows: forget(r)
    if y is not None and y.dtype.kind != "f":
        yield lambda: forget(y == "a")  # leaves one class


@pytest.mark.parametrize("name", UPDATED)
def test_refused_updates(name):
    kind = CLASSES[name]
    _, y = data_of(kind)
    model = fitted(kind, warm_start=True)
    for call in refused_updates(model, y):
        before = State(model)
        with pytest.raises(REFUSAL):
            call()
        before.check(model)
    cold = fitted(kind)  # has no rows to add to
    before = State(cold)
    for call in (lambda: cold.forget([0]), lambda: cold.learn(X, *(() if y is None else (y,)))):
        with pytest.raises(REFUSAL, match="warm_start"):
            call()
        before.check(cold)


@pytest.mark.parametrize("name", UPDATED)
def test_failures_in_the_middle_of_an_update(name):
    kind = CLASSES[name]
    points, y = data_of(kind)
    new = (points[:5] + 0.1, *(() if y is None else (y[:5],)))
    for update in (lambda model: model.learn(*new), lambda model: model.forget([1, 5, 7])):
        model = fitted(kind, warm_start=True)
        total = calls_of(lambda update=update, kind=kind: update(fitted(kind, warm_start=True)))
        total -= calls_of(lambda kind=kind: fitted(kind, warm_start=True))
        raised = 0
        for place, error in zip(np.linspace(3, total - 2, 16).astype(int), INJECTED * 4, strict=True):
            before = State(model)
            if failing_at(int(place), error, lambda update=update, model=model: update(model)):
                before.check(model)
                raised += 1
            else:
                model = fitted(kind, warm_start=True)
        assert raised >= 4


# Streams


STREAMING = [name for name in LOCAL if hasattr(constructible(CLASSES[name]), "partial_fit")]


@pytest.mark.parametrize("name", STREAMING)
@pytest.mark.parametrize("begun", ["nothing", "fit", "partial_fit"])
def test_partial_fit(name, begun):
    kind = CLASSES[name]
    model = constructible(kind)
    if begun != "nothing":
        model = fitted(kind) if begun == "fit" else model.partial_fit(X, LABELS, classes=["a", "b"])
    bad = X.copy()
    bad[2, 1] = np.nan
    calls = {
        "NaN": lambda: model.partial_fit(bad, LABELS, classes=["a", "b"]),
        "text": lambda: model.partial_fit([["a"], ["b"]], ["a", "b"], classes=["a", "b"]),
        "dimensions": lambda: model.partial_fit(X[None], LABELS, classes=["a", "b"]),
        "y too short": lambda: model.partial_fit(X, LABELS[:-1], classes=["a", "b"]),
        "unknown labels": lambda: model.partial_fit(X, np.where(X[:, 1] > 0, "c", "d"), classes=["a", "b"]),
    }
    if begun != "nothing":
        calls["columns"] = lambda: model.partial_fit(X[:, :2], LABELS)
        calls["classes"] = lambda: model.partial_fit(X, LABELS, classes=["a", "c"])
    for call in calls.values():
        before = State(model)
        with pytest.raises(REFUSAL):
            call()
        before.check(model)
    reference = copy.deepcopy(model)

    def learn(some):
        return some.partial_fit(X, LABELS, classes=["a", "b"])

    another = copy.deepcopy(model)
    total = calls_of(lambda: learn(another))
    for place, error in zip(np.linspace(3, total - 4, 16).astype(int), INJECTED * 4, strict=True):
        before = State(model)
        assert failing_at(int(place), error, lambda: learn(model))
        before.check(model)
    learn(model)
    learn(reference)
    np.testing.assert_array_equal(model.decision_function(X), reference.decision_function(X))  # nothing leaked


def test_overflow_in_a_partial_fit_of_the_perceptron():
    """It is found only after the weights have been changed."""
    model = Perceptron().partial_fit(X, LABELS, classes=["a", "b"])
    before = State(model)
    with pytest.raises(ValueError, match="overflows"):
        model.partial_fit(X * 1e300, LABELS)
    before.check(model)


def test_a_shallow_copy_does_not_share_what_a_stream_learns():
    model = LinearSVC().partial_fit(X, LABELS)
    other = copy.copy(model)
    before = State(other)
    model.partial_fit(X[::-1], LABELS[::-1])
    before.check(other)


@pytest.mark.parametrize("kind", [LinearSVC, NystroemSVC])
def test_fit_stream(kind):
    model = constructible(kind).fit(X, LABELS)
    bad = X.copy()
    bad[2, 1] = np.nan

    def batches(end=None):
        yield OTHER_X[:20], OTHER_LABELS[:20]
        yield OTHER_X[20:], OTHER_LABELS[20:]
        if isinstance(end, BaseException):
            raise end
        if end is not None:
            yield end

    for end in (
        (bad, LABELS),
        (X, LABELS),  # of other columns
        (OTHER_X, OTHER_LABELS[:3]),
        (OTHER_X, OTHER_LABELS, -np.ones(40)),
        "no batch",
        OSError("the disk is gone"),
        MemoryError(),
        KeyboardInterrupt(),
    ):
        before = State(model)
        with pytest.raises(type(end) if isinstance(end, BaseException) else REFUSAL):
            model.fit_stream(batches(end))
        before.check(model)
    for end in ((), iter(())):
        before = State(model)
        with pytest.raises(REFUSAL):
            model.fit_stream(end)
        before.check(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        total = calls_of(lambda: clone(model).fit_stream(batches()))
        for place, error in zip(np.linspace(3, total - 1, 16).astype(int), INJECTED * 4, strict=True):
            before = State(model)
            if failing_at(int(place), error, lambda model=model: model.fit_stream(batches())):
                before.check(model)
            else:
                model = constructible(kind).fit(X, LABELS)


# The cluster


def test_estimators_on_a_cluster():
    """One small cluster in this process, for all of them."""
    pytest.importorskip("distributed")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        for name in ON_CLUSTER:
            kind = CLASSES[name]
            labelled = is_classifier(kind)
            y, other = (LABELS, OTHER_LABELS) if labelled else (VALUES, OTHER_VALUES)
            model = constructible(kind).set_params(client=client).fit(X, y)
            bad = OTHER_X.copy()
            bad[1, 1] = np.nan
            failures = [
                (bad, other, None),
                (OTHER_X, other[:-1], None),
                (OTHER_X, other, -np.ones(40)),
                (OTHER_X, other, np.zeros(40)),
            ]
            if labelled:
                failures.append((OTHER_X, np.zeros(40), None))
                failures.append((OTHER_X, OTHER_VALUES, None))
            for points, targets, weights in failures:
                before = State(model)
                with pytest.raises(REFUSAL):
                    model.fit(points, targets, sample_weight=weights)
                before.check(model)
            for place, error in zip((40, 400, 1500), (MemoryError, KeyboardInterrupt, Injected), strict=True):
                before = State(model)
                if failing_at(place, error, lambda model=model, other=other: model.fit(OTHER_X, other)):
                    before.check(model)
                else:
                    model = constructible(kind).set_params(client=client).fit(X, y)


# The decorator itself


class Toy:
    def __init__(self):
        self.sums = np.zeros(2)

    @all_or_nothing
    def fit(self, error=None):
        self.a_, self.b_ = 1, []
        if error is not None:
            raise error
        return self

    @all_or_nothing(copies=("sums",))
    def partial_fit(self, error=None):
        self.sums += 1.0
        return self.fit(error)

    @all_or_nothing
    def fit_predict(self, error=None):
        self.fit()
        self.__class__ = Other
        if error is not None:
            raise error
        return self.a_


class Other(Toy):
    pass


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), SystemExit(), GeneratorExit(), Injected()])
def test_any_exception_restores_attributes_content_and_class(error):
    toy = Toy()
    sums = toy.sums
    for method in (toy.fit, toy.partial_fit, toy.fit_predict):
        with pytest.raises(type(error)):
            method(error)
        assert vars(toy).keys() == {"sums"}
        assert toy.sums is sums
        assert sums.tolist() == [0.0, 0.0]
        assert type(toy) is Toy


def test_success_keeps_everything():
    toy = Toy()
    sums = toy.sums
    assert toy.fit() is toy
    assert toy.partial_fit() is toy
    assert toy.sums.tolist() == [1.0, 1.0]
    assert sums.tolist() == [0.0, 0.0]  # that of a shallow copy, say
    assert toy.fit_predict() == 1
    assert type(toy) is Other


def test_signature_name_and_text_are_those_of_the_method():
    assert list(inspect.signature(LinearSVC.fit).parameters) == ["self", "X", "y", "sample_weight"]
    assert LinearSVC.fit.__name__ == "fit"
    assert "Parameters" in LinearSVC.fit.__doc__
    assert list(inspect.signature(LinearSVC().partial_fit).parameters)[:2] == ["X", "y"]


def test_nothing_is_kept_alive():
    """The old state of an estimator must not outlive the fit that replaces it."""
    import gc
    import weakref

    class Large:
        pass

    toy = Toy().fit()
    toy.b_ = Large()
    reference = weakref.ref(toy.b_)
    with interrupts("keep"):
        toy.fit()
    gc.collect()
    assert reference() is None
