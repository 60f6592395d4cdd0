"""The lab: a local web page on which people play with support vector machines, computed by the solvers of this library.

    browser ─ security (token, Host, Origin, headers) ─ server (routes) ─ jobs (one worker thread a request)
            ─ requests (what is asked for, checked) ─ classify, traces, lifting, regress ... (pure functions)

``tabs`` lists the tabs of the page and, in ``ENDPOINTS``, what they can ask to be computed: ``POST /api/<name>`` with
a JSON object calls ``function(request, control)``, which returns a dict for JSON. A wrong request raises
:class:`~maxmargin.lab.requests.RequestError`; ``control`` is a :class:`~maxmargin.lab.jobs.Run`.
"""

from __future__ import annotations

from maxmargin.lab.site import export, show
from maxmargin.lab.tabs import ENDPOINTS

__all__ = ["ENDPOINTS", "export", "show"]
