"""A pytest plugin: a run under ``patch_sklearn()``."""

import maxmargin


def pytest_configure():
    """In a run that has this plugin: where doctests are looked for, modules are imported, and nothing may change."""
    maxmargin.patch_sklearn()
