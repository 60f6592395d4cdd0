# `make demo` runs the worked example, `make test` every check. Both build their own environment first;
# a machine needs Python 3.11 or newer with pip and venv, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types docs browser clean

demo: $(READY)
	$(BIN)/maxmargin digits --out demo

test: lint types browser
	$(BIN)/python -m pytest -n auto
	$(MAKE) docs

docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

# The tests of the lab drive a real browser: Chromium, from the system's packages where it is not there yet. Without it
# (and without the right to install it) those tests are skipped.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	    apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "no Chromium: the tests of the lab's page are skipped"

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $(READY)

clean:
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/_build docs/_gallery docs/_pictures docs/gallery docs/api/generated
