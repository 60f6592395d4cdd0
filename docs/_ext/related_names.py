"""See Also and References of every public name, from one table.

A name's relatives are the others of its groups below; a name in no group is related to its neighbours in the list of
its module, so that a new name has a See Also from the beginning. Docstrings have neither section.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import reference_pages
from sphinx.application import Sphinx

MAX_RELATIVES = 5
GROUPS = (
    "SVC NuSVC LinearSVC SVCCV NystroemSVC Perceptron",
    "NuSVC SVC NuSVCCV",
    "SVR NuSVR LinearSVR SVRCV NystroemSVR KernelRidge",
    "QuantileSVR SVR LinearSVR",
    "SVDD OneClassSVM LinearOneClassSVM",
    "OneClassSVM LinearOneClassSVM OneClassSVMCV mmd_test",
    "LinearSVC LinearSVCCV LinearSVR StreamReport convert_regularization",
    "KernelRidge KernelRidgeCV NystroemRidge BasisRegression SVR",
    "KernelPCA KernelDiscriminantAnalysis KernelKMeans displays.ProjectionDisplay",
    "KernelKNeighborsClassifier KernelKNeighborsRegressor SVC SVR",
    "mmd_test MMDResult OneClassSVM",
    "Nystroem RandomFeatures NystroemSVC NystroemSVR NystroemRidge",
    "separability Separability InseparabilityProof InseparableError Perceptron",
    "margin_report MarginReport displays.MarginDisplay explain",
    "explain Explanation displays.ExplanationDisplay margin_report shapley_values",
    "MultipleKernelSVC MultipleKernelSVR SVC kernels.Columns kernels.Normalized",
    "MultipleKernelSVR MultipleKernelSVC SVR kernels.Columns kernels.Normalized",
    "KernelWeightsReport MultipleKernelSVC MultipleKernelSVR",
    "VirtualSVC invariances.shifts invariances.rotations SVC",
    "leave_one_out LeaveOneOutScores SVC SVR",
    "lagrangian Lagrangian margin_report SVC",
    "class_margins ClassMargins margin_report",
    "counterfactual Counterfactual robustness shapley_values",
    "robustness Robustness counterfactual margin_report",
    "shapley_values ShapleyValues displays.ShapleyDisplay explain",
    "compress CompressionReport io.to_onnx save",
    "compare_solvers History displays.HistoryDisplay compare_map_and_kernel",
    "FitReport History FitInterrupted LongFitWarning",
    "interrupts set_interrupts FitInterrupted",
    "set_interrupts interrupts FitInterrupted",
    "CountErrorsSVC SVC LinearSVC Perceptron margin_report",
    "PerceptronReport Perceptron FitReport",
    "StreamReport LinearSVC read_batches",
    "StreamingKernelSVC LinearSVC RandomFeatures Nystroem NystroemSVC",
    "LongFitWarning NystroemSVC NystroemSVR FitInterrupted",
    "save load ModelFileError io.to_onnx io.write_libsvm_model",
    "read_data read_batches TableEncoder DataFileError io.read_svmlight",
    "io.read_libsvm_model io.write_libsvm_model load save",
    "patch_sklearn unpatch_sklearn sklearn_is_patched",
    "validate_gram kernels.GramValidity kernels.Precomputed displays.GramDisplay",
    "convert_regularization SVC LinearSVC l1_min_c",
    "l1_min_c LinearSVC LinearSVCCV convert_regularization",
    "large_scale.forecast_approximation LongFitWarning NystroemSVC NystroemSVR",
    "model_selection.Range SVCCV SVRCV",
    "kernels.Precomputed kernels.Callable validate_gram",
    "large_scale.dask.LinearSVC LinearSVC large_scale.dask.NystroemSVC",
    "large_scale.dask.NystroemSVC NystroemSVC large_scale.dask.NystroemSVR",
    "large_scale.dask.NystroemSVR NystroemSVR large_scale.dask.NystroemRidge",
    "large_scale.dask.NystroemRidge NystroemRidge large_scale.dask.NystroemSVR",
)
PAPERS = {
    "svm": "Cortes, C. and Vapnik, V. (1995). Support-vector networks. *Machine Learning* 20, 273-297.",
    "virtual": "DeCoste, D. and Schölkopf, B. (2002). Training invariant support vector machines. "
    "*Machine Learning* 46, 161-190.",
    "nu": "Schölkopf, B., Smola, A., Williamson, R. and Bartlett, P. (2000). New support vector algorithms. "
    "*Neural Computation* 12, 1207-1245.",
    "svr": "Smola, A. and Schölkopf, B. (2004). A tutorial on support vector regression. "
    "*Statistics and Computing* 14, 199-222.",
    "quantile": "Takeuchi, I. and others (2006). Nonparametric quantile estimation. *JMLR* 7, 1231-1264.",
    "rearrangement": "Chernozhukov, V., Fernández-Val, I. and Galichon, A. (2010). Quantile and probability curves "
    "without crossing. *Econometrica* 78, 1093-1125.",
    "svdd": "Tax, D. and Duin, R. (2004). Support vector data description. *Machine Learning* 54, 45-66.",
    "one_class": "Schölkopf, B. and others (2001). Estimating the support of a high-dimensional distribution. "
    "*Neural Computation* 13, 1443-1471.",
    "liblinear": "Fan, R.-E. and others (2008). LIBLINEAR: a library for large linear classification. "
    "*JMLR* 9, 1871-1874.",
    "smo": "Fan, R.-E., Chen, P.-H. and Lin, C.-J. (2005). Working set selection using second order information for "
    "training support vector machines. *JMLR* 6, 1889-1918.",
    "platt": "Platt, J. (1998). Fast training of support vector machines using sequential minimal optimization. In "
    "*Advances in Kernel Methods*, MIT Press.",
    "cd": "Hsieh, C.-J. and others (2008). A dual coordinate descent method for large-scale linear SVM. *ICML*.",
    "joint": "Crammer, K. and Singer, Y. (2001). On the algorithmic implementation of multiclass kernel-based vector "
    "machines. *JMLR* 2, 265-292.",
    "barrier": "Mehrotra, S. (1992). On the implementation of a primal-dual interior point method. "
    "*SIAM Journal on Optimization* 2, 575-601.",
    "perceptron": "Rosenblatt, F. (1958). The perceptron. *Psychological Review* 65, 386-408.",
    "farkas": "Boyd, S. and Vandenberghe, L. (2004). *Convex Optimization*, sections 5.8 and 8.6. Cambridge University "
    "Press.",
    "kernels": "Schölkopf, B. and Smola, A. (2002). *Learning with Kernels*. MIT Press.",
    "strings": "Lodhi, H. and others (2002). Text classification using string kernels. *JMLR* 2, 419-444.",
    "spectrum": "Leslie, C., Eskin, E. and Noble, W. (2002). The spectrum kernel: a string kernel for SVM protein "
    "classification. *Pacific Symposium on Biocomputing*.",
    "processes": "Rasmussen, C. and Williams, C. (2006). *Gaussian Processes for Machine Learning*, chapter 4. MIT "
    "Press.",
    "arc_cosine": "Cho, Y. and Saul, L. (2009). Kernel methods for deep learning. *NIPS*.",
    "tanimoto": "Ralaivola, L. and others (2005). Graph kernels for chemical informatics. *Neural Networks* 18, "
    "1093-1110.",
    "degree": "Rätsch, G. and Sonnenburg, S. (2004). Accurate splice site prediction for Caenorhabditis elegans. "
    "*Kernel Methods in Computational Biology*. MIT Press.",
    "mismatch": "Leslie, C. and others (2004). Mismatch string kernels for discriminative protein classification. "
    "*Bioinformatics* 20, 467-476.",
    "histograms": "Barla, A., Odone, F. and Verri, A. (2003). Histogram intersection kernel for image classification. "
    "*ICIP*.",
    "mkl": "Kloft, M., Brefeld, U., Sonnenburg, S. and Zien, A. (2011). lp-norm multiple kernel learning. *JMLR* 12, "
    "953-997.",
    "level": "Xu, Z., Jin, R., King, I. and Lyu, M. (2008). An extended level method for efficient multiple kernel "
    "learning. *NIPS*.",
    "pca": "Schölkopf, B., Smola, A. and Müller, K.-R. (1998). Nonlinear component analysis as a kernel eigenvalue "
    "problem. *Neural Computation* 10, 1299-1319.",
    "kda": "Mika, S. and others (1999). Fisher discriminant analysis with kernels. *Neural Networks for Signal "
    "Processing*.",
    "kmeans": "Dhillon, I., Guan, Y. and Kulis, B. (2004). Kernel k-means, spectral clustering and normalized cuts. "
    "*KDD*.",
    "mmd": "Gretton, A. and others (2012). A kernel two-sample test. *JMLR* 13, 723-773.",
    "ridge": "Saunders, C., Gammerman, A. and Vovk, V. (1998). Ridge regression learning algorithm in dual variables. "
    "*ICML*.",
    "nystroem": "Williams, C. and Seeger, M. (2001). Using the Nyström method to speed up kernel machines. *NIPS*.",
    "fourier": "Rahimi, A. and Recht, B. (2007). Random features for large-scale kernel machines. *NIPS*.",
    "platt_scaling": "Lin, H.-T., Lin, C.-J. and Weng, R. (2007). A note on Platt's probabilistic outputs for support "
    "vector machines. *Machine Learning* 68, 267-276.",
    "coupling": "Wu, T.-F., Lin, C.-J. and Weng, R. (2004). Probability estimates for multi-class classification by "
    "pairwise coupling. *JMLR* 5, 975-1005.",
    "reduced_set": "Burges, C. (1996). Simplified support vector decision rules. *ICML*.",
    "maps": "Chang, Y.-W. and others (2010). Training and testing low-degree polynomial data mappings via linear SVM. "
    "*JMLR* 11, 1471-1490.",
    "pegasos": "Shalev-Shwartz, S., Singer, Y., Srebro, N. and Cotter, A. (2011). Pegasos: primal estimated "
    "sub-gradient solver for SVM. *Mathematical Programming* 127, 3-30.",
    "libsvm": "Chang, C.-C. and Lin, C.-J. (2011). LIBSVM: a library for support vector machines. "
    "*ACM TIST* 2 (3), 27.",
    "invariances": "Schölkopf, B., Burges, C. and Vapnik, V. (1996). Incorporating invariances in support vector "
    "learning machines. *ICANN*.",
    "games": "Shapley, L. (1953). A value for n-person games. In *Contributions to the Theory of Games II*, 307-317.",
    "multilinear": "Owen, G. (1972). Multilinear extensions of games. *Management Science* 18, 64-79.",
    "shap": "Lundberg, S. and Lee, S.-I. (2017). A unified approach to interpreting model predictions. *NIPS*.",
    "rkhs_shap": "Chau, S. L. and others (2022). RKHS-SHAP: Shapley values for kernel methods. *NeurIPS*.",
    "counterfactual": "Wachter, S., Mittelstadt, B. and Russell, C. (2018). Counterfactual explanations without "
    "opening the black box. *Harvard Journal of Law & Technology* 31, 841-887.",
    "guarantees": "Hein, M. and Andriushchenko, M. (2017). Formal guarantees on the robustness of a classifier against "
    "adversarial manipulation. *NIPS*.",
    "robust": "Xu, H., Caramanis, C. and Mannor, S. (2009). Robustness and regularization of support vector machines. "
    "*JMLR* 10, 1485-1510.",
    "wilson": "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. *JASA* 22, "
    "209-212.",
}
REFERENCES = {
    "SVC": "svm smo",
    "SVCCV": "svm",
    "NuSVC": "nu",
    "VirtualSVC": "invariances virtual",
    "MultipleKernelSVC": "mkl level",
    "MultipleKernelSVR": "mkl level",
    "NuSVCCV": "nu",
    "SVR": "svr",
    "SVRCV": "svr",
    "NuSVR": "nu",
    "QuantileSVR": "quantile rearrangement",
    "SVDD": "svdd",
    "LinearSVC": "liblinear cd",
    "LinearSVCCV": "liblinear",
    "LinearSVR": "liblinear",
    "OneClassSVM": "one_class",
    "OneClassSVMCV": "one_class",
    "LinearOneClassSVM": "one_class",
    "CountErrorsSVC": "svm",
    "Perceptron": "perceptron",
    "separability": "farkas",
    "KernelPCA": "pca",
    "KernelDiscriminantAnalysis": "kda",
    "KernelKMeans": "kmeans",
    "KernelKNeighborsClassifier": "kernels",
    "KernelKNeighborsRegressor": "kernels",
    "KernelRidge": "ridge",
    "KernelRidgeCV": "ridge",
    "BasisRegression": "ridge",
    "mmd_test": "mmd",
    "Nystroem": "nystroem",
    "StreamingKernelSVC": "nystroem",
    "NystroemSVC": "nystroem",
    "NystroemSVR": "nystroem",
    "NystroemRidge": "nystroem",
    "RandomFeatures": "fourier",
    "kernels.Spectrum": "spectrum",
    "kernels.Mismatch": "mismatch",
    "kernels.Subsequence": "strings",
    "kernels.WeightedDegree": "degree",
    "kernels.Matern": "processes",
    "kernels.RationalQuadratic": "processes",
    "kernels.Periodic": "processes",
    "kernels.ArcCosine": "arc_cosine",
    "kernels.Tanimoto": "tanimoto",
    "kernels.HistogramIntersection": "histograms",
    "solvers.SMO": "platt smo",
    "solvers.ActiveSet": "smo",
    "solvers.CoordinateDescent": "cd",
    "solvers.CrammerSinger": "joint",
    "solvers.Pegasos": "pegasos",
    "svm.calibration.fit_sigmoid": "platt_scaling",
    "svm.calibration.couple": "coupling",
    "class_margins": "joint",
    "counterfactual": "counterfactual",
    "robustness": "guarantees robust",
    "shapley_values": "games multilinear shap rkhs_shap",
    "compress": "reduced_set",
    "compare_map_and_kernel": "maps",
    "convert_regularization": "pegasos",
    "margin_report": "svm",
    "io.read_libsvm_model": "libsvm",
    "io.write_libsvm_model": "libsvm",
    "io.read_svmlight": "libsvm",
    "io.write_svmlight": "libsvm",
    "invariances.shifts": "virtual",
    "invariances.rotations": "virtual",
    "invariances.scalings": "virtual",
    "invariances.shears": "virtual",
    "invariances.thickness": "virtual",
    "digits.wilson_interval": "wilson",
}
BY_MODULE = {"kernels": "kernels", "problems": "svm", "large_scale.dask": "nystroem", "solvers": "barrier"}


def relatives(name: str, names: list[str]) -> list[str]:
    """The public names that a reader of this one may want, the nearest first."""
    found: list[str] = []
    for group in sorted(GROUPS, key=lambda group: group.split()[0] != name):
        members = group.split()
        if name in members:
            found += [member for member in members if member != name and member not in found]
    if not found:
        module = name.rpartition(".")[0]
        siblings = [other for other in names if other.rpartition(".")[0] == module]
        at = siblings.index(name)
        found = sorted(
            (other for other in siblings if other != name), key=lambda other: abs(siblings.index(other) - at)
        )
    return [member for member in found if member in names][:MAX_RELATIVES]


def papers(name: str) -> list[str]:
    """Where the method comes from."""
    module = name.rpartition(".")[0]
    keys = REFERENCES.get(name, BY_MODULE.get(module, "")).split()
    return [PAPERS[key] for key in keys]


def _summary(value: Any) -> str:
    first = " ".join(inspect.cleandoc(value.__doc__ or "").partition("\n\n")[0].split())
    return re.sub(r":\w+:`~?([^`]+)`", r"``\1``", first)  # a role would need the other name's module


def add_sections(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Append the two sections to the docstring of a public name."""
    known = {id(value): key for key, value in _documented().items()}
    full = known.get(id(obj))
    if full is None or not name.endswith(full.rpartition(".")[2]):
        return
    short = full.removeprefix("maxmargin.")
    lines += ["", "See Also", "--------"]
    names = [key.removeprefix("maxmargin.") for key in _documented()]
    for relative in relatives(short, names):
        value = _documented()[f"maxmargin.{relative}"]
        lines.append(f"maxmargin.{relative} : {'by name' if isinstance(value, dict) else _summary(value)}")
    if papers(short):
        lines += ["", "References", "----------", *(f"* {paper}" for paper in papers(short)), ""]


def _documented() -> dict[str, Any]:
    if not _CACHE:
        _CACHE.update(reference_pages.documented())
    return _CACHE


_CACHE: dict[str, Any] = {}


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", add_sections, priority=50)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
