"""maxmargin as a solver of the public benchmark of linear SVMs without intercept, for benchopt.

Copy this file into the folder ``solvers`` of ``benchopt/benchmark_linear_svm_binary_classif_no_intercept``, then

    benchopt run . -s maxmargin -s sklearn -s cd -d simulated --n-repetitions 3
"""

from benchopt import BaseSolver, safe_import_context
from benchopt.stopping_criterion import SufficientProgressCriterion

with safe_import_context() as import_ctx:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from maxmargin import LinearSVC


class Solver(BaseSolver):
    """Certified fits: the curve is one of relative duality gaps, each fit from the start."""

    name = "maxmargin"
    install_cmd = "conda"
    requirements = ["pip:maxmargin"]  # noqa: RUF012 (as benchopt reads it)
    # Neighbouring tolerances may give the same fit: only many of them without progress are the end.
    stopping_criterion = SufficientProgressCriterion(eps=1e-4, patience=10, strategy="tolerance")
    support_sparse = True

    def set_objective(self, X, y, C):
        """Keep the data; a fit to a few rows loads what the first fit loads."""
        self.X, self.y = X, y
        self.model = LinearSVC(C=C, loss="hinge", fit_intercept=False)
        warnings.simplefilter("ignore", ConvergenceWarning)  # tolerances below rounding end the curve
        self.run(1e-1)

    def run(self, tolerance):
        """Fit to a relative duality gap."""
        self.model.set_params(tol=max(tolerance, 1e-12)).fit(self.X, self.y)

    def get_result(self):
        """Weights."""
        return self.model.coef_.ravel()
