"""The gallery's order: that of the lectures."""

from __future__ import annotations

LECTURES = [
    "best_w",
    "separability",
    "hard_and_soft_margin",
    "losses",
    "solvers",
    "lifting",
    "polar",
    "map_and_kernel",
    "gaussian_series",
    "gram",
    "sigma",
    "polynomial_regression",
    "gaussian_basis",
    "svr",
    "kernel_pca",
    "denoising",
    "multiclass",
    "digits",
    "kernel_approximation",
]


class LectureOrder:
    """Sorts the scripts of a folder for Sphinx-Gallery; a script that is not listed comes last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> tuple[int, str]:
        name = file.removeprefix("plot_").removesuffix(".py")
        return (LECTURES.index(name) if name in LECTURES else len(LECTURES), name)
