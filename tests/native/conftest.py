"""Tests of the compiled core: each runs on every instruction level that the processor has."""

import pytest

from maxmargin import _native


@pytest.fixture(params=_native.available_levels(), scope="module")
def level(request):
    """The level in use while the test runs. Of module scope, so that Hypothesis may draw many examples for it."""
    before = _native.cpu_level()
    _native._use_level(request.param)
    yield request.param
    _native._use_level(before)
