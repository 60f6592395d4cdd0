"""The documentation keeps its word: its code runs and prints what is shown, its pages and names are complete.

The pages themselves are built, without a warning, by ``make docs``.
"""

from __future__ import annotations

import doctest
import importlib
import math
import os
import re
import sys
import types
from pathlib import Path

import pytest

import maxmargin
from maxmargin.runtime.control import Status

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("guide/*.md"), *DOCS.glob("course/*.md")])
NAMES = {page: page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^(?P<fence>```+|:::+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
# lines whose numbers depend on the machine: its speed, its rounding, the width of its vector registers
ROUNDING = ("time ", "iterations ", "kernel evaluations ", "duality gap ", "KKT violation ")


def blocks(page):
    """The fenced blocks of a page, those of solutions too: (line, info, body)."""
    return list(_blocks(page.read_text("utf-8"), 1))


def _blocks(text, first):
    for found in FENCE.finditer(text):
        line = first + text.count("\n", 0, found.start())
        if found["info"].strip() == "{solution}":
            yield from _blocks(found["body"], line + 1)
        else:
            yield line, found["info"].strip(), found["body"]


class Close(doctest.OutputChecker):
    """Texts agree when their words do and their numbers do to three digits; those of the machine's speed may be any."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        wanted, given = want.strip().splitlines(), got.strip().splitlines()
        return len(wanted) == len(given) and all(map(self.same_line, wanted, given))

    def same_line(self, want, got):
        words = [" ".join(NUMBER.sub("0", line).replace("threads", "thread").split()) for line in (want, got)]
        if words[0] != words[1]:
            return False
        if want.startswith(ROUNDING):
            return True
        pairs = zip(NUMBER.findall(want), NUMBER.findall(got), strict=True)
        return all(
            math.isclose(*(float(text.replace(",", "")) for text in pair), rel_tol=5e-3, abs_tol=1e-9) for pair in pairs
        )


def run(page, folder, monkeypatch):
    """Run the code of a page from top to bottom, as one module; the module."""
    monkeypatch.chdir(folder)
    module = types.ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # so that its classes can be pickled
    scope = module.__dict__
    for line, info, body in blocks(page):
        where = f"{page.name}, line {line}"
        if info == "pycon":
            test = doctest.DocTestParser().get_doctest(body, scope, where, str(page), line)
            runner = doctest.DocTestRunner(Close(), verbose=False, optionflags=FLAGS)
            told = []
            runner.run(test, out=told.append, clear_globs=False)
            scope.update(test.globs)
            assert runner.summarize(verbose=False).failed == 0, f"{where}\n" + "".join(told)
        elif info == "python":
            exec(compile("\n" * line + body, str(page), "exec"), scope)
        elif info.startswith("{picture}"):
            alone = {"__name__": "picture"}
            exec(compile("\n" * line + body, str(page), "exec"), alone)
            figure = alone["figure"]
            assert any(ax.has_data() for ax in figure.axes), where
            figure.canvas.draw()
    return module


WITH_CODE = [page for page in PAGES if any(info.startswith(("py", "{picture}")) for _, info, _ in blocks(page))]


@pytest.mark.parametrize(
    "page", [page for page in WITH_CODE if page.stem not in ("extending", "coverage")], ids=NAMES.get
)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    run(page, tmp_path, monkeypatch)


def test_the_block_of_the_readme_runs_as_pasted(capsys):
    (code,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    assert "duality gap" in capsys.readouterr().out


def test_the_pages_that_promise_code_have_it():
    promised = {
        "start",
        "moving",
        "choosing",
        "report",
        "engine",
        "extending",
        "guide/classification",
        "course/10-errata",
    }
    assert promised <= {NAMES[page] for page in WITH_CODE}


@pytest.mark.parametrize("page", PAGES, ids=NAMES.get)
def test_fences_are_closed(page):
    left = FENCE.sub("", page.read_text("utf-8"))
    assert not re.search(r"^(```|:::)", left, re.M)


# The tree of pages


def listed():
    """What the tables of contents list: page names."""
    names = set()
    for page in [*PAGES, DOCS / "api" / "index.md"]:
        for _, info, body in blocks(page):
            if info.startswith("{toctree}"):
                entries = [line.strip() for line in body.splitlines()]
                entries = [re.sub(r"^.*<(.+)>$", r"\1", entry) for entry in entries if entry and entry[0] != ":"]
                names |= {os.path.normpath(page.parent.relative_to(DOCS) / entry) for entry in entries}
    return names


def test_every_page_is_in_the_table_of_contents_and_exists():
    entries = listed()
    missing = set(NAMES.values()) - entries - {"index"}
    assert not missing, f"in no toctree: {missing}"
    made = ("gallery/", "api/generated/")  # by the build
    for entry in entries:
        assert entry.startswith(made) or (DOCS / f"{entry}.md").exists(), entry


@pytest.mark.parametrize("page", PAGES, ids=NAMES.get)
def test_links_between_pages_lead_somewhere(page):
    text = FENCE.sub("", page.read_text("utf-8"))
    for target in re.findall(r"\]\((?!https?://|#)([^)#\s]+)", text):
        path = page.parent / target
        assert path.exists() or re.match(r"(\.\./)?(gallery|api/generated)/", target), f"{page.name}: {target}"
    for name in re.findall(r"\{source\}`([^`]+)`", text):
        assert (Path(maxmargin.__file__).parent / name).is_file(), f"{page.name}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES.get)
def test_no_page_names_a_computer(page):
    text = page.read_text("utf-8")
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users|usr|opt|mnt)/|[A-Z]:\\\\|localhost:\d", text)


