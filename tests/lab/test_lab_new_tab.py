"""A tab is a module, a script and an entry of ``TABS``: a toy tab on the page, and in the exported file."""

from __future__ import annotations

import shutil
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lab_browser
import pytest
from lab_browser import expect, ready, serving

from maxmargin.lab import bundle, site
from maxmargin.lab.server import STATIC
from maxmargin.lab.tabs import ENDPOINTS, TABS, Tab

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES

SCRIPT = """
import { el } from "../dom.js";
export const tab = {
  id: "toy", title: "Toy", shortcuts: [],
  mount(root, ctx) {
    const text = el("p", { class: "doubled" }, "toy");
    root.append(text);
    if (ctx.offline) return;
    ctx.api("/api/double", { number: 21 }).then((found) => { text.textContent = found.doubled; }).catch(() => {});
  },
  show() {}, hide() {}, getState() { return {}; }, setState() {},
};
"""


@pytest.fixture
def static(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page with a toy tab."""
    module = types.ModuleType("toy")
    module.double = lambda request, control: {"doubled": 2 * request["number"]}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy", module)
    tab = Tab("Toy", {"double": "toy:double"}, offline=True)
    monkeypatch.setitem(TABS, "toy", tab)
    for name, where in tab.endpoints.items():
        monkeypatch.setitem(ENDPOINTS, name, where)
    found = shutil.copytree(STATIC, tmp_path / "static")
    (found / "js" / "tabs" / "toy.js").write_text(SCRIPT)
    (found / "css" / "toy.css").write_text(".doubled { color: rgb(1, 2, 3); }")
    return found


def test_on_the_page(opened: Callable[..., Any], static: Path) -> None:
    with serving(static=static) as found:
        page = opened(found.link)
        page.get_by_role("tab", name="Toy").click()
        text = page.locator("#panel-toy .doubled")
        expect(text).to_have_text("42")
        assert text.evaluate("(it) => getComputedStyle(it).color") == "rgb(1, 2, 3)"


def test_in_the_exported_file(browser: Any, static: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle.page, "__defaults__", (static,))
    monkeypatch.setattr(bundle.script, "__defaults__", (static,))
    file = site.export(tmp_path / "site")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    ready(page)
    assert page.get_by_role("tab").all_inner_texts() == ["Classify", "Step by step", "Lift", "Toy"]
    page.get_by_role("tab", name="Toy").click()
    expect(page.locator("#panel-toy .doubled")).to_have_text("toy")
    context.close()


def test_every_tab_has_its_script() -> None:
    assert {path.stem for path in (STATIC / "js" / "tabs").glob("*.js")} == set(TABS)
