"""The text of a LIBSVM model, as data.

    svm_type c_svc            c_svc, nu_svc, one_class, epsilon_svr or nu_svr
    kernel_type rbf           linear, polynomial, rbf, sigmoid or precomputed
    degree, gamma, coef0      where the kernel has them
    nr_class 3                two for models that do not classify
    total_sv 5
    rho 0.1 -0.2 0.3          one per pair of classes
    label 1 2 3               in the order of the classes met first in training
    nr_sv 2 2 1
    SV
    0.5 0.5 1:0.25 4:-1       nr_class - 1 coefficients, then index:value of one support vector; 0:i if precomputed

The reader takes nothing on trust: each line is checked, and errors name it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import scipy.sparse as sp

from maxmargin.io._container import ModelFileError
from maxmargin.runtime.validation import Array

SVM_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
KERNELS = {  # and the parameters each must have
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}
IGNORED = ("probA", "probB", "prob_density_marks")
KNOWN = (
    "svm_type",
    "kernel_type",
    "degree",
    "gamma",
    "coef0",
    "nr_class",
    "total_sv",
    "rho",
    "label",
    "nr_sv",
    *IGNORED,
)
INT_MAX = 2**31 - 1


@dataclass
class LibsvmModel:
    """A model as LIBSVM writes it down; ``coefficients`` is (total_sv, nr_class - 1)."""

    svm_type: str
    kernel_type: str
    rho: Array
    coefficients: Array
    vectors: sp.csr_matrix
    label: list[int] | None = None
    nr_sv: list[int] | None = None
    serial: Array | None = None
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0
    nr_class: int = 2
    ignored: list[str] = field(default_factory=list)

    @property
    def classifies(self) -> bool:
        return self.svm_type in ("c_svc", "nu_svc")


class Reader:
    """Goes through the lines and knows which one it is at."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.number = name, 0
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()

    def refuse(self, cause: str) -> NoReturn:
        raise ModelFileError(f"{self.name}, line {self.number}: {cause}")

    def __iter__(self) -> Iterator[list[str]]:
        for number in range(self.number, len(self.lines)):
            self.number = number + 1
            yield self.lines[number].split()

    def number_of(self, word: str, what: str) -> float:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in word:
            self.refuse(f"{what} must be a finite number; got {word[:40]!r}.")
        return value

    def integer_of(self, word: str, what: str, least: int = -INT_MAX - 1, most: int = INT_MAX) -> int:
        digits = word[1:] if word[:1] in ("-", "+") else word
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 12 and least <= int(word) <= most):
            self.refuse(f"{what} must be an integer from {least} to {most}; got {word[:40]!r}.")
        return int(word)


def parse(name: str, text: str) -> LibsvmModel:
    """Read the text of a model; ``name`` is the file's, for errors."""
    reader = Reader(name, text)
    found = _header(reader)
    total = int(found["total_sv"][0])
    model = _described(reader, found)
    left = len(reader.lines) - reader.number
    if left != total:
        reader.refuse(f"total_sv is {total}, and {left} lines follow SV.")
    model.coefficients = np.empty((total, model.nr_class - 1))
    serial = np.zeros(total, np.int64)
    indptr, indices, values = [0], [], []
    for row, words in enumerate(reader):
        if len(words) < model.nr_class - 1:
            reader.refuse(
                f"a support vector of {model.nr_class} classes begins with {model.nr_class - 1} coefficients."
            )
        for k, word in enumerate(words[: model.nr_class - 1]):
            model.coefficients[row, k] = reader.number_of(word, "a coefficient")
        entries = words[model.nr_class - 1 :]
        if model.kernel_type == "precomputed":
            if len(entries) != 1 or not entries[0].startswith("0:"):
                reader.refuse("with a precomputed kernel a support vector is 0:number.")
            whole = reader.number_of(entries[0][2:], "the number of a support vector")
            if not 1 <= whole <= INT_MAX or whole != int(whole):
                reader.refuse(f"training points are numbered 1, 2, ...; got {entries[0][:40]!r}.")
            serial[row] = int(whole)
            continue
        last = 0
        for entry in entries:
            index, colon, value = entry.partition(":")
            if not colon:
                reader.refuse(f"a feature is written index:value; got {entry[:40]!r}.")
            place = reader.integer_of(index, "an index", least=1)
            if place <= last:
                reader.refuse(f"indices must rise; got {place} after {last}.")
            last = place
            indices.append(place - 1)
            values.append(reader.number_of(value, "a value"))
        indptr.append(len(indices))
    if model.kernel_type == "precomputed":
        model.serial = serial
    else:
        columns = max(indices, default=0) + 1
        model.vectors = sp.csr_matrix((np.array(values, float), np.array(indices, np.int32), indptr), (total, columns))
        model.vectors.eliminate_zeros()
    return model


