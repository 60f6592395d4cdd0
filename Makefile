# `make demo` runs the worked example, `make test` every check. Both build their own environment first;
# a machine needs Python 3.11 or newer with pip and venv, and make.
WINDOWS := $(filter Windows_NT,$(OS))
PYTHON ?= $(if $(WINDOWS),python,python3)
VENV := .venv
BIN := $(VENV)/$(if $(WINDOWS),Scripts,bin)
READY := $(VENV)/.ready

SOURCES := $(shell find native -name '*.cpp' -o -name '*.h' -o -name '*.cmake' -o -name CMakeLists.txt)
CMAKE = PATH="$(dir $(PYTHON)):$$PATH" cmake -S native -G Ninja -DPython_EXECUTABLE="$(shell command -v $(PYTHON))" -DMAXMARGIN_WERROR=ON

MINUTES ?= 30
ATTACK = -m tests.attack --minutes $(MINUTES) $(ATTACK_OPTIONS)
FUZZ := .venv-fuzz
FUZZ_SECONDS ?= 300

.PHONY: demo test check environment upstream lint types docs wheel check-wheel sdist sbom benchmark browser native-dev sanitize \
  sanitized-package attack attack-sanitize fuzz clean

demo: $(READY)
	$(BIN)/maxmargin digits --out demo

test: lint types browser
	$(BIN)/python -m pytest -n auto
	$(MAKE) docs

# The tests alone: what runs on every platform and Python version.
check: $(READY)
	$(BIN)/python -m pytest -n auto

environment: $(READY)

# Development versions of our dependencies, to notice their changes early.
NIGHTLY := https://pypi.anaconda.org/scientific-python-nightly-wheels/simple
upstream: $(READY)
	$(BIN)/python -m pip install --quiet --pre --upgrade --extra-index-url $(NIGHTLY) numpy scipy scikit-learn

docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

# A wheel for this computer, and the source distribution, in dist/.
wheel: $(READY)
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# The wheel in a new environment, where PATH has no compiler: installs, and runs what `make demo` runs.
FRESH := build/fresh
check-wheel: wheel
	rm -rf $(FRESH) && $(PYTHON) -m venv $(FRESH)
	env PATH="$(CURDIR)/$(FRESH)/bin" $(CURDIR)/$(FRESH)/bin/python -m pip install --quiet --only-binary :all: \
	  "$$(ls -t dist/maxmargin-*.whl | head -1)[plot]"
	cd $(FRESH) && env -i HOME="$$HOME" PATH="$(CURDIR)/$(FRESH)/bin" maxmargin digits --out demo

sdist: $(READY)
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --sdist --no-isolation --outdir dist .

# The dependencies of an installation: licences (copyleft fails), and a bill of materials in CycloneDX's format.
COPYLEFT := GPL;AGPL;General Public License
SBOM := build/sbom
sbom:
	rm -rf $(SBOM) && $(PYTHON) -m venv $(SBOM) && mkdir -p dist
	$(SBOM)/bin/python -m pip install --quiet 'pip>=25.1'  # knows dependency groups
	$(SBOM)/bin/python -m pip install --quiet --group sbom
	$(PYTHON) -m venv $(SBOM)/installed
	$(SBOM)/installed/bin/python -m pip install --quiet $(or $(wildcard dist/*.whl),.)
	$(SBOM)/bin/pip-licenses --python=$(SBOM)/installed/bin/python --partial-match --fail-on='$(COPYLEFT)' --format=markdown
	$(SBOM)/bin/cyclonedx-py environment $(SBOM)/installed/bin/python --of JSON -o dist/sbom.json

# Ratios to scikit-learn on small fits, as a table for a pull request.
benchmark: $(READY)
	mkdir -p dist
	$(BIN)/python -m benchmarks.small > dist/benchmark.md
	cat dist/benchmark.md

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

# Without build isolation the objects stay in build/, and only what changed is compiled again. Bytecode is compiled here, as
# pip does for a wheel: an editable installation would leave that to the first import, where PYTHONDONTWRITEBYTECODE forbids it.
$(READY): pyproject.toml $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group build
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[all]' --group dev
	$(BIN)/python -m compileall -q src
	touch $(READY)

# The extension module in the source tree, for PYTHONPATH=src: PYTHON=... needs the `build` dependency group and NumPy.
native-dev:
	@$(CMAKE) -B build/dev -DMAXMARGIN_OUTPUT="$(CURDIR)/src/maxmargin" --log-level=WARNING
	@PATH="$(dir $(PYTHON)):$$PATH" cmake --build build/dev -j 2

# Random fits, damaged files, signals and kills against the laws of tests/attack; docs/attack.md says how to read it.
attack: $(READY)
	$(BIN)/python $(ATTACK)

# Coverage-guided fuzzing of the file readers, in an environment of its own, where atheris installs.
fuzz:
	$(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/python -m pip install --quiet '.[parquet,onnx]' atheris
	for reader in model libsvm csv svmlight; do \
	  PYTHONPATH=tests $(FUZZ)/bin/python tests/fuzz/atheris_files.py $$reader -max_total_time=$(FUZZ_SECONDS) \
	    -rss_limit_mb=2048 || exit 1; done

# A copy of the package whose compiled module has address and undefined-behaviour sanitizers.
sanitized-package:
	@$(CMAKE) -B build/sanitize -DMAXMARGIN_SANITIZE=ON -DMAXMARGIN_OUTPUT="$(CURDIR)/build/sanitize/package/maxmargin" \
	  --log-level=WARNING
	@mkdir -p build/sanitize/package && cp -R src/maxmargin build/sanitize/package/
	@rm -f build/sanitize/package/maxmargin/_native*.so
	@PATH="$(dir $(PYTHON)):$$PATH" cmake --build build/sanitize -j 2

SANITIZED = ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=build/sanitize/package PYTHONDONTWRITEBYTECODE=1 \
  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)"

# The native tests with it (whose reports a test must not capture), and the attack (without memory limits, which the sanitizers' own memory exceeds).
sanitize: sanitized-package
	$(SANITIZED) $(PYTHON) -m pytest -q -p no:cacheprovider --capture=no tests/native

attack-sanitize: sanitized-package
	$(SANITIZED) MAXMARGIN_ATTACK_UNLIMITED=1 $(PYTHON) $(ATTACK)

clean:
	rm -rf $(VENV) $(FUZZ) build dist src/maxmargin/_native*.so demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/_build docs/_pictures docs/gallery docs/api/generated
