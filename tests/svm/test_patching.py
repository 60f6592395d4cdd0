"""sklearn.svm with our estimators: the same names, parameters and results."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import threading
import types
from typing import ClassVar

import cloudpickle
import numpy as np
import pytest
import sklearn.calibration
import sklearn.svm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_regression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import _classes
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin
from maxmargin.__main__ import main
from maxmargin.svm.patching import NAMES, STAND_INS, patch_sklearn, sklearn_is_patched, unpatch_sklearn

X, Y = load_iris(return_X_y=True)
Z, T = make_regression(80, 4, noise=5.0, random_state=0)
PROBABLE = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")


@pytest.fixture(autouse=True)
def unpatched():
    yield
    unpatch_sklearn()


def originals():
    return {name: getattr(sklearn.svm, name) for name in NAMES}


# Putting in place and back


def test_every_model_is_replaced_and_comes_back():
    before = originals()
    assert {"SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC"} <= set(NAMES)
    patch_sklearn()
    for name in NAMES:
        assert issubclass(getattr(sklearn.svm, name), getattr(maxmargin, name))
    unpatch_sklearn()
    after = originals()
    assert all(after[name] is before[name] for name in NAMES)
    assert not sklearn_is_patched()


def test_twice_is_once():
    before = originals()
    assert patch_sklearn().names == NAMES
    assert patch_sklearn().names == []
    unpatch_sklearn()
    unpatch_sklearn()
    assert originals() == before


def test_some_by_name():
    patch_sklearn("SVC")
    assert [name for name in NAMES if sklearn_is_patched(name)] == ["SVC"]
    patch_sklearn(["SVR", "SVC"])
    unpatch_sklearn("SVC")
    assert [name for name in NAMES if sklearn_is_patched(name)] == ["SVR"]
    for function in (patch_sklearn, unpatch_sklearn, sklearn_is_patched):
        with pytest.raises(ValueError, match=r"must be one of .*'SVC'.*got .*'SvC'"):
            function("SvC")


def test_a_block_undoes_what_it_did():
    patch_sklearn("SVR")
    with patch_sklearn():
        assert sklearn_is_patched("SVC")
    assert not sklearn_is_patched("SVC")
    assert sklearn_is_patched("SVR")


def test_modules_of_scikit_learn_that_were_loaded_before():
    before = sklearn.calibration.LinearSVC
    patch_sklearn()
    assert sklearn.calibration.LinearSVC is STAND_INS["LinearSVC"]
    assert _classes.LinearSVC is before  # where pickles look
    unpatch_sklearn()
    assert sklearn.calibration.LinearSVC is before


def test_the_log_names_what_was_imported_before(monkeypatch, caplog):
    module = types.ModuleType("someones_module")
    module.SVC = sklearn.svm.SVC
    monkeypatch.setitem(sys.modules, "someones_module", module)
    patch_sklearn("SVC")
    assert "someones_module.SVC was imported before" in caplog.text
    assert module.SVC is _classes.SVC


def test_threads_agree():
    before = originals()

    def work():
        for _ in range(20):
            with patch_sklearn():
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    unpatch_sklearn()
    assert originals() == before


# What takes their place


@pytest.mark.parametrize("name", NAMES)
def test_parameters_and_defaults_are_scikit_learn_s(name):
    theirs = inspect.signature(getattr(_classes, name).__init__).parameters
    mine = inspect.signature(STAND_INS[name].__init__).parameters
    assert list(mine)[: len(theirs)] == list(theirs)
    for key, parameter in theirs.items():
        assert (mine[key].default, mine[key].kind) == (parameter.default, parameter.kind)
    assert repr(STAND_INS[name]()) == f"{name}()"
    assert set(getattr(_classes, name)().get_params()) <= set(STAND_INS[name]().get_params())


@parametrize_with_checks([STAND_INS[name]() for name in ("SVC", "SVR", "LinearSVC")])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*feasible, and is used instead:UserWarning")
def test_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("params", [{}, {"kernel": "linear"}, {"C": 10.0, "class_weight": "balanced"}], ids=str)
def test_results_are_scikit_learn_s(params):
    with patch_sklearn():
        ours = sklearn.svm.SVC(tol=1e-6, **params).fit(X, Y)
    theirs = sklearn.svm.SVC(tol=1e-6, **params).fit(X, Y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.report_.status.converged


def test_the_intercept_of_linear_models_is_penalised_as_in_scikit_learn():
    with patch_sklearn():
        ours = sklearn.svm.LinearSVC(tol=1e-8, max_iter=10**6).fit(X, Y)
    theirs = sklearn.svm.LinearSVC(tol=1e-8, max_iter=10**6).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_linear_regression_has_scikit_learn_s_intercept():
    with patch_sklearn():
        ours = sklearn.svm.LinearSVR(tol=1e-8, max_iter=10**6).fit(Z, T)
    theirs = sklearn.svm.LinearSVR(tol=1e-8, max_iter=10**6, dual=True).fit(Z, T)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-2)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-2)


@pytest.mark.parametrize("name", ["SVC", "LinearSVC"])
def test_negative_weights_leave_samples_out_as_in_scikit_learn(name):
    weights = np.where(np.arange(150) % 2, 1.0, -1.0)
    with patch_sklearn(), pytest.warns(UserWarning, match=r"sample_weight\[0\] is -1.*left out, 75 of 150"):
        ours = getattr(sklearn.svm, name)(tol=1e-6, max_iter=10**6).fit(X, Y, sample_weight=weights)
    theirs = getattr(sklearn.svm, name)(tol=1e-6, max_iter=10**6).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-2)


def test_regression_and_one_class():
    with patch_sklearn():
        pairs = [(sklearn.svm.SVR(C=10.0), T), (sklearn.svm.NuSVR(C=10.0), T), (sklearn.svm.OneClassSVM(nu=0.2), None)]
    for ours, target in pairs:
        theirs = getattr(_classes, type(ours).__name__)(
            **{
                k: getattr(ours, k)
                for k in ("kernel", "tol", "nu", "C")
                if k in inspect.signature(getattr(_classes, type(ours).__name__)).parameters
            }
        )
        values = [trained.set_params(tol=1e-6).fit(Z, target) for trained in (ours, theirs)]
        scores = [getattr(trained, "decision_function", trained.predict)(Z) for trained in values]
        np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-3)


def test_instances_clones_and_pickles():
    made_before = sklearn.svm.SVC().fit(X, Y)
    with patch_sklearn():
        model = sklearn.svm.SVC(C=2.0).fit(X, Y)
        assert isinstance(model, sklearn.svm.SVC)
        assert isinstance(made_before, sklearn.svm.SVC)
        assert issubclass(_classes.SVC, sklearn.svm.SVC)
        assert not isinstance(model, sklearn.svm.SVR)
        assert type(clone(model)) is type(model)
        kept = [dumps(thing) for dumps in (pickle.dumps, cloudpickle.dumps) for thing in (model, made_before)]
        patched_again = [pickle.loads(data) for data in kept]
    for again in (patched_again, [pickle.loads(data) for data in kept]):
        assert [type(thing) for thing in again] == 2 * [type(model), _classes.SVC]
        np.testing.assert_array_equal(again[0].decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(again[1].decision_function(X), made_before.decision_function(X))


def test_a_patched_model_can_be_exported():
    onnxruntime = pytest.importorskip("onnxruntime")
    from maxmargin.io.onnx import to_onnx

    with patch_sklearn():
        model = make_pipeline(StandardScaler(), sklearn.svm.SVC()).fit(X, Y)
    label = onnxruntime.InferenceSession(to_onnx(model)).run(["label"], {"X": X})[0]
    np.testing.assert_array_equal(label, model.predict(X))


def test_inside_scikit_learn():
    with patch_sklearn():
        calibrated = CalibratedClassifierCV(cv=2).fit(X, Y)
        assert type(calibrated.calibrated_classifiers_[0].estimator) is STAND_INS["LinearSVC"]
        assert calibrated.score(X, Y) > 0.9
        rest = OneVsRestClassifier(sklearn.svm.SVC()).fit(X, Y)
        assert all(hasattr(trained, "report_") for trained in rest.estimators_)
        search = GridSearchCV(sklearn.svm.SVC(), {"C": [0.1, 1.0], "kernel": ["linear", "rbf"]}, cv=2)
        assert hasattr(search.fit(X, Y).best_estimator_, "report_")


# Parameters


def test_an_l1_penalty_is_ours_too():
    patch_sklearn()
    model = sklearn.svm.LinearSVC("l1", dual=False, tol=1e-7, C=0.1).fit(X, Y)
    theirs = _classes.LinearSVC("l1", dual=False, tol=1e-9, C=0.1, max_iter=10**5).fit(X, Y)
    assert type(model) is STAND_INS["LinearSVC"]
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-4)


@PROBABLE
def test_probabilities_are_ours(caplog):
    patch_sklearn()
    model = sklearn.svm.SVC(probability=True, C=3.0, random_state=0)
    assert type(model) is STAND_INS["SVC"]
    np.testing.assert_array_equal(
        model.fit(X, Y).predict_proba(X), maxmargin.SVC(calibration="sigmoid", C=3.0).fit(X, Y).predict_proba(X)
    )
    assert "left to scikit-learn" not in caplog.text


@PROBABLE
def test_parameters_of_both_sides_go_together():
    patch_sklearn()
    model = sklearn.svm.SVC(probability=True, solver="smo").fit(X, Y)
    assert model.report_.solver == "smo"
    assert model.predict_proba(X).shape == (150, 3)


def test_a_search_over_both():
    patch_sklearn()
    search = GridSearchCV(sklearn.svm.LinearSVC(dual=False, max_iter=10**5), {"penalty": ["l1", "l2"]}, cv=2).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_request_for_weights_is_kept():
    patch_sklearn()
    with sklearn.config_context(enable_metadata_routing=True):
        model = sklearn.svm.SVC().set_fit_request(sample_weight=True)
        assert clone(model).get_metadata_routing().fit.requests["sample_weight"] is True


@PROBABLE
def test_derived_classes():
    patch_sklearn()

    class Mine(sklearn.svm.SVC):
        def __init__(self, C=1.0, probability=False):
            super().__init__(C=C, probability=probability, kernel="linear")

    assert Mine(C=2.0).fit(X, Y).report_.converged
    assert clone(Mine(C=2.0)).get_params() == {"C": 2.0, "probability": False}
    assert Mine(probability=True).fit(X, Y).predict_proba(X).shape == (150, 3)


# python -m maxmargin

SCRIPT = """
'''A program that knows nothing of maxmargin.'''
import json, pickle, sys
import beside

