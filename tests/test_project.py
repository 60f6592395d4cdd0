"""Workflows run what ``make`` runs here; versions, dependencies and notices agree between files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
COMMENT = 'gh pr comment "$REQUEST" --body-file dist/benchmark.md'  # the one command that needs GitHub


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_make_targets_only(path):
    commands = re.findall(r"^\s*(?:- )?run: (.+)$", path.read_text("utf-8"), re.M)
    assert "run: |" not in path.read_text("utf-8"), "a command of several lines belongs into a make target"
    for command in commands:
        if command != COMMENT:
            make, target, *_ = command.split()
            assert make == "make", command
            assert target in TARGETS, command


def test_there_are_workflows():
    assert {path.stem for path in WORKFLOWS} == {"benchmark", "codeql", "docs", "nightly", "tests", "wheels"}


@pytest.mark.parametrize("name", ["CITATION.cff", "conda/recipe.yaml"])
def test_one_version(name):
    assert re.search(r"^\s*version: (\S+)$", (ROOT / name).read_text("utf-8"), re.M).group(1) == maxmargin.__version__


def test_the_conda_recipe_needs_what_the_package_needs():
    run = (ROOT / "conda" / "recipe.yaml").read_text("utf-8").split("  run:\n", 1)[1].split("\n\n", 1)[0]
    recipe = {line.strip("- ").replace(" ", "") for line in run.splitlines()}
    assert recipe == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}


def test_the_recipe_and_the_wheel_carry_all_bundled_notices():
    notices = {f"LICENSES/{path.name}" for path in (ROOT / "LICENSES").iterdir()}
    recipe = (ROOT / "conda" / "recipe.yaml").read_text("utf-8")
    assert notices == set(re.findall(r"LICENSES/[\w.-]+", recipe))
    assert "LICENSES/*.txt" in PROJECT["license-files"]