# Guides


@pytest.mark.parametrize("name", maxmargin.__all__)
def test_every_public_name_is_in_a_guide(name):
    if isinstance(getattr(maxmargin, name), types.ModuleType):
        return
    texts = [page.read_text("utf-8") for page in PAGES if NAMES[page].startswith("guide/")]
    assert any(re.search(rf"(?<!\w){name}(?!\w)", text) for text in texts)


@pytest.mark.parametrize("page", sorted((DOCS / "course").glob("*.md")), ids=NAMES.get)
def test_a_page_of_the_course_has_formula_picture_and_exercise(page):
    text = page.read_text("utf-8")
    assert "$$" in text or page.stem in ("08-digits", "09-advantages")
    assert "{picture}" in text or page.stem == "10-errata"
    assert "## Exercise" in text
    assert ":::{solution}" in text


@pytest.fixture(scope="module")
def notebooks():
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        yield importlib.import_module("notebooks")
    finally:
        sys.path.remove(str(DOCS / "_ext"))


@pytest.mark.parametrize("page", sorted((DOCS / "course").glob("*.md")), ids=NAMES.get)
def test_a_page_of_the_course_is_a_notebook_that_runs(page, notebooks, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    made = notebooks.notebook(page.read_text("utf-8"))
    scope = {"__name__": "__main__"}
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            exec(compile(cell["source"], cell["id"], "exec"), scope)
        else:
            assert not re.search(r"\{\w+\}`|^:::|^>>>", cell["source"], re.M), cell["source"]
    assert page in notebooks.sources(DOCS)


def test_pages_that_would_fetch_from_elsewhere_are_found(notebooks, tmp_path):
    offline = importlib.import_module("offline")
    (tmp_path / "a.html").write_text('<a href="https://example.org">x</a><script src="_static/a.js"></script>')
    assert not offline.fetched(tmp_path)
    (tmp_path / "b.html").write_text('<script async src="https://example.org/x.js"></script>')
    (tmp_path / "c.css").write_text("@font-face { src: url(//example.org/f.woff) }")
    assert len(offline.fetched(tmp_path)) == 2


# The reference


@pytest.fixture(scope="module")
def reference():
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        yield importlib.import_module("reference_pages")
    finally:
        sys.path.remove(str(DOCS / "_ext"))


def test_every_public_name_is_in_the_reference(reference):
    objects = {id(value): name for name, value in reference.documented().items()}
    pages = reference.pages()
    text = "\n".join(pages.values())
    for name in maxmargin.__all__:
        value = getattr(maxmargin, name)
        if name in reference.public_objects():
            assert objects[id(value)] == f"maxmargin.{name}"
            assert re.search(rf"^   {name}$", pages["names.rst"], re.M), name
            continue
        assert f"maxmargin.{name}" in text
        for inner in reference.names_of(name):
            assert id(getattr(value, inner)) in objects, f"maxmargin.{name}.{inner}"


def test_every_public_name_says_what_it_is(reference):
    for name, value in reference.documented().items():
        assert isinstance(value, dict) or (value.__doc__ or "").strip(), name


def test_every_public_name_has_an_example(reference):
    for name, value in reference.documented().items():
        assert isinstance(value, (dict, tuple)) or ">>>" in (value.__doc__ or ""), name


def test_every_public_name_has_relatives_and_a_method_its_paper(reference):
    related = importlib.import_module("related_names")
    names = [name.removeprefix("maxmargin.") for name in reference.documented()]
    for group in related.GROUPS:
        assert set(group.split()) <= set(names), group
    assert set(related.REFERENCES) <= set(names)
    for name in names:
        assert related.relatives(name, names), name
    for name, package in reference.public_objects().items():
        value = getattr(maxmargin, name)
        if package in ("svm", "kernel_methods", "large_scale", "model_selection") and hasattr(value, "fit"):
            assert related.papers(name), name


def test_a_new_name_appears_by_itself(reference, monkeypatch):
    monkeypatch.setitem(vars(maxmargin), "brand_new", lambda: None)
    table = {**reference.public_objects(), "brand_new": "somewhere"}
    monkeypatch.setattr(reference, "public_objects", lambda: table)
    assert re.search(r"^   brand_new$", reference.pages()["names.rst"], re.M)


# What pages promise of the library


def test_every_status_is_explained():
    page = (DOCS / "report.md").read_text("utf-8")
    for status in Status:
        assert f"`{status.name}`" in page
        assert status.value.split(":")[0] in page


def test_every_line_of_a_report_is_explained():
    page = (DOCS / "report.md").read_text("utf-8")
    estimator = maxmargin.SVC().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    for line in str(estimator.report_).splitlines():
        name = line.split("  ")[0]
        assert f"\n{name}\n: " in page, name
