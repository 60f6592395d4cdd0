"""The script of a state of the lab prints the numbers of the comment window and computes the same model."""

from __future__ import annotations

import base64
import subprocess
import sys

import numpy as np
import pytest

from maxmargin.lab.classify import classify
from maxmargin.lab.jobs import Run
from maxmargin.lab.presets import presets
from maxmargin.lab.requests import RequestError
from maxmargin.lab.script import PICTURE, script

pytest.importorskip("matplotlib")

THREE = next(preset["points"] for preset in presets() if preset["id"] == "three")
MEETING = [[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]]
STATES = {
    **{preset["id"]: preset for preset in presets()},
    "default": {"points": [[0.1, 0.2, 0], [1 / 3, 2 / 3, 1]]},
    "ovr": {"points": THREE, "multiclass": "ovr", "kernel": {"name": "laplacian", "gamma": 2}, "C": 3},
    "joint": {"points": THREE, "multiclass": "crammer_singer", "C": 3},
    "joint, two classes": {"points": MEETING, "multiclass": "crammer_singer", "C": 3},
    "inseparable": {"points": MEETING, "kernel": {"name": "linear"}, "C": "inf"},
    "smo": {"points": MEETING, "kernel": {"name": "rbf", "gamma": "scale"}, "solver": "smo"},
    "sigmoid": {"points": THREE, "kernel": {"name": "sigmoid", "gamma": 0.5, "coef0": -1}},
}


def text_of(state):
    return script({"tab": "classify", "state": state}, Run())["script"]


@pytest.mark.parametrize("name", STATES)
def test_the_script_shows_what_the_page_shows(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    state = {**STATES[name], "grid": [9, 7], "view": {"x0": -1, "x1": 1, "y0": -1, "y1": 1}}
    names = {}
    exec(compile(text_of(state), "script.py", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    answer = classify(state, Run())
    for line in answer["comment"]:
        if not line.startswith("seconds"):
            assert line in printed
    model = names["model"]
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 7)), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(
        model.predict(grid), np.frombuffer(base64.b64decode(answer["labels"]), np.uint8).astype(int)
    )
    shown = np.frombuffer(base64.b64decode(answer["values"]), "<f4").reshape(-1, len(grid)).T
    values = model.decision_function(grid)
    np.testing.assert_array_equal(values.reshape(len(grid), -1).astype("<f4"), shown)
    assert (tmp_path / PICTURE).read_bytes().startswith(b"\x89PNG")
    if name == "inseparable":
        assert any(line.startswith("proof") for line in printed)


def test_it_runs_as_a_file_of_its_own(tmp_path):
    (tmp_path / "lab.py").write_text(text_of(STATES["separable"]), encoding="utf-8")
    done = subprocess.run([sys.executable, "lab.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == f"wrote {PICTURE}"


def test_numbers_are_written_in_full():
    points = np.random.default_rng(0).normal(size=(20, 2)).tolist()
    names = {}
    code = text_of({"points": [[x, y, i % 2] for i, (x, y) in enumerate(points)]})
    exec(code.split("model =")[0], names)
    np.testing.assert_array_equal(names["X"], points)


def test_nothing_foreign_gets_into_a_script():
    """Names come from lists and numbers from numbers: text of a request never reaches the code."""
    bad = '"); import os; print("'
    for state in (
        {"kernel": {"name": bad}},
        {"solver": bad},
        {"C": bad},
        {"kernel": {"gamma": bad}},
        {"multiclass": bad},
    ):
        with pytest.raises(RequestError):
            text_of({"points": MEETING, **state})
    with pytest.raises(RequestError):
        text_of({"points": [[0, bad, 0], [1, 1, 1]]})


def test_refusals():
    with pytest.raises(RequestError, match="place points of two classes"):
        text_of({"points": [[0, 0, 0]]})
    with pytest.raises(RequestError) as error:
        script({"tab": "sing", "state": {}}, Run())
    assert error.value.field == "tab"
    with pytest.raises(RequestError, match="object"):
        script({"tab": "classify", "state": [1]}, Run())
