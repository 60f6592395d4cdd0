"""The tabs of the page, in their order, and what each can ask to be computed.

A new tab is a module of this package, a script ``static/js/tabs/<id>.js`` and an entry of ``TABS``. The page receives
its list of tabs in ``index.html``, and the styles of all tabs (``static/css``) with it.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Tab:
    """A tab.

    title: its name on the page
    endpoints: ``POST /api/<name>`` calls ``"module:function"``
    offline: whether it works in a page without a server, by scripts of ``static/js/local``
    """

    title: str
    endpoints: dict[str, str] = field(default_factory=dict)
    offline: bool = False


TABS: dict[str, Tab] = {
    "classify": Tab(
        "Classify",
        {
            "classify": "maxmargin.lab.classify:classify",
            "compare": "maxmargin.lab.classify:compare",
            "curve": "maxmargin.lab.learning:curve",
            "paste": "maxmargin.lab.paste:paste",
        },
        offline=True,
    ),
    "step": Tab(
        "Step by step",
        {"trace": "maxmargin.lab.traces:trace", "trace-values": "maxmargin.lab.traces:trace_values"},
        offline=True,
    ),
    "lift": Tab("Lift", {"lift": "maxmargin.lab.lifting:lift"}, offline=True),
    "regress": Tab("Regression", {"regress": "maxmargin.lab.regress:regress", "blend": "maxmargin.lab.regress:blend"}),
    "digits": Tab(
        "Digits",
        {"digits": "maxmargin.lab.drawn_digits:digits", "digit-weights": "maxmargin.lab.drawn_digits:digit_weights"},
    ),
}
OF_ALL_TABS = {"script": "maxmargin.lab.script:script", "recording": "maxmargin.lab.recording:recording"}
ENDPOINTS: dict[str, str] = {
    name: where for tab in TABS.values() for name, where in tab.endpoints.items()
} | OF_ALL_TABS


def with_tabs(page: str, tabs: Iterable[str]) -> str:
    """``index.html`` with these tabs."""
    listed = json.dumps([[tab, TABS[tab].title] for tab in tabs], separators=(",", ":"))
    return page.replace('data-tabs="[]"', f'data-tabs="{html.escape(listed)}"', 1)
