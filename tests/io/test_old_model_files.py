"""Model files of format 1 as earlier versions wrote them are read, and predict what they did."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maxmargin.io import load

FOLDER = Path(__file__).parent / "format_1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())

X = np.array([[(7 * i * (j + 2) % 11) / 4 - j * (i % 3) for j in range(3)] for i in range(24)])
TEXTS = ["".join("abcd"[(i * i + j * (i + 1)) % 4] for j in range(6)) for i in range(24)]
TABLE = np.array([[1.0, "red", 2.0], [2.0, "blue", 1.0], [3.0, "red", 0.5], [4.0, "blue", 0.0]], dtype=object)
POINTS = {"svc_texts": TEXTS, "table_pipeline": TABLE}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_file_of_an_earlier_version(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # another version of scikit-learn, points without names
        model = load(FOLDER / f"{name}.mm")
        expected = dict(EXPECTED[name])
        if "repr" in expected:
            assert repr(model) == expected["repr"]
            return
        for method, values in expected.items():
            found = np.asarray(getattr(model, method)(POINTS.get(name, X)))
            if found.dtype.kind == "f":
                assert np.allclose(found, values, rtol=1e-12, atol=1e-12)
            else:
                assert found.tolist() == values


def test_an_earlier_table_keeps_the_names_of_its_columns():
    model = load(FOLDER / "table_pipeline.mm")
    frame = pd.DataFrame(TABLE, columns=["size", "colour", "weight"]).astype({"size": float, "weight": float})
    assert model.predict(frame).tolist() == EXPECTED["table_pipeline"]["predict"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["weight", "colour", "size"]])


def test_names_of_earlier_versions_become_the_present_ones():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert load(FOLDER / "svc.mm").report_.model.startswith("SVC, ")
        assert load(FOLDER / "svc.mm").history_.problem[0] == 0
        assert load(FOLDER / "linear_svc.mm").report_.model.startswith("LinearSVC, ")
        assert load(FOLDER / "nystroem_svc.mm").report_.model.startswith("NystroemSVC, ")
        assert list(load(FOLDER / "perceptron.mm").history_) == ["problem", "epoch", "mistakes", "errors", "objective"]


def test_the_fixtures_are_small():
    assert all(path.stat().st_size < 20_000 for path in FOLDER.iterdir())
