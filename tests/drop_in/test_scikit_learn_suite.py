"""scikit-learn's own tests of its SVMs, as they are installed, with our classes in their place.

Every test that fails is a deliberate difference, listed here and explained in ``docs/differences.md``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import maxmargin

HERE = Path(__file__).parent
OPTIONS = ["-q", "-rf", "--tb=no", "-p", "no:cacheprovider"]
SOURCES = Path(maxmargin.__file__).parents[1]

# test: the line of docs/differences.md that says why
DIFFERENCES = {
    "test_precomputed": "the same kernel as a name",
    "test_svr_errors": "a kernel function that returns a wrong shape",
    "test_bad_input[lil_matrix]": "prediction of sparse points by a model that was fitted to dense ones",
    "test_bad_input[lil_array]": "prediction of sparse points by a model that was fitted to dense ones",
    "test_sparse_precomputed[csr_matrix]": "sparse precomputed matrices",
    "test_sparse_precomputed[csr_array]": "sparse precomputed matrices",
    "test_dense_liblinear_intercept_handling": "intercept of `LinearSVC`",
    "test_linearsvc_parameters[False-l2-hinge]": '`LinearSVC(loss="hinge", dual=False)`',
    "test_libsvm_convergence_warnings": "`max_iter=2` on a problem",
    "test_linear_svm_convergence_warnings": "`max_iter=2` on a problem",
    "test_custom_kernel_not_array_input[SVC]": "callables as kernels",
    "test_custom_kernel_not_array_input[SVR]": "callables as kernels",
}


def failures(plugin, folder):
    """The failed tests of scikit-learn's module, and how many passed. The seed is no part of a test's name."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, "-p", plugin, "--pyargs", "sklearn.svm.tests.test_svm"],
        cwd=folder,  # where no settings of pytest are found
        env={**os.environ, "PYTHONPATH": f"{SOURCES}{os.pathsep}{HERE}", "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "42"},
        capture_output=True,
        text=True,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout + done.stderr
    failed = re.findall(r"^FAILED \S*::(test_\w+)(\[[^\]]*\])?", done.stdout, re.MULTILINE)
    names = {name + re.sub(r"\b42-?", "", variant) for name, variant in failed}
    return {name.removesuffix("[]") for name in names}, int(passed[1])


@pytest.mark.skipif(
    parse_version(sklearn.__version__).release[:2] != (1, 9), reason="the list is of scikit-learn 1.9's tests"
)
@pytest.mark.parametrize("plugin", ["direct_import", "patched_import"])
def test_only_the_listed_tests_fail(plugin, tmp_path):
    failed, passed = failures(plugin, tmp_path)
    expected = set(DIFFERENCES)
    if plugin == "patched_import":
        expected.remove("test_dense_liblinear_intercept_handling")  # stand-ins have scikit-learn's default
    assert failed == expected
    assert passed + len(failed) >= 128


def test_each_is_explained():
    assert len(DIFFERENCES) <= 12
    page = (HERE.parents[1] / "docs" / "differences.md").read_text(encoding="utf-8")
    for line in DIFFERENCES.values():
        assert f"| {line}" in page