def _header(reader: Reader) -> dict[str, list[str]]:
    """The lines before SV, by their first word."""
    found: dict[str, list[str]] = {}
    for words in reader:
        if not words:
            reader.refuse("the line is empty.")
        key, *rest = words
        if key == "SV" and not rest:
            break
        if key not in KNOWN:
            reader.refuse(f"{key[:40]!r} is not an entry of a LIBSVM model; these are {', '.join(KNOWN)}, SV.")
        if key in found:
            reader.refuse(f"{key} occurs twice.")
        if key in ("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv") and len(rest) != 1:
            reader.refuse(f"{key} needs one value; got {len(rest)}.")
        found[key] = rest
        _check_value(reader, key, rest)
    else:
        reader.number = max(reader.number, 1)
        reader.refuse("the file ends before its line SV.")
    for key in ("svm_type", "kernel_type", "nr_class", "total_sv", "rho"):
        if key not in found:
            reader.refuse(f"there is no line {key} before SV.")
    return found


def _check_value(reader: Reader, key: str, rest: list[str]) -> None:
    """Refuse a value where it stands, so that the error can name the line."""
    if key == "svm_type" and rest[0] not in SVM_TYPES:
        reader.refuse(f"svm_type is {rest[0][:40]!r}; known are {', '.join(SVM_TYPES)}.")
    if key == "kernel_type" and rest[0] not in KERNELS:
        reader.refuse(f"kernel_type is {rest[0][:40]!r}; known are {', '.join(KERNELS)}.")
    if key in ("degree", "total_sv"):
        reader.integer_of(rest[0], key, least=0)
    if key == "nr_class":
        reader.integer_of(rest[0], key, least=1, most=100_000)
    if key in ("gamma", "coef0", "rho"):
        for word in rest:
            reader.number_of(word, key)
    if key == "label" and len({reader.integer_of(word, "a label") for word in rest}) != len(rest):
        reader.refuse("a label occurs twice.")
    if key == "nr_sv":
        for word in rest:
            reader.integer_of(word, "nr_sv", least=0)


def _described(reader: Reader, found: dict[str, list[str]]) -> LibsvmModel:
    """The header as a model without support vectors; lists have the lengths that nr_class requires."""
    svm_type, kernel_type = found["svm_type"][0], found["kernel_type"][0]
    k, total = int(found["nr_class"][0]), int(found["total_sv"][0])
    for key in KERNELS[kernel_type]:
        if key not in found:
            reader.refuse(f"the kernel {kernel_type} needs a line {key}.")
    classifies = svm_type in ("c_svc", "nu_svc")
    if classifies and k < 2:
        reader.refuse("nr_class is 1: the model has a single class, so there is nothing to classify.")
    if not classifies and k != 2:
        reader.refuse(f"{svm_type} has nr_class 2; got {k}.")
    pairs = k * (k - 1) // 2
    if len(found["rho"]) != pairs:
        reader.refuse(f"rho needs {pairs} values for {k} classes; got {len(found['rho'])}.")
    if classifies:
        for key in ("label", "nr_sv"):
            if len(found.get(key, [])) != k:
                reader.refuse(f"{key} needs {k} values; got {len(found.get(key, []))}.")
        if sum(int(word) for word in found["nr_sv"]) != total:
            reader.refuse(f"nr_sv does not add up to total_sv, {total}.")
    return LibsvmModel(
        svm_type=svm_type,
        kernel_type=kernel_type,
        rho=np.array([float(word) for word in found["rho"]]),
        coefficients=np.empty((0, 0)),
        vectors=sp.csr_matrix((0, 0)),
        label=[int(word) for word in found["label"]] if classifies else None,
        nr_sv=[int(word) for word in found["nr_sv"]] if classifies else None,
        degree=int(found.get("degree", ["3"])[0]),
        gamma=float(found.get("gamma", ["0"])[0]),
        coef0=float(found.get("coef0", ["0"])[0]),
        nr_class=k,
        ignored=[key for key in IGNORED if key in found],
    )


def write(model: LibsvmModel) -> Iterator[bytes]:
    """The lines of a model; numbers have all the digits needed to restore them."""
    head = [f"svm_type {model.svm_type}", f"kernel_type {model.kernel_type}"]
    head += [f"{key} {getattr(model, key)!r}" for key in KERNELS[model.kernel_type]]
    head += [f"nr_class {model.nr_class}", f"total_sv {len(model.coefficients)}"]
    head.append("rho " + " ".join(map(repr, model.rho.tolist())))
    if model.label is not None and model.nr_sv is not None:
        head += ["label " + " ".join(map(str, model.label)), "nr_sv " + " ".join(map(str, model.nr_sv))]
    yield ("\n".join([*head, "SV"]) + "\n").encode()
    vectors = model.vectors
    for row, coefficients in enumerate(model.coefficients.tolist()):
        words = [repr(value) for value in coefficients]
        if model.serial is not None:
            words.append(f"0:{model.serial[row]}")
        else:
            entries = slice(vectors.indptr[row], vectors.indptr[row + 1])
            pairs = zip(vectors.indices[entries].tolist(), vectors.data[entries].tolist(), strict=True)
            words += [f"{index + 1}:{value!r}" for index, value in pairs]
        yield (" ".join(words) + " \n").encode()
