"""A recorded run: one file that plays by itself, and holds its data safely."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import numpy as np
import pytest

from maxmargin.lab.bundle import page
from maxmargin.lab.recording import recording
from maxmargin.lab.requests import RequestError
from maxmargin.lab.traces import trace

POINTS = [[x, y, int(x + y > 0)] for x, y in np.random.default_rng(0).normal(size=(12, 2)).tolist()]


def test_a_recording_stands_alone():
    state = {"points": POINTS, "kernel": {"name": "rbf", "gamma": "scale"}, "C": 1, "solver": "smo"}
    answer = recording({"tab": "step", "state": state, "title": "A & <b>"})
    text = answer["html"]
    assert "<title>A &amp; &lt;b&gt;</title>" in text
    for outside in ("https://", "src=", "@import", " url(", " import("):
        assert outside not in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    assert set(re.findall(r"http://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    (run,) = json.loads(text.split('id="data">')[1].split("</script>")[0])["runs"]
    assert run["answer"]["frames"] == trace(state)["frames"]
    X = np.array(POINTS)[:, :2]
    assert run["request"]["kernel"] == {"name": "rbf", "gamma": pytest.approx(1 / (2 * X.var()))}


def test_both_solvers_and_the_classes_are_recorded():
    state = {"points": POINTS, "kernel": {"name": "linear"}, "C": 1, "solver": "smo", "second": "pegasos"}
    answer = recording({"tab": "step", "state": state})
    runs = json.loads(answer["html"].split('id="data">')[1].split("</script>")[0])["runs"]
    assert [run["answer"]["solver"] for run in runs] == ["smo", "pegasos"]
    assert answer["name"] == "maxmargin-smo-pegasos.html"
    assert runs[0]["request"]["points"] == POINTS


def test_data_cannot_leave_its_element():
    hostile = "</script><script>alert(1)</script><!-- \u2028 {{title}} &"
    text = page(hostile, "", "js/dom.js", {"note": hostile})
    assert "alert(1)</script>" not in text
    assert json.loads(text.split('id="data">')[1].split("</script>")[0]) == {"note": hostile}


def test_the_policy_names_the_script_by_its_hash():
    text = page("t", "", "js/dom.js", {})
    code = text.split("<script>")[1].split("</script>")[0]
    assert base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() in text
    assert "unsafe-inline" not in text


@pytest.mark.parametrize(
    ("change", "field"),
    [({"tab": "lift"}, "tab"), ({"title": 5}, "title"), ({"title": "x" * 200}, "title"), ({"state": 3}, "state")],
    ids=lambda value: str(value)[:50],
)
def test_a_recording_refuses(change, field):
    request = {"tab": "step", "state": {"points": [[0, 0, 0], [1, 1, 1]]}, **change}
    with pytest.raises(RequestError) as caught:
        recording(request)
    assert caught.value.field == field
