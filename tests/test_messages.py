"""A hundred typical mistakes, and what the message about each must contain.

A message names the parameter or the column, the value, the cause and the remedy. Each line below is one mistake: what
a user writes, the error, and words that its text must contain. No text may name another library's estimator as the
only remedy, or print an object's address.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    CountErrorsSVC,
    KernelDiscriminantAnalysis,
    KernelKMeans,
    KernelKNeighborsClassifier,
    KernelPCA,
    KernelRidge,
    LinearOneClassSVM,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    Nystroem,
    NystroemSVC,
    NystroemSVR,
    OneClassSVM,
    Perceptron,
    QuantileSVR,
    RandomFeatures,
    TableEncoder,
    VirtualSVC,
)
from maxmargin.kernels import RBF, Columns, Jaccard, Matern, Spectrum
from maxmargin.model_selection import Range

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
Y = np.arange(30) % 2
VALUES = X[:, 0] + 0.1 * rng.normal(size=30)
TABLE = pd.DataFrame({"age": X[:, 0], "sex": ["m", "f"] * 15, "fare": X[:, 2]})


def changed(array, place, value, dtype=None):
    """A copy with one other value."""
    copy = np.array(array, dtype=dtype)
    copy[place] = value
    return copy


HOLES = changed(X, (4, 2), np.nan)
NAMED = pd.DataFrame(HOLES, columns=["age", "height", "fare"])
K = X @ X.T

# id: (what is written, the error, words of its message)
MISTAKES = {
    # constructors
    "positional C": (lambda: SVC(1.0), TypeError, "by name", "SVC(C=1.0)"),
    "positional kernel": (lambda: SVC("linear"), TypeError, "SVC(kernel='linear')"),
    "positional alpha": (lambda: KernelRidge(1.0, "rbf"), TypeError, "KernelRidge(1.0, kernel='rbf')"),
    "positional tol": (lambda: LinearSVC("l2", "hinge", 0.1), TypeError, "by name", "'hinge', "),
    "gama": (lambda: SVC(gama=1.0), TypeError, "SVC has no parameter 'gama'", "Did you mean 'gamma'?"),
    "kernal": (lambda: SVC(kernal="rbf"), TypeError, "Did you mean 'kernel'?"),
    "cost": (lambda: SVC(cost=1.0), TypeError, "Did you mean 'C'?"),
    "lower-case c": (lambda: NuSVR(c=1.0), TypeError, "NuSVR has no parameter 'c'", "'C'"),
    "probability of a linear model": (lambda: LinearSVC(probability=True), TypeError, "Did you mean 'calibration'?"),
    "nu of SVC": (lambda: SVC(nu=0.5), TypeError, "SVC has no parameter 'nu'", "Its parameters are C, kernel"),
    "wrong name of a kernel's parameter": (lambda: RBF(gama=1.0), TypeError, "RBF has no parameter 'gama'", "gamma"),
    "n_landmark": (lambda: NystroemSVC(n_component=5), TypeError, "Did you mean 'n_components'?"),
    "kernel of a linear model": (lambda: LinearSVC(kernel="rbf"), TypeError, "no parameter 'kernel'", "SVC, SVR"),
    "epsilon of SVC": (lambda: SVC(epsilon=0.1), TypeError, "no parameter 'epsilon'", "SVR and LinearSVR"),
    "class_weight of SVR": (lambda: SVR(class_weight="balanced"), TypeError, "sample_weight to fit"),
    "sample_weight in the constructor": (lambda: SVC(sample_weight=np.ones(30)), TypeError, "fit(X, y, sample_weight"),
    "monotonic_cst of SVC": (lambda: SVC(monotonic_cst=[1, 1, 1]), TypeError, "LinearSVC and LinearSVR"),
    "param_grid": (lambda: SVCCV(param_grid={"C": [1]}), TypeError, "no parameter 'param_grid'", "Cs=[1, 10]"),
    "quantile for quantiles": (lambda: QuantileSVR(quantile=0.5), TypeError, "Did you mean 'quantiles'?"),
    "contamination": (lambda: OneClassSVM(contamination=0.1), TypeError, "Did you mean 'nu'?"),
    "C of a one-class SVM": (lambda: OneClassSVM(C=1.0), TypeError, "no parameter 'C'", "Did you mean 'nu'?"),
    "C of kernel ridge": (lambda: KernelRidge(C=1.0), TypeError, "no parameter 'C'", "Did you mean 'alpha'?"),
    "lambda": (lambda: SVC(**{"lambda": 0.1}), TypeError, "no parameter 'lambda'", "Did you mean 'C'?"),
    "epochs": (lambda: LinearSVC(epochs=10), TypeError, "Did you mean 'max_iter'?"),
    "loss of SVC": (lambda: SVC(loss="hinge"), TypeError, "no parameter 'loss' (LinearSVC and LinearSVR have one)"),
    "set_params": (lambda: SVC().set_params(gama=1.0), ValueError, "Invalid parameter 'gama'", "Did you mean 'gamma'?"),
    # numbers and choices
    "C is zero": (lambda: SVC(C=0).fit(X, Y), ValueError, "C must be > 0", "C=0"),
    "C is negative": (lambda: LinearSVC(C=-1).fit(X, Y), ValueError, "C must be > 0", "C=-1"),
    "C is text": (lambda: SVC(C="1").fit(X, Y), TypeError, "C must be a number", "'1'", "str"),
    "C is None": (lambda: SVR(C=None).fit(X, VALUES), TypeError, "C must be a number", "None"),
    "C is NaN": (lambda: SVC(C=np.nan).fit(X, Y), ValueError, "C must be > 0", "nan"),
    "C is a list": (lambda: SVC(C=[1, 10]).fit(X, Y), TypeError, "C must be a number", "[1, 10]"),
    "gamma is zero": (lambda: SVC(gamma=0).fit(X, Y), ValueError, "gamma must be > 0", "gamma=0"),
    "gamma is zero, regression": (lambda: SVR(gamma=0.0).fit(X, VALUES), ValueError, "gamma must be > 0"),
    "gamma is negative": (lambda: SVC(gamma=-1).fit(X, Y), ValueError, "gamma must be > 0", "gamma=-1"),
    "gamma is a wrong word": (lambda: SVC(gamma="scaled").fit(X, Y), ValueError, "gamma", "'scale'", "'scaled'"),
    "gamma is NaN": (lambda: OneClassSVM(gamma=np.nan).fit(X), ValueError, "gamma", "nan"),
    "nu is two": (lambda: NuSVC(nu=2).fit(X, Y), ValueError, "nu must be > 0 and <= 1", "nu=2"),
    "nu is zero": (lambda: OneClassSVM(nu=0).fit(X), ValueError, "nu must be > 0 and <= 1", "nu=0"),
    "nu is infeasible": (lambda: NuSVC(nu=0.9).fit(X, np.arange(30) < 5), ValueError, "nu is infeasible", "0.333333"),
    "epsilon is negative": (lambda: SVR(epsilon=-0.1).fit(X, VALUES), ValueError, "epsilon must be >= 0", "-0.1"),
    "quantile without its loss": (lambda: LinearSVR(quantile=0.9).fit(X, VALUES), ValueError, "loss='pinball'"),
    "epsilon is negative, linear": (lambda: LinearSVR(epsilon=-1).fit(X, VALUES), ValueError, "epsilon must be >= 0"),
    "tol is zero": (lambda: SVC(tol=0).fit(X, Y), ValueError, "tol must be > 0", "tol=0"),
    "degree is negative": (lambda: SVC(kernel="poly", degree=-2).fit(X, Y), ValueError, "degree", "-2"),
    "max_iter is a float": (lambda: SVC(max_iter=1.5).fit(X, Y), TypeError, "max_iter must be an integer", "1.5"),
    "max_iter is -2": (lambda: SVC(max_iter=-2).fit(X, Y), ValueError, "max_iter must be >= -1", "no limit"),
    "n_jobs is zero": (lambda: SVC(n_jobs=0).fit(X, Y), ValueError, "n_jobs must not be 0", "None or -1"),
    "cache_size is zero": (lambda: SVC(cache_size=0).fit(X, Y), ValueError, "cache_size must be > 0"),
    "random_state": (lambda: SVC(random_state="a").fit(X, Y), ValueError, "random_state must be", "'a'"),
    "alpha is negative": (lambda: KernelRidge(alpha=-1).fit(X, VALUES), ValueError, "alpha", "-1"),
    "too many clusters": (lambda: KernelKMeans(n_clusters=50).fit(X), ValueError, "n_clusters", "50", "30"),
    "too many neighbours": (lambda: KernelKNeighborsClassifier(n_neighbors=50).fit(X, Y).predict(X), ValueError, "50"),
    "no components": (lambda: KernelPCA(n_components=0).fit(X), ValueError, "n_components", "0"),
    "no landmarks": (lambda: NystroemSVC(n_components=0).fit(X, Y), ValueError, "n_components", "0"),
    "no features": (lambda: RandomFeatures(n_components=-1).fit(X), ValueError, "n_components", "-1"),
    "kernel='gaussian'": (lambda: SVC(kernel="gaussian").fit(X, Y), ValueError, "'gaussian'", "'rbf'"),
    "kernel='RBF'": (lambda: SVC(kernel="RBF").fit(X, Y), ValueError, "Did you mean 'rbf'?"),
    "kernel='polynomial'": (lambda: SVR(kernel="polynomial").fit(X, VALUES), ValueError, "Did you mean 'poly'?"),
    "kernel='radial'": (lambda: KernelPCA(kernel="radial").fit(X), ValueError, "'radial'", "'rbf'"),
    "kernel=2": (lambda: SVC(kernel=2).fit(X, Y), (TypeError, ValueError), "kernel", "2"),
    "a kernel class, not an object": (lambda: SVC(kernel=RBF).fit(X, Y), (TypeError, ValueError), "RBF()"),
    "a kernel function of a wrong shape": (
        lambda: SVC(kernel=lambda a, b: np.ones(3)).fit(X, Y),
        ValueError,
        "shape (3,)",
        "it must return the matrix",
    ),
    "solver": (lambda: SVC(solver="smoo").fit(X, Y), ValueError, "solver must be one of", "Did you mean 'smo'?"),
    "multiclass": (lambda: SVC(multiclass="ova").fit(X, Y), ValueError, "multiclass must be one of", "'ova'"),
    "decision_function_shape": (lambda: SVC(decision_function_shape="x").fit(X, Y), ValueError, "'ovo', 'ovr'", "'x'"),
    "penalty": (lambda: LinearSVC("l3").fit(X, Y), ValueError, "penalty must be one of", "'l3'"),
    "loss": (lambda: LinearSVC(loss="log").fit(X, Y), ValueError, "loss must be one of", "'hinge'", "'log'"),
    "l1 with hinge": (
        lambda: LinearSVC(penalty="l1", loss="hinge", dual=True).fit(X, Y),
        ValueError,
        "Unsupported set of arguments",
        "penalty='l1'",
        "loss='squared_hinge'",
    ),
    "calibration": (lambda: SVC(calibration="platt").fit(X, Y), ValueError, "calibration must be one of", "'sigmoid'"),
    "calibration=True": (lambda: SVC(calibration=True).fit(X, Y), ValueError, "calibration must be one of", "True"),
    "probability='yes'": (lambda: SVC(probability="yes").fit(X, Y), ValueError, "probability must be True or False"),
    "inseparable hard margin": (
        lambda: SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [2.0]], [0, 1, 0]),
        ValueError,
        "cannot be separated",
        "finite C",
    ),
    # searches
    "C of a search": (lambda: SVCCV(C=[1, 10]), TypeError, "SVCCV has no parameter 'C'", "Did you mean 'Cs'?"),
    "one C, not a list": (lambda: SVCCV(Cs=1.0).fit(X, Y), TypeError, "Cs must be a list", "Cs=[1.0]"),
    "no C": (lambda: SVCCV(Cs=[]).fit(X, Y), ValueError, "Cs is empty", "at least one"),
    "a negative C among others": (lambda: SVCCV(Cs=[1, -1]).fit(X, Y), ValueError, "Cs[1] must be > 0", "-1"),
    "one fold": (lambda: SVCCV(cv=1).fit(X, Y), ValueError, "cv must be at least 2 folds", "cv=1"),
    "more folds than rows of a class": (lambda: SVCCV(cv=20).fit(X, Y), ValueError, "n_splits=20", "lower cv"),
    "a scorer misspelt": (lambda: SVCCV(scoring="acuracy").fit(X, Y), ValueError, "Did you mean 'accuracy'?"),
    "a scorer of labels for numbers": (
        lambda: SVRCV(Cs=[1.0], gammas=[1.0], scoring="accuracy").fit(X, VALUES),
        ValueError,
        "scoring='accuracy'",
        "continuous is not supported",
    ),
    "AUC of three classes": (
        lambda: SVCCV(Cs=[1.0], gammas=[1.0], scoring="roc_auc").fit(X, np.arange(30) % 3),
        ValueError,
        "scoring='roc_auc'",
        "'balanced_accuracy'",
    ),
    "a wrong word among gammas": (
        lambda: SVCCV(gammas=[0.1, "scaled"]).fit(X, Y),
        ValueError,
        "gammas[1] must be one of",
        "or a number",
        "Did you mean 'scale'?",
    ),
    "a range that begins at zero": (lambda: SVCCV(Cs=Range(0, 10, 3)).fit(X, Y), ValueError, "low must be > 0"),
    # kernels
    "a kernel and a name": (lambda: RBF() + "linear", TypeError, "RBF + 'linear'", "RBF() + Linear()"),
    "a kernel times its points": (lambda: RBF() * X, TypeError, "RBF * ndarray", "kernel(X)"),
    "a negative multiple of a kernel": (
        lambda: SVC(kernel=-1 * RBF()).fit(X, Y),
        ValueError,
        "factor must be > 0",
        "-1",
    ),
    "a difference of kernels": (lambda: RBF() - RBF(), TypeError, "difference", "added, multiplied"),
    "a kernel function of one argument": (lambda: SVC(kernel=lambda a: a).fit(X, Y), TypeError, "two arrays of points"),
    "a kernel function that returns NaN": (
        lambda: SVC(kernel=lambda a, b: np.full((len(a), len(b)), np.nan)).fit(X, Y),
        ValueError,
        "returned nan in row 0, column 0",
        "must be finite",
    ),
    "a string kernel on numbers": (lambda: SVC(kernel=Spectrum(2)).fit(X, Y), TypeError, "(30, 3)", "RBF()"),
    "strings with a kernel on sets": (lambda: SVC(kernel=Jaccard()).fit(["a", "b"], [0, 1]), TypeError, "Give sets"),
    "a column that is not there": (lambda: SVC(kernel=Columns(RBF(), [5])).fit(X, Y), ValueError, "5", "0 to 2"),
    "a column name misspelt": (
        lambda: SVC(kernel=Columns(RBF(), ["agee"])).fit(TABLE[["age", "fare"]], Y),
        ValueError,
        "columns must be one of 'age', 'fare'",
        "Did you mean 'age'?",
    ),
    "Matern's nu": (lambda: SVC(kernel=Matern(nu=0.7)).fit(X, Y), ValueError, "0.5, 1.5 or 2.5", "nu=0.7"),
    "a search along a parameter that a kernel lacks": (
        lambda: SVCCV(kernel="linear", gammas=[1.0]).fit(X, Y),
        ValueError,
        "kernel='linear' has no parameter 'gamma'",
        "leave it out of the search",
    ),
    "text for a kernel matrix": (lambda: maxmargin.validate_gram("K"), ValueError, "K must be a matrix", "kernel(X)"),
    "a number for a set": (
        lambda: SVC(kernel=Jaccard()).fit([{1}, 2], [0, 1]),
        TypeError,
        "X[1] is of type int",
        "sets",
    ),
    "no initialisations": (lambda: KernelKMeans(n_init=0).fit(X), ValueError, "n_init must be >= 1; got n_init=0."),
    # X
    "text in a column": (
        lambda: SVC().fit(TABLE, Y),
        ValueError,
        "X contains text in column 'sex' (first value 'm')",
        "TableEncoder",
    ),
    "text in a column, linear": (lambda: LinearSVC().fit(TABLE, Y), ValueError, "column 'sex'", "TableEncoder"),
    "text in a column, ridge": (lambda: KernelRidge().fit(TABLE, VALUES), ValueError, "column 'sex'", "TableEncoder"),
    "text in a column, landmarks": (lambda: NystroemSVC().fit(TABLE, Y), ValueError, "column 'sex'", "TableEncoder"),
    "text in a list": (lambda: SVC().fit([[1.0, "a"], [2.0, "b"]], [0, 1]), ValueError, "column 1", "'a'"),
    "categories": (
        lambda: SVC().fit(TABLE.astype({"sex": "category"}), Y),
        ValueError,
        "categories in column 'sex'",
        "TableEncoder",
    ),
    "dates": (
        lambda: SVC().fit(TABLE.assign(sex=pd.date_range("2020-01-01", periods=30)), Y),
        ValueError,
        "dates in column 'sex'",
        "days since",
    ),
    "NaN": (lambda: SVC().fit(HOLES, Y), ValueError, "NaN in row 4, column 2", "impute"),
    "NaN in a named column": (lambda: SVC().fit(NAMED, Y), ValueError, "NaN in row 4, column 'fare'", "impute"),
    "NaN, linear": (lambda: LinearSVR().fit(NAMED, VALUES), ValueError, "NaN in row 4, column 'fare'"),
    "NaN, one-class": (lambda: OneClassSVM().fit(NAMED), ValueError, "NaN in row 4, column 'fare'"),
    "NaN, kernel PCA": (lambda: KernelPCA().fit(NAMED), ValueError, "NaN in row 4, column 'fare'"),
    "NaN, landmarks": (lambda: NystroemSVR().fit(NAMED, VALUES), ValueError, "NaN in row 4, column 'fare'"),
    "NaN, search": (lambda: SVCCV().fit(NAMED, Y), ValueError, "NaN in row 4, column 'fare'"),
    "NaN, sparse": (lambda: SVC().fit(sp.csr_array(HOLES), Y), ValueError, "NaN in row 4, column 2"),
    "NaN to predict for": (lambda: SVC().fit(X, Y).predict(HOLES), ValueError, "NaN in row 4, column 2", "impute"),
    "infinity": (lambda: SVC().fit(changed(X, (2, 1), np.inf), Y), ValueError, "infinity in row 2, column 1"),
    "missing values of pandas": (
        lambda: SVC().fit(NAMED.convert_dtypes(), Y),
        ValueError,
        "NaN in row 4, column 'fare'",
    ),
    "complex numbers": (lambda: SVC().fit(X + 1j, Y), ValueError, "Complex data not supported"),
    "one dimension": (lambda: SVC().fit(X[:, 0], Y), ValueError, "Expected 2D array, got 1D array", "reshape(-1, 1)"),
    "three dimensions": (lambda: SVC().fit(X[None], Y), ValueError, "X has 3 dimensions", "reshape(len(X), -1)"),
    "no rows": (lambda: SVC().fit(X[:0], Y[:0]), ValueError, "0 sample(s)"),
    "no columns": (lambda: SVC().fit(X[:, :0], Y), ValueError, "0 feature(s)"),
    "X is None": (lambda: SVC().fit(None, Y), (TypeError, ValueError), "X"),
    "X is a file name": (lambda: SVC().fit("data.csv", Y), (TypeError, ValueError), "read_data"),
    "X is a dict": (lambda: SVC().fit({"a": [1, 2]}, [0, 1]), ValueError, "X is of type dict", "pandas.DataFrame"),
    "X is a generator": (
        lambda: SVC().fit((x for x in X), Y),
        ValueError,
        "X is of type generator",
        "list of its rows",
    ),
    "decimal commas": (
        lambda: SVC().fit(TABLE.assign(sex=["1,5", "2,0"] * 15), Y),
        ValueError,
        "text in column 'sex' (first value '1,5')",
        "TableEncoder(forms=...)",
    ),
    "prices": (lambda: SVC().fit(TABLE.assign(sex=["$1,200", "$3"] * 15), Y), ValueError, "'$1,200'", "to numbers"),
    "question marks for missing values": (
        lambda: SVC().fit(TABLE.assign(sex=["1.5", "?"] * 15), Y),
        ValueError,
        "column 'sex' (first value '?')",
        "replace them by NaN and impute",
    ),
    "sets in a column": (
        lambda: SVC().fit(TABLE.assign(sex=[{1}] * 30), Y),
        TypeError,
        "objects of type set in column 'sex'",
        "drop the column",
    ),
    "two columns of one name": (
        lambda: SVC().fit(pd.DataFrame(X, columns=["age", "fare", "age"]), Y),
        ValueError,
        "two columns with the name 'age'",
        "a name of its own",
    ),
    "a masked array": (
        lambda: SVC().fit(np.ma.masked_invalid(HOLES), Y),
        ValueError,
        "NaN in row 4, column 2",
        "impute",
    ),
    "lists in a column": (
        lambda: SVC().fit(TABLE.assign(sex=[[1, 2]] * 30), Y),
        ValueError,
        "lists in column 'sex'",
        "a column of its own",
    ),
    "rows of different lengths": (
        lambda: SVC().fit([[1.0, 2.0], [3.0]], [0, 1]),
        ValueError,
        "rows of X have different lengths",
        "row 0 has 2 values and row 1 has 1",
    ),
    "columns in another order": (
        lambda: SVC().fit(TABLE[["age", "fare"]], Y).predict(TABLE[["fare", "age"]]),
        ValueError,
        "same order",
        "X[list(model.feature_names_in_)]",
    ),
    "X and y swapped": (lambda: SVC().fit(Y, X), ValueError, "Expected 2D array, got 1D array"),
    "other columns": (lambda: SVC().fit(X, Y).predict(X[:, :2]), ValueError, "X has 2 features", "3 features"),
    "columns renamed": (
        lambda: SVC().fit(pd.DataFrame(X, columns=list("abc")), Y).predict(pd.DataFrame(X, columns=list("abd"))),
        ValueError,
        "feature names",
        "d",
    ),
    "a single point to predict for": (lambda: SVC().fit(X, Y).predict(X[0]), ValueError, "reshape(1, -1)"),
    "precomputed, not square": (lambda: SVC(kernel="precomputed").fit(X, Y), ValueError, "square", "30x3", "k(X, X)"),
    "precomputed, not symmetric": (
        lambda: SVC(kernel="precomputed").fit(changed(K, (0, 1), 9.0), Y),
        ValueError,
        "not symmetric",
        "(K + K.T) / 2",
    ),
    "precomputed, features to predict for": (
        lambda: SVC(kernel="precomputed").fit(K, Y).predict(X),
        ValueError,
        "similarities to the training points",
        "30",
    ),
    "values that overflow": (lambda: SVC().fit(X * 1e300, Y), ValueError, "scale", "not finite"),
    "negative histogram": (lambda: SVC(kernel="chi2").fit(X, Y), ValueError, "negative"),
    # y
    "continuous y": (lambda: SVC().fit(X, VALUES), ValueError, "continuous", "SVR"),
    "continuous y, linear": (lambda: LinearSVC().fit(X, VALUES), ValueError, "continuous", "LinearSVR"),
    "continuous y, landmarks": (lambda: NystroemSVC().fit(X, VALUES), ValueError, "continuous", "NystroemSVR"),
    "text as regression target": (lambda: SVR().fit(X, TABLE["sex"]), ValueError, "y contains text", "'m'", "SVC"),
    "dates as regression target": (
        lambda: SVR().fit(X, pd.date_range("2020-01-01", periods=30)),
        ValueError,
        "y contains dates",
        "days since",
    ),
    "dates as target, linear": (
        lambda: LinearSVR().fit(X, pd.Series(pd.date_range("2020-01-01", periods=30))),
        ValueError,
        "y contains dates",
    ),
    "columns of dates only": (
        lambda: SVC().fit(pd.DataFrame({"opened": pd.date_range("2020-01-01", periods=30)}), Y),
        ValueError,
        "X contains dates in column 'opened'",
        "2020-01-01",
        "days since",
    ),
    "durations beside counts": (
        lambda: LinearSVC().fit(pd.DataFrame({"n": range(30), "took": pd.to_timedelta(range(30), unit="h")}), Y),
        ValueError,
        "X contains dates in column 'took'",
    ),
    "an array of dates to predict for": (
        lambda: SVC().fit(X, Y).predict(np.full(X.shape, "2020-01-01", dtype="datetime64[D]")),
        ValueError,
        "X contains dates in column 0",
    ),
    "one class": (lambda: SVC().fit(X, np.zeros(30)), ValueError, "greater than one", "OneClassSVM"),
    "mixed labels": (
        lambda: SVC().fit(X, np.array([1, "a"] * 15, dtype=object)),
        ValueError,
        "y mixes labels of type int and str",
    ),
    "None among labels": (
        lambda: SVC().fit(X, changed(Y, 3, None, dtype=object)),
        ValueError,
        "y[3] is None",
        "drop the rows",
    ),
    "None among texts": (
        lambda: LinearSVC().fit(X, changed(np.array(["a", "b"] * 15), 3, None, dtype=object)),
        ValueError,
        "y[3] is None",
    ),
    "NaN among labels": (lambda: SVC().fit(X, changed(Y, 5, np.nan, dtype=float)), ValueError, "NaN", "y[5]"),
    "NaN among values": (lambda: SVR().fit(X, changed(VALUES, 5, np.nan)), ValueError, "NaN", "y[5]"),
    "infinity among values": (lambda: LinearSVR().fit(X, changed(VALUES, 5, np.inf)), ValueError, "infinity", "y[5]"),
    "y too short": (lambda: SVC().fit(X, Y[:-1]), ValueError, "30", "29", "one row per sample"),
    "the name of a column for y": (lambda: SVC().fit(X, "sex"), ValueError, "y is the text 'sex'", "table['sex']"),
    "text among numbers to predict, a list": (
        lambda: SVR().fit(X, ["yes", "no"] * 15),
        ValueError,
        "y contains text",
        "SVC",
    ),
    "no y": (lambda: SVC().fit(X, None), ValueError, "requires y"),
    "no y at all": (lambda: SVC().fit(X), TypeError, "y"),
    "two columns of labels": (lambda: SVC().fit(X, np.c_[Y, Y]), ValueError, "2", "y"),
    "one-hot labels": (lambda: SVC().fit(X, np.eye(2)[Y]), ValueError, "argmax"),
    # weights
    "class_weight of an unknown label": (
        lambda: SVC(class_weight={0: 1.0, 7: 2.0}).fit(X, Y),
        ValueError,
        "class_weight",
        "7",
        "not in y",
    ),
    "class_weight by a wrong word": (lambda: SVC(class_weight="auto").fit(X, Y), ValueError, "'balanced'", "'auto'"),
    "negative class_weight": (lambda: SVC(class_weight={0: -1}).fit(X, Y), ValueError, "class_weight[0] is -1"),
    "sample_weight too short": (lambda: SVC().fit(X, Y, np.ones(3)), ValueError, "sample_weight", "(3,)", "(30,)"),
    "sample_weight='balanced'": (lambda: SVC().fit(X, Y, "balanced"), ValueError, "class_weight='balanced'"),
    "class_weight of text for numbers": (
        lambda: SVC(class_weight={"0": 1, "1": 2}).fit(X, Y),
        ValueError,
        "'0', which is not in y",
        "name labels as y does",
    ),
    "NaN in sample_weight": (lambda: SVC().fit(X, Y, changed(np.ones(30), 2, np.nan)), ValueError, "sample_weight[2]"),
    "all weights zero": (lambda: SVC().fit(X, Y, np.zeros(30)), ValueError, "all samples have zero or negative"),
    "weights of one class": (lambda: SVC().fit(X, Y, 2.0 * Y - 1), ValueError, "belong to the same class, 1"),
    # order of calls
    "predict before fit": (lambda: SVC().predict(X), NotFittedError, "SVC", "not fitted yet"),
    "decision_function before fit": (lambda: LinearSVC().decision_function(X), NotFittedError, "not fitted yet"),
    "report_ before fit": (lambda: SVC().report_, NotFittedError, "no report_ yet", "call fit first"),
    "classes_ before fit": (lambda: LinearSVC().classes_, NotFittedError, "no classes_ yet", "call fit first"),
    "support_ before fit": (lambda: OneClassSVM().support_, NotFittedError, "no support_ yet"),
    "transform before fit": (lambda: Nystroem().transform(X), NotFittedError, "not fitted yet"),
    "coef_ of an rbf kernel": (lambda: SVC().fit(X, Y).coef_, AttributeError, "only available", "linear kernel"),
    "predict_proba without calibration": (
        lambda: SVC().fit(X, Y).predict_proba(X),
        AttributeError,
        "calibration='sigmoid'",
        "decision_function",
    ),
    "predict_proba of LinearSVC": (lambda: LinearSVC().fit(X, Y).predict_proba, AttributeError, "calibration="),
    "feature_importances_": (lambda: SVC().fit(X, Y).feature_importances_, AttributeError, "shapley_values"),
    "predict_proba of SVR": (lambda: SVR().fit(X, VALUES).predict_proba(X), AttributeError, "classifiers have it"),
    "decision_function of SVR": (lambda: SVR().fit(X, VALUES).decision_function(X), AttributeError, "predict returns"),
    "support vectors of a linear model": (
        lambda: LinearSVC().fit(X, Y).support_vectors_,
        AttributeError,
        "no attribute 'support_vectors_'",
        "SVC(kernel='linear')",
    ),
    "partial_fit of SVC": (lambda: SVC().partial_fit(X, Y), AttributeError, "StreamingKernelSVC", "learn(X, y)"),
    "score of a one-class SVM": (lambda: OneClassSVM().fit(X).score(X), AttributeError, "without labels"),
    "a wrong attribute": (lambda: SVC().fit(X, Y).support_vectors, AttributeError, "support_vectors"),
    "an unfitted model saved": (lambda: maxmargin.save(SVC(), "x.mm"), ValueError, "not fitted", "fit"),
    "saved into a folder that is not there": (
        lambda: maxmargin.save(SVC().fit(X, Y), "no/x.mm"),
        FileNotFoundError,
        "there is no folder",
        "Create it",
    ),
    "a list saved": (lambda: maxmargin.save([1], "x.mm"), ValueError, "An estimator is needed", "[1]"),
    "save with its arguments swapped": (
        lambda: maxmargin.save("x.mm", SVC().fit(X, Y)),
        ValueError,
        "'x.mm'",
        "save(model, path)",
    ),
    "another library's model saved": (
        lambda: maxmargin.save(sklearn.svm.SVC().fit(X, Y), "x.mm"),
        ValueError,
        "scikit-learn's SVC",
        "fit maxmargin's instead",
    ),
    "a kernel function exported to ONNX": (
        lambda: maxmargin.io.to_onnx(SVC(kernel=lambda a, b: a @ b.T).fit(X, Y)),
        ValueError,
        "Callable cannot be exported to ONNX",
        "RBF",
    ),
    "margins of a pipeline": (
        lambda: maxmargin.margin_report(make_pipeline(StandardScaler(), SVC()).fit(X, Y), X, Y),
        TypeError,
        "got a Pipeline",
        "margin_report(pipeline[-1], pipeline[:-1].transform(X)",
    ),
    "another library's model explained": (
        lambda: maxmargin.explain(sklearn.svm.SVC().fit(X, Y), X[:1]),
        TypeError,
        "model of maxmargin",
        "got SVC of sklearn",
    ),
    "a fixed column misspelt": (
        lambda: maxmargin.counterfactual(
            SVC().fit(TABLE[["age", "fare"]], Y), TABLE[["age", "fare"]][:1], fixed="agee"
        ),
        ValueError,
        "fixed must be one of 'age', 'fare'",
        "Did you mean 'age'?",
    ),
    "rows forgotten that are not there": (
        lambda: SVC(warm_start=True).fit(X, Y).forget([100]),
        ValueError,
        "rows has 100",
        "0 to 29",
    ),
    "margins of an unfitted model": (lambda: maxmargin.margin_report(SVC(), X, Y), NotFittedError, "not fitted"),
    "explain before fit": (lambda: maxmargin.explain(SVC(), X[:1]), NotFittedError, "not fitted"),
    "compress before fit": (lambda: maxmargin.compress(SVC(), X), NotFittedError, "not fitted"),
    "quantile of 1.5": (lambda: QuantileSVR(quantiles=1.5).fit(X, VALUES), ValueError, "quantiles must be > 0 and < 1"),
    "virtual copies of a regression": (lambda: VirtualSVC(SVR(), [abs]).fit(X, Y), TypeError, "classifier", "got SVR"),
    "learn without training rows": (lambda: SVC().fit(X, Y).learn(X, Y), ValueError, "warm_start=True"),
    "too many points to count errors": (
        lambda: CountErrorsSVC().fit(np.tile(X, (20, 1)), np.tile(Y, 20)),
        ValueError,
        "600 rows",
        "at most 300",
        "SVC(kernel='linear')",
    ),
    "counterfactual of a class that is not there": (
        lambda: maxmargin.counterfactual(SVC().fit(X, Y), X[:1], target=7),
        ValueError,
        "target=7 is not a class",
        "0, 1",
    ),
    "Shapley values of a sigmoid": (
        lambda: maxmargin.shapley_values(SVC(kernel="sigmoid").fit(X, Y), X),
        ValueError,
        "Sigmoid",
        "product over the columns",
        "shap",
    ),
    "robustness of a polynomial": (
        lambda: maxmargin.robustness(SVC(kernel="poly").fit(X, Y), X),
        ValueError,
        "Polynomial",
        "counterfactual",
    ),
    "strings with an rbf kernel": (lambda: SVC().fit(["ab", "cd"], [0, 1]), ValueError, "type str", "Spectrum()"),
    "sigma and gamma": (lambda: SVC(kernel=RBF(gamma=1, sigma=2)).fit(X, Y), ValueError, "gamma or sigma, not both"),
    "a public name misspelt": (lambda: maxmargin.LinearSvc, AttributeError, "'LinearSvc'", "Did you mean 'LinearSVC'?"),
    "an address for a file": (
        lambda: maxmargin.read_data("https://example.org/data.csv"),
        ValueError,
        "is an address",
        "download it",
    ),
    "a model file that is not there": (lambda: maxmargin.load("no.mm"), FileNotFoundError, "check the name", "no.mm"),
    "a file that is not there": (lambda: maxmargin.read_data("nope.csv"), ValueError, "nope.csv does not exist"),
    "patch of a wrong name": (lambda: maxmargin.patch_sklearn("SvC"), ValueError, "must be one of", "Did you mean"),
    "partial_fit of unknown classes": (
        lambda: LinearSVC().partial_fit(X, Y, classes=[0, 5]),
        ValueError,
        "classes",
        "1",
    ),
    "perceptron with one class": (lambda: Perceptron().fit(X, np.ones(30)), ValueError, "greater than one"),
    "discriminant of numbers": (lambda: KernelDiscriminantAnalysis().fit(X, VALUES), ValueError, "continuous"),
    "linear one-class of text": (lambda: LinearOneClassSVM().fit(TABLE), ValueError, "column 'sex'", "TableEncoder"),
    "fit called on the class": (
        lambda: SVC.fit(X, Y),
        TypeError,
        "fit was called on the class, with ndarray in place of an estimator",
        "SVC().fit(X, y)",
    ),
    "fit of a linear model called on the class": (lambda: LinearSVC.fit(X, Y), TypeError, "called on the class"),
    "three dimensions of targets": (
        lambda: SVR().fit(X, VALUES[:, None, None]),
        ValueError,
        "y has 3 dimensions",
        "one target per row",
    ),
    "a stream by the name of a file": (
        lambda: LinearSVC().fit_stream("data.csv"),
        TypeError,
        "'data.csv'",
        "fit_stream(read_batches('data.csv', target=...))",
    ),
    "a sign that is none": (
        lambda: LinearSVC(monotonic_cst=[2, 0, 0]).fit(X, Y),
        ValueError,
        "feature 0 is 2.0",
        "decreases",
        "1 (it increases)",
    ),
    "a sign of a column misspelt": (
        lambda: LinearSVC(monotonic_cst={"agee": 1}).fit(TABLE[["age", "fare"]], Y),
        ValueError,
        "'agee', which is not a column of X",
        "'age', 'fare'",
    ),
    "margins of several classes": (
        lambda: maxmargin.margin_report(SVC().fit(X, np.arange(30) % 3), X, np.arange(30) % 3),
        ValueError,
        "one for each pair of classes",
        "classes=(0, 1)",
    ),
    "a background by a word": (
        lambda: maxmargin.shapley_values(SVC().fit(X, Y), X, background="mean"),
        ValueError,
        "background must be rows",
        "'mean'",
    ),
    "counterfactual of a regression without a target": (
        lambda: maxmargin.counterfactual(SVR().fit(X, VALUES), X[:1]),
        ValueError,
        "target=None",
        "target=(low, high)",
    ),
    "multipliers of other rows": (
        lambda: maxmargin.lagrangian(SVC().fit(X, Y), X[:5], Y[:5]),
        ValueError,
        "not the training set",
        "that fit was called with",
    ),
    "a missing category": (
        lambda: TableEncoder().fit(TABLE.assign(sex=[None] + ["m"] * 29)),
        ValueError,
        "column 'sex', row 0 is missing",
        "missing='median'",
    ),
    "too few forms": (
        lambda: TableEncoder(forms=["number"]).fit(TABLE),
        ValueError,
        "forms has length 1, but X has 3 columns",
        "one form per column",
    ),
    "a form misspelt": (
        lambda: TableEncoder(forms=["number", "numbr", "number"]).fit(TABLE),
        ValueError,
        "forms[1]",
        "'numbr'",
    ),
    "an image's side for its shape": (
        lambda: maxmargin.invariances.shifts(64),
        ValueError,
        "image_shape must be (height, width)",
        "got 64",
    ),
    "text for an angle": (lambda: maxmargin.invariances.rotations((8, 8), "10"), TypeError, "degrees must be a number"),
    "a picture's name, not a list": (
        lambda: maxmargin.digits.classify_pictures(SVC().fit(X, Y), "seven.png"),
        TypeError,
        "'seven.png'",
        "put it in a list",
    ),
    "rows forgotten by a word": (
        lambda: SVC(warm_start=True).fit(X, Y).forget("all"),
        TypeError,
        "rows must be integers",
        "'all'",
    ),
    "encoder before fit": (lambda: TableEncoder().transform(TABLE), NotFittedError, "not fitted yet"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_message(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mistake, error, *words = MISTAKES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error) as caught:
            mistake()
    text = str(caught.value)
    assert [word for word in words if word not in text] == [], text
    assert not re.search(r"HistGradient|0x[0-9a-f]{6}|np\.float64|__init__", text), text


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", bytes(range(256)) * 10])
def test_a_file_that_is_no_model(tmp_path, content):
    path = tmp_path / "something.mm"
    path.write_bytes(content)
    with pytest.raises(maxmargin.ModelFileError, match="not a maxmargin model file"):
        maxmargin.load(path)


def test_there_are_a_hundred():
    assert len(MISTAKES) >= 100
