"""The documentation keeps its word: its code runs and prints what is shown, its pages and names are complete.

The pages themselves are built, without a warning, by ``make docs``.
"""

from __future__ import annotations

import doctest
import importlib
import math
import re
import sys
import types
from pathlib import Path

import pytest

import maxmargin
from maxmargin.runtime.control import Status

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.glob("*.md"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^(?P<fence>```+|:::+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
ROUNDING = ("time ", "iterations ", "duality gap ", "KKT violation ")  # lines whose numbers depend on the machine


def blocks(page):
    """The fenced blocks of a page: (line, info, body)."""
    text = page.read_text("utf-8")
    return [
        (text.count("\n", 0, found.start()) + 1, found["info"].strip(), found["body"]) for found in FENCE.finditer(text)
    ]


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


@pytest.mark.parametrize("page", [page for page in WITH_CODE if page.stem != "extending"], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    run(page, tmp_path, monkeypatch)


def test_the_pages_that_promise_code_have_it():
    assert {"start", "moving", "choosing", "report", "engine", "extending"} <= {page.stem for page in WITH_CODE}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_fences_are_closed(page):
    left = FENCE.sub("", page.read_text("utf-8"))
    assert not re.search(r"^(```|:::)", left, re.M)


# The tree of pages


def listed():
    """What the table of contents lists: page names."""
    names = set()
    for page in [*PAGES, DOCS / "api" / "index.md"]:
        for _, info, body in blocks(page):
            if info.startswith("{toctree}"):
                entries = [line.strip() for line in body.splitlines()]
                names |= {re.sub(r"^.*<(.+)>$", r"\1", entry) for entry in entries if entry and entry[0] != ":"}
    return names


def test_every_page_is_in_the_table_of_contents_and_exists():
    entries = listed()
    missing = {page.stem for page in PAGES} - entries - {"index"}
    assert not missing, f"not in the toctree of docs/index.md: {missing}"
    made = ("gallery/", "generated/")  # by the build
    for entry in entries:
        assert entry.startswith(made) or (DOCS / f"{entry}.md").exists(), entry


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page):
    text = FENCE.sub("", page.read_text("utf-8"))
    for target in re.findall(r"\]\((?!https?://|#)([^)#\s]+)", text):
        path = page.parent / target
        assert path.exists() or target.startswith(("gallery/", "api/generated/")), f"{page.name}: {target}"
    for name in re.findall(r"\{source\}`([^`]+)`", text):
        assert (Path(maxmargin.__file__).parent / name).is_file(), f"{page.name}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_knows_a_machine(page):
    text = page.read_text("utf-8")
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users|usr|opt|mnt)/|[A-Z]:\\\\|localhost:\d", text)


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
    machine = maxmargin.SVC().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    for line in str(machine.report_).splitlines():
        name = line.split("  ")[0]
        assert f"\n{name}\n: " in page, name
