"""The benchmark of the search: a tiny run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import tuning


def test_a_tiny_run_compares_every_score(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    np.savez(tmp_path / "usps.npz", X_train=rng.normal(size=(90, 4)) + 2 * np.eye(3, 4)[y], y_train=y)
    out = tmp_path / "out.json"
    options = ["--data", str(tmp_path), "--only", "usps", "letter", "--jobs", "1", "--folds", "2", "--repeats", "1"]
    assert tuning.main([*options, "--json", str(out)]) == 0
    text = capsys.readouterr()
    assert "| usps | 90 | 3 |" in text.out
    assert "skipped letter" in text.err
    (result,) = json.loads(out.read_text())
    assert result["apart"] <= 2
    assert result["ties"]
    assert result["ratio"] == result["peer"] / result["mine"]
