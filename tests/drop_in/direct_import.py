"""A pytest plugin: ``from sklearn.svm import SVC`` gives ours, as if the import line had been changed."""

import sklearn.svm

import maxmargin


def pytest_configure():
    """In a run that has this plugin: where doctests are looked for, modules are imported, and nothing may change."""
    for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"):
        setattr(sklearn.svm, name, getattr(maxmargin, name))
