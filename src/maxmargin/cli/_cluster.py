"""``maxmargin train --dask``: the fit on a cluster, the model here."""

from __future__ import annotations

from typing import Any

from maxmargin.cli import UserError
from maxmargin.runtime.validation import Array

ON_CLUSTERS = ("LinearSVC", "NystroemSVC", "NystroemSVR", "NystroemRidge")


def check_cluster(address: str | None, svm: Any) -> None:
    """Refuse, before the fit, what a cluster cannot do."""
    if address is None:
        return
    if type(svm).__name__ not in ON_CLUSTERS:
        raise UserError(
            f"--dask fits linear classifiers and approximate estimators, and this is {type(svm).__name__}: add "
            "--approximate, or say --kernel linear."
        )
    from maxmargin.large_scale import dask

    dask.LinearSVC  # noqa: B018  raises where Dask is not installed


def fit_on_cluster(svm: Any, X: Any, y: Array | None, address: str) -> Any:
    """The fitted estimator; "local" is a cluster of this computer's cores."""
    from maxmargin.large_scale.dask.cluster import ClusterError
    from maxmargin.large_scale.dask.from_memory import on_cluster

    assert y is not None
    try:
        return on_cluster(svm, X, y, None if address == "local" else address)
    except ClusterError as error:
        raise UserError(str(error)) from error
