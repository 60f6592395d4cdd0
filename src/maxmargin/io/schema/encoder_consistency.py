"""Whether the stored parts of a TableEncoder belong together, and what is made again when one is loaded."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from maxmargin.data.forms import form_parts, is_form
from maxmargin.io._tree import Allowance
from maxmargin.io.schema.consistency import Values, require
from maxmargin.io.schema.words import Lengths, all_rising


def table_encoder(parameters: Values, state: Values, lengths: Lengths) -> None:
    """TableEncoder: for each column its form and its sorted categories or terms, or nothing; for each number a fill."""
    categories, forms = state["categories_"], parameters.get("forms")
    require(lengths.get("d") == len(categories), "categories_ do not suit the columns")
    for part in categories:
        if part is not None:
            require(_are_words(part) and len(part), "categories_ are no texts in order")
    for name, what in (("columns", "names"), ("forms", "forms")):
        listed = parameters.get(name)
        held = listed is None or (isinstance(listed, (list, tuple)) and len(listed) == len(categories))
        require(held and all(isinstance(word, str) for word in listed or ()), f"{name} are no {what} of the columns")
    require(isinstance(parameters.get("target"), str | None), "target is no name")
    require(forms is None or all(map(is_form, forms)), "a form is unknown")
    kinds = ["category" if part is not None else "number" for part in categories] if forms is None else forms
    worded = [kind == "text" or kind.startswith("category") for kind in kinds]
    require(worded == [part is not None for part in categories], "categories_ do not suit the forms")
    require("rare_" in state or (forms is None and not parameters.get("scale")), "rare_ is missing")
    if "rare_" not in state:  # written by the first version
        return
    require(all(name in state for name in ENCODER_STATE), "what becomes of numbers is missing")
    numbers = sum(len(form_parts(kind)) for kind, words in zip(kinds, worded, strict=True) if not words)
    require(len(state["fill_"]) == numbers and (state["spread_"] > 0).all(), "fills do not suit the columns")
    indicated = state["indicated_"]
    require(
        not len(indicated) or (all_rising(indicated) and indicated[0] >= 0 and indicated[-1] < numbers),
        "a fill is none",
    )
    for name in ("rare_", "idf_", "fill_categories_"):
        require(len(state[name]) == len(categories), f"{name} does not suit the columns")
    for kind, part, rare, idf, fill in zip(
        kinds, categories, state["rare_"], state["idf_"], state["fill_categories_"], strict=True
    ):
        isword = kind.startswith("category")
        require((rare is None) == (not isword), "rare_ does not suit the forms")
        few = rare is None or (_are_words(rare) and set(rare.tolist()) < set(part.tolist()))
        require(few, "rare_ are no categories")
        weights = isinstance(idf, np.ndarray) and idf.dtype == np.float64 and bool(np.isfinite(idf).all())
        require(weights and idf.shape == part.shape if kind == "text" else idf is None, "idf_ does not suit the terms")
        require(fill is None or (isword and isinstance(fill, str)), "fill_categories_ are no categories")


ENCODER_STATE = ("idf_", "fill_categories_", "fill_", "center_", "spread_", "indicated_")


def _are_words(part: Any) -> bool:
    """Whether this is a list of texts in order."""
    if not isinstance(part, np.ndarray) or part.ndim != 1 or not all(isinstance(word, str) for word in part):
        return False
    return all(a < b for a, b in itertools.pairwise(part))


def prepare_encoder(encoder: Any, allowance: Allowance) -> None:
    """Earlier versions stored the names of the columns of an array as a parameter only, and no fills; scikit-learn's
    encoder is made again from the categories."""
    if not hasattr(encoder, "categories_"):
        return
    if encoder.columns is not None and not hasattr(encoder, "feature_names_in_"):
        encoder.feature_names_in_ = np.array(list(encoder.columns), dtype=object)
    if not hasattr(encoder, "rare_"):
        encoder.rare_ = [None if part is None else np.empty(0, object) for part in encoder.categories_]
    if any(part is not None and len(part) for part in encoder.rare_):  # a table of two rows for each category
        widest = max(len(part) for part in encoder.categories_ if part is not None)
        allowance.take(2 * widest * len(encoder.categories_), 8)
    encoder._make_one_hot()
