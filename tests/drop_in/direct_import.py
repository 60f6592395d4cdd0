"""A pytest plugin: ``from sklearn.svm import SVC`` gives ours, as if the import line had been changed."""

import sklearn.svm

import maxmargin

for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"):
    setattr(sklearn.svm, name, getattr(maxmargin, name))
