"""The lab: a local web page on which people play with support vector machines, computed by the solvers of this library.

    browser ─ security (token, Host, Origin, headers) ─ server (routes) ─ jobs (one worker thread a request)
            ─ requests (what is asked for, checked) ─ classify, traces, lifting, regress ... (pure functions)

``ENDPOINTS`` lists what the page can ask to be computed: ``POST /api/<name>`` with a JSON object calls
``function(request, control)``, which returns a dict for JSON. A wrong request raises
:class:`~maxmargin.lab.requests.RequestError`; ``control`` is a :class:`~maxmargin.lab.jobs.Run`.
"""

from __future__ import annotations

from maxmargin.lab.site import export, show

ENDPOINTS: dict[str, str] = {
    "classify": "maxmargin.lab.classify:classify",
    "compare": "maxmargin.lab.classify:compare",
    "curve": "maxmargin.lab.learning:curve",
    "paste": "maxmargin.lab.paste:paste",
    "script": "maxmargin.lab.script:script",
    "trace": "maxmargin.lab.traces:trace",
    "trace-values": "maxmargin.lab.traces:trace_values",
    "lift": "maxmargin.lab.lifting:lift",
    "regress": "maxmargin.lab.regress:regress",
    "blend": "maxmargin.lab.regress:blend",
    "digits": "maxmargin.lab.drawn_digits:digits",
    "digit-weights": "maxmargin.lab.drawn_digits:digit_weights",
    "recording": "maxmargin.lab.recording:recording",
}

__all__ = ["ENDPOINTS", "export", "show"]
