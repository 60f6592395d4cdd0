"""The benchmark of the calibration: a tiny run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import calibration


def test_a_tiny_run_has_every_figure(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    np.savez(tmp_path / "spambase.npz", X=rng.normal(size=(160, 4)) + y[:, None], y=y)
    works = [calibration.Work("spambase", 100, 60, seen=False), calibration.Work("letter", 100, 60)]
    before, calibration.WORKS[:] = list(calibration.WORKS), works
    try:
        out = tmp_path / "out.json"
        assert calibration.main(["--data", str(tmp_path), "--quick", "--json", str(out)]) == 0
    finally:
        calibration.WORKS[:] = before
    text = capsys.readouterr()
    assert "| spambase | 100 | 100 |" in text.out
    assert "skipped letter *" in text.err
    (result,) = json.loads(out.read_text())
    assert all(result[name] > 0 for name in ("plain", "calibrated", "own_peer", "peer"))
    assert all(0 < result[name] < 1 for name in ("loss", "own_peer_loss", "peer_loss"))
