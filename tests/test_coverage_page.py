"""The course's index keeps its word: what it names can be called, its lines run, the tests and the pictures exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "coverage.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| (\d+|M)\.", line)
]
ITEMS = {"1": 6, "2": 6, "3": 12, "4": 6, "5": 3, "6": 4, "7": 3, "8": 4, "9": 4, "10": 2, "11": 5, "M": 2}
NUMBERS = [row[0].split()[0] for row in ROWS]


def test_no_item_is_missing():
    assert [f"{part}.{k}" for part, count in ITEMS.items() for k in range(1, count + 1)] == NUMBERS
    assert all(len(row) == 7 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=NUMBERS)
def test_the_names_can_be_called(row):
    names = re.findall(r"\{py:obj\}`~maxmargin\.([^`]+)`", row[3])
    assert names
    for name in names:
        value = maxmargin
        for part in name.split("."):
            if hasattr(value, part):
                value = getattr(value, part)
            elif value is maxmargin:
                value = importlib.import_module(f"maxmargin.{part}")
            else:
                assert part in getattr(value, "__annotations__", {}), f"{name}: there is no {part}"


@pytest.fixture(scope="module")
def scope():
    """What the page prepares for its lines."""
    code = re.search(r"^```python\n(.*?)^```", PAGE, re.M | re.S).group(1)
    names = {}
    exec(code, names)
    return names


@pytest.mark.parametrize("row", ROWS, ids=NUMBERS)
def test_the_line_runs(row, scope):
    pytest.importorskip("matplotlib")
    (line,) = re.findall(r"`([^`]+)`", row[4])
    assert eval(line, dict(scope)) is not None


@pytest.mark.parametrize("row", ROWS, ids=NUMBERS)
def test_tests_and_pictures_exist(row):
    tests = re.findall(r"`([^`]+)`", row[5])
    assert tests
    for name in tests:
        assert list((ROOT / "tests").rglob(name)), name
    for name in re.findall(r"gallery/(\w+)\.rst", row[6]):
        assert (ROOT / "examples" / f"{name}.py").exists(), name


def test_every_picture_is_on_the_page():
    for path in (ROOT / "examples").glob("plot_*.py"):
        assert f"gallery/{path.stem}.rst" in PAGE, path.stem
