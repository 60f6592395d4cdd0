"""The keys of ``--json`` are those that ``docs/command-line.md`` promises."""

import re
from pathlib import Path

import numpy as np
import pytest
from command_runner import call, found
from PIL import Image
from sklearn.datasets import load_digits

from maxmargin.cli import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8").partition("## JSON")[2]


def promised(row):
    """The keys of a row of the table, and those of their parts, which stand in brackets behind them."""
    _, _, line = PAGE.partition(f"\n| {row} | ")
    text = line.partition(" |\n")[0]
    parts = {name: set(re.findall(r"`(\w+)`", inside)) for name, inside in re.findall(r"`(\w+)` \(([^)]*)\)", text)}
    return set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", text))), parts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{'xy'[int(a > 0)]},{a + b:.3f},{['no', 'yes'][int(b > 0)]}" for a, b in rng.normal(size=(80, 2))]
    (folder / "t.csv").write_text("\n".join(["a,word,sum,kind", *lines]))
    return folder


def test_train_and_tune(folder):
    keys, parts = promised("`train`, `tune`")
    result = found("train", folder / "t.csv", "--probabilities", "-o", folder / "t.mm")
    assert set(result) == keys
    assert set(result["columns"][0]) == parts["columns"]
    assert set(found("tune", folder / "t.csv", "--Cs", "1,10")) == keys | promised("`tune`")[0]


@pytest.mark.parametrize(("target", "row"), [("kind", "classes"), ("sum", "numbers"), (None, "outliers")])
def test_tests(folder, target, row):
    keys, _ = promised(f"`test`, `evaluate` of {row}")
    task = ["--target", target] if target else ["--task", "outliers"]
    assert set(found("train", folder / "t.csv", *task, "-o", folder / "m.mm")["test"]) == keys
    assert set(found("evaluate", folder / "m.mm", folder / "t.csv")) == keys | promised("`evaluate`")[0]


def test_predict_and_explain(folder):
    assert call("train", folder / "t.csv", "--probabilities", "-o", folder / "t.mm").exit_code == 0
    keys, _ = promised("`predict`")
    assert set(found("predict", folder / "t.mm", folder / "t.csv", "--values", "--probabilities")) == keys
    keys, parts = promised("`explain`")
    result = found("explain", folder / "t.mm", folder / "t.csv")
    assert set(result) == keys
    inner = parts["rows"]
    assert set(result["rows"][0]) | set(result["rows"][0]["effects"][0]) == inner


def test_the_other_commands(folder):
    assert call("train", folder / "t.csv", "-o", folder / "t.mm").exit_code == 0
    result = found("inspect", folder / "t.mm")
    assert set(result) == promised("`inspect`")[0]
    assert set(result["report"]) == promised("`report` of a fit")[0]
    assert set(found("plot", folder / "t.mm", folder / "t.csv", "-o", folder / "t.png")) == promised("`plot`")[0]
    assert set(found("convert", folder / "t.mm", folder / "again.mm")) == promised("`convert`")[0]
    assert set(found("doctor")) == promised("`doctor`")[0]
    keys, parts = promised("`digits`")
    Image.fromarray(255 - 16 * load_digits().images[0].astype(np.uint8).clip(0, 15)).save(folder / "zero.png")
    result = found("digits", folder / "zero.png")
    assert set(result) == keys
    assert set(result["pictures"][0]) == parts["pictures"]


def test_every_command_is_listed():
    described = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
    assert set(COMMANDS) <= described | {"lab", "serve", "completion"}
