"""A graph of ONNX operators, written one operator at a time.

A node takes names of tensors and gives a name to its result, so that a formula reads as it would in NumPy:

    D = graph.add("Sub", "X", mean)        D = X - mean;  the array becomes a constant of the graph
    P = graph.add("MatMul", D, B.T)        P = D B'

All numbers are double; the operators are those of opset 17, which runtimes know since 2022. One thing is never written:
a matrix product whose factor or result is multiplied by a single constant. onnxruntime merges the two, and the factor
of the merged operator is a float32. The constant goes into a matrix that is one, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.column_encodings import MISSING, split_rare
from maxmargin.data.forms import GAPS, form_parts
from maxmargin.data.table_encoder import TableEncoder
from maxmargin.io._container import ModelFileError
from maxmargin.runtime.validation import Array

OPSETS = {"": 17, "ai.onnx.ml": 3, "com.microsoft": 1}
IR_VERSION = 8
MESSAGE_MAX_BYTES = 2**31 - 2**16  # bytes of a protobuf message, less room for the nodes


def onnx_library() -> Any:
    """The package onnx, or an error that says how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError('to_onnx needs onnx: pip install "maxmargin[onnx]"') from error
    return onnx


class Graph:
    """Nodes and constants of a graph, in the order they were added."""

    def __init__(self, prefix: str = "") -> None:
        self.onnx = onnx_library()
        self.prefix = prefix  # names are unique in all of a model
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.size = 0

    def constant(self, value: Any) -> str:
        """The name of a constant tensor."""
        array = np.asarray(value, order="C")
        self.size += array.nbytes
        if self.size > MESSAGE_MAX_BYTES:
            raise ModelFileError(
                f"The model takes {self.size / 1e9:.1f} GB and more, and ONNX files hold 2: use maxmargin.save, or a "
                "model of fewer support vectors."
            )
        name = f"{self.prefix}c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: Any, result: str | None = None, **attributes: Any) -> str:
        """The name of an operator's result; inputs are names of tensors, or numbers and arrays."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        name = f"{self.prefix}t{len(self.nodes)}" if result is None else result
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], **attributes))
        return name

    def row_sums(self, X: str) -> str:
        """The sum of each row, as a column."""
        return self.add("ReduceSum", X, np.array([1]), keepdims=1)

    def times(self, X: str, factors: Array) -> str:
        """X with each column multiplied by a number."""
        return self.add("MatMul", X, factors[:, None]) if len(factors) == 1 else self.add("Mul", X, factors)

    def sum_over_columns(self, X: str, B: Array, term: Any) -> str:
        """The matrix sum_k term(x_ik, b_jk). ``term(graph, a, b)`` adds the operators of one coordinate, a column
        against a row.

        A Scan goes through the coordinates: an array of all differences, rows times points times coordinates, would be
        as many times larger than the result as there are coordinates."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        start = self.add("MatMul", X, np.zeros((B.shape[1], len(B))))
        body = Graph(f"{start}_")
        before, x, b, after = (body.prefix + name for name in ("before", "x", "b", "after"))
        body.add("Add", before, term(body, body.add("Unsqueeze", x, np.array([1])), b), result=after)
        scanned = helper.make_graph(
            body.nodes,
            "coordinate",
            [
                helper.make_tensor_value_info(before, double, ["n", len(B)]),
                helper.make_tensor_value_info(x, double, ["n"]),
                helper.make_tensor_value_info(b, double, [len(B)]),
            ],
            [helper.make_tensor_value_info(after, double, ["n", len(B)])],
            body.constants,
        )
        return self.add("Scan", start, self.add("Transpose", X, perm=[1, 0]), B.T, num_scan_inputs=2, body=scanned)

    def model(self, inputs: list[Any], outputs: list[Any], **about: str) -> bytes:
        """The finished model of described inputs and outputs."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "maxmargin", inputs, outputs, self.constants)
        from maxmargin import __version__

        domains = {"", "ai.onnx.ml", *(node.domain for node in self.nodes)}
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(domain, OPSETS[domain]) for domain in sorted(domains)],
            ir_version=IR_VERSION,
            producer_name="maxmargin",
            producer_version=__version__,
        )
        helper.set_model_props(model, about)
        self.onnx.checker.check_model(model, full_check=True)
        written: bytes = model.SerializeToString()
        return written

    def input(self, name: str, kind: int, n_columns: int) -> Any:
        """The description of an input: a matrix with any number of rows."""
        return self.onnx.helper.make_tensor_value_info(name, kind, ["n", n_columns])

    def output(self, name: str, kind: int, n_columns: int | None) -> Any:
        """The description of an output with a row, or where there are no columns a number, for each row of X."""
        shape = ["n"] if n_columns is None else ["n", n_columns]
        return self.onnx.helper.make_tensor_value_info(name, kind, shape)


def encoded(graph: Graph, encoder: TableEncoder, inputs: list[Any]) -> tuple[str, list[Any]]:
    """The encoder's outputs, and the inputs of the model."""
    forms = encoder.forms or ["number" if part is None else "category" for part in encoder.categories_]
    if all(part is None for part in encoder.categories_) and all(len(form_parts(form)) == 1 for form in forms):
        return _numbers(graph, encoder, "X", slice(None)), inputs
    types, described, columns, at = graph.onnx.TensorProto, [], [], 0
    gaps: list[str] = []
    for j, (name, form) in enumerate(zip(encoder._names(), forms, strict=True)):
        if encoder.categories_[j] is not None:
            described.append(graph.input(name, types.STRING, 1))
            columns.append((_tf_idf if form == "text" else _one_hot)(graph, encoder, j, name, form))
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


def _tf_idf(graph: Graph, encoder: TableEncoder, j: int, x: str, form: str) -> str:
    """(1 + log count) idf of each term, at length 1. onnxruntime has an operator that finds words; ONNX has none.

    Lower case depends on the locale of the computer; "C" exists on each, and suffices for terms of English letters."""
    terms, idf = encoder.categories_[j], encoder.idf_[j]
    assert terms is not None
    locale = "C" if all(term.isascii() for term in terms) else "C.UTF-8"
    texts = graph.add("Squeeze", x, np.array([1]))
    words = graph.add(
        "Tokenizer",
        graph.add("StringNormalizer", texts, case_change_action="LOWER", locale=locale),
        domain="com.microsoft",
        mark=0,
        mincharnum=2,
        pad_value="",
        tokenexp=r"[\pL\pN_]+",
    )
    counts = graph.add(
        "TfIdfVectorizer",
        words,
        mode="TF",
        min_gram_length=1,
        max_gram_length=1,
        max_skip_count=0,
        ngram_counts=[0],
        ngram_indexes=list(range(len(terms))),
        pool_strings=terms.tolist(),
    )
    counts = graph.add("Cast", counts, to=graph.onnx.TensorProto.DOUBLE)
    weights = graph.add("Add", graph.add("Log", graph.add("Max", counts, 1.0)), graph.add("Min", counts, 1.0))
    weights = graph.times(weights, np.asarray(idf, np.float64))
    length = graph.add("Sqrt", graph.row_sums(graph.add("Mul", weights, weights)))
    return graph.add("Div", weights, graph.add("Max", length, 1.0))  # every idf is at least 1


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
