# `make demo` runs the worked example, `make test` every check. Both build their own environment first;
# a machine needs Python 3.11 or newer with pip and venv, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types docs clean

demo: $(READY)
	$(BIN)/maxmargin digits --out demo

test: lint types
	$(BIN)/python -m pytest -n auto
	$(MAKE) docs

docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $(READY)

clean:
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/_build docs/_gallery docs/_pictures docs/gallery docs/api/generated
