"""The coverage page keeps its word: what it names can be called, the tests and the pictures exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "coverage.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if re.match(r"\| \d", line)]
ITEMS = {"1": 5, "2": 5, "3": 11, "4": 6, "5": 3, "6": 4, "7": 3, "8": 3, "9": 4}


def test_no_item_is_missing():
    found = [row[0].split()[0] for row in ROWS]
    assert found == [f"{part}.{k}" for part, count in ITEMS.items() for k in range(1, count + 1)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].split()[0])
def test_the_names_can_be_called(row):
    for code in re.findall(r"`([^`]+)`", row[1]):
        found = re.match(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", code)
        name = found.group().split(".")[0] if found else ""
        if name not in maxmargin.__all__:  # an attribute of fitted machines, an expression, or a shell command
            assert code.startswith(("maxmargin ", "k1", "2 * k", "C ", "solver=", "fit_")) or code.split(".")[
                0
            ].endswith("_")
            continue
        value = maxmargin
        for part in found.group().split("."):
            if hasattr(value, part):
                value = getattr(value, part)
            elif value is maxmargin:
                value = importlib.import_module(f"maxmargin.{part}")
            else:
                assert part in getattr(value, "__annotations__", {}), f"{code}: there is no {part}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].split()[0])
def test_tests_and_pictures_exist(row):
    tests = re.findall(r"`([^`]+)`", row[2])
    assert tests
    for name in tests:
        assert list((ROOT / "tests").rglob(name)), name
    for name in re.findall(r"`([^`]+)`", row[3]):
        assert (ROOT / "examples" / f"{name}.py").exists(), name


def test_every_picture_is_on_the_page():
    for path in (ROOT / "examples").glob("plot_*.py"):
        assert f"`{path.stem}`" in PAGE, path.stem