class Own:
    pass

pickle.loads(pickle.dumps(Own()))
print(json.dumps([sys.argv, __name__, __doc__, __file__, sys.path[0]]))
if "fit" in sys.argv:
    from sklearn.svm import SVC
    print(SVC().fit([[0.0], [1.0], [3.0]], [0, 0, 1]).report_.status.converged)
if "fail" in sys.argv:
    raise RuntimeError("as asked")
if "exit" in sys.argv:
    sys.exit(7)
"""
PICKLING = "import pickle, sys\nclass A: pass\npickle.dumps(A())\nprint(sys.argv, sys.path[0], __name__)\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a program, to work in; what the program changes is put back."""
    (tmp_path / "beside.py").write_text("")
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text("x = = 3\n")
    (tmp_path / "digits").write_text("raise SystemExit('a file that has the name of a command')")
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "__main__.py").write_text("import sys\nprint(sys.argv)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    yield tmp_path
    for name in ("beside", "script"):
        sys.modules.pop(name, None)


def plainly(*arguments):
    """Exit code, standard output and standard error of Python itself."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def ours(capsys, *arguments):
    """The same of ``python -m maxmargin``, in this process."""
    code = 0
    try:
        main(list(arguments))
    except SystemExit as end:
        code = end.code or 0
    return code, *capsys.readouterr()


@pytest.mark.parametrize(
    "arguments",
    [
        ["script.py", "a", "-b"],
        ["script.py", "fail"],
        ["script.py", "exit"],
        ["program", "a"],
        ["wrong.py"],
        ["nowhere.py"],
        ["-m", "script", "a"],
        ["-c", PICKLING, "a"],
        ["-c", PICKLING + "1 / 0"],
        ["-c", "import sys; sys.exit('said')"],
    ],
    ids=str,
)
def test_a_program_runs_as_under_python(folder, capsys, arguments):
    code, out, err = plainly(*arguments)
    result = ours(capsys, *arguments)
    if arguments[-1] == "import sys; sys.exit('said')":
        assert (code, err, result[0]) == (1, "said\n", "said")  # what Python makes of such an end
    else:
        assert result == (code, out, err)


def test_what_is_not_there(folder, capsys):
    code, _, err = ours(capsys, "-m", "no_such_module")
    assert code == plainly("-m", "no_such_module")[0] == 1
    assert "No module named no_such_module" in err
    assert "Traceback" not in err
    for option in ("-m", "-c"):
        assert ours(capsys, option)[0] == plainly(option)[0] == 2


def test_ctrl_c_is_passed_on(folder):
    with pytest.raises(KeyboardInterrupt):
        main(["-c", "raise KeyboardInterrupt"])


def test_the_fit_of_a_script_is_ours(folder):
    code, out, err = plainly("-m", "maxmargin", "script.py", "fit", "exit")
    assert code == 7
    assert out.endswith("True\n")
    assert err.startswith("[maxmargin] sklearn.svm: SVC")


def test_the_command_line(folder, capsys):
    assert ours(capsys, "--version")[1].startswith("maxmargin")
    assert "digits" in ours(capsys, "--help")[1]
    code, _, err = ours(capsys, "diigts")
    assert code == 2
    assert "No such command" in err
    assert "Usage: maxmargin digits" in ours(capsys, "digits", "--help")[1]
    assert "Usage" in "".join(map(str, ours(capsys)))


def test_subclasses_elsewhere_find_scikit_learn_s_constraints():
    # scikit-survival's NaiveSurvivalSVM is such a class: its module could not be imported under the patch.
    with patch_sklearn():

        class Ranking(sklearn.svm.LinearSVC):
            _parameter_constraints: ClassVar[dict] = {"alpha": sklearn.svm.LinearSVC._parameter_constraints["C"]}

            def __init__(self, alpha=1.0):
                super().__init__(fit_intercept=False)
                self.alpha = alpha

        model = clone(Ranking(0.5))
        model._validate_params()
        with pytest.raises(ValueError, match="alpha"):
            Ranking(-1.0)._validate_params()
        assert model.fit([[-1.0], [1.0]], [0, 1]).predict([[2.0]]) == [1]
