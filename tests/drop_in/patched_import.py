"""A pytest plugin: a run under ``patch_sklearn()``."""

import maxmargin

maxmargin.patch_sklearn()
