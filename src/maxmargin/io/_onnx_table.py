"""A TableEncoder in ONNX operators.

    number      where(isnan(x), fill, x), then (x - center) / spread
    category    the position of the word's output, found by ONNX-ML's LabelEncoder, compared with 0, 1, ..., m - 1

Numbers alone come as one matrix X; with categories each column is an input of its own, since a matrix has one type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.column_encodings import MISSING, split_rare
from maxmargin.data.forms import GAPS, form_parts
from maxmargin.data.table_encoder import TableEncoder
from maxmargin.io._errors import ModelFileError
from maxmargin.io._onnx_graph import Graph


def encoded(graph: Graph, encoder: TableEncoder, inputs: list[Any]) -> tuple[str, list[Any]]:
    """The encoder's outputs, and the inputs of the model."""
    forms = encoder.forms or ["number" if part is None else "category" for part in encoder.categories_]
    if "text" in forms:
        raise ModelFileError(
            f"The words of the column {encoder._names()[forms.index('text')]!r} (TF-IDF) have no form in ONNX "
            "operators: leave the column out."
        )
    if all(part is None for part in encoder.categories_) and all(len(form_parts(form)) == 1 for form in forms):
        return _numbers(graph, encoder, "X", slice(None)), inputs
    types, described, columns, at = graph.onnx.TensorProto, [], [], 0
    gaps: list[str] = []
    for j, (name, form) in enumerate(zip(encoder._names(), forms, strict=True)):
        if encoder.categories_[j] is not None:
            described.append(graph.input(name, types.STRING, 1))
            columns.append(_one_hot(graph, encoder, j, name, form))
            continue
        for part in form_parts(form):
            described.append(graph.input(name + part, types.DOUBLE, 1))
            if at in getattr(encoder, "indicated_", ()):
                gaps.append(_is_missing(graph, name + part))
            columns.append(_filled(graph, encoder, name + part, slice(at, at + 1)))
            at += 1
    return graph.add("Concat", *columns, *gaps, axis=1), described


def _numbers(graph: Graph, encoder: TableEncoder, X: str, at: slice) -> str:
    """A matrix of numbers, with a column for each that was missing in training, if those are to be indicated."""
    indicated = getattr(encoder, "indicated_", np.empty(0, np.int64))
    filled = _filled(graph, encoder, X, at)
    if not len(indicated):
        return filled
    gaps = _is_missing(graph, graph.add("Gather", X, indicated.astype(np.int64), axis=1))
    return graph.add("Concat", filled, gaps, axis=1)


def _is_missing(graph: Graph, x: str) -> str:
    return graph.add("Cast", graph.add("IsNaN", x), to=graph.onnx.TensorProto.DOUBLE)


def _filled(graph: Graph, encoder: TableEncoder, x: str, at: slice) -> str:
    if encoder.forms is None and encoder.missing == "refuse" and not encoder.scale:
        return x
    x = graph.add("Where", graph.add("IsNaN", x), encoder.fill_[at], x)
    return graph.times(graph.add("Sub", x, encoder.center_[at]), 1.0 / encoder.spread_[at])


def _one_hot(graph: Graph, encoder: TableEncoder, j: int, x: str, form: str) -> str:
    categories, rare = encoder.categories_[j], encoder.rare_[j]
    assert categories is not None
    kept, shared = split_rare(categories, rare)
    place = {word: k for k, word in enumerate(kept)}
    other = len(place) if shared else -1
    place |= dict.fromkeys(shared, other)
    width = len(set(place.values()))
    missing = place.get(encoder.fill_categories_[j] or "" if encoder.missing == "mode" else MISSING, other)
    if encoder.missing != "refuse":
        spellings = {s for word in GAPS for s in (word, word.upper())} | ({"NA", "na"} if form == "category" else set())
        place |= {word: missing for word in spellings if word not in place}
    codes = graph.add(
        "LabelEncoder",
        x,
        domain="ai.onnx.ml",
        keys_strings=list(place),
        values_int64s=list(place.values()),
        default_int64=other,
    )
    return graph.add("Cast", graph.add("Equal", codes, np.arange(width)[None, :]), to=graph.onnx.TensorProto.DOUBLE)
