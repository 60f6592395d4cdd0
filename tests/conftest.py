"""Oracles in ``tests/reference`` are imported by tests, and are no tests themselves."""

collect_ignore = ["reference"]
