"""Shared entries of docstrings: inserted where they are named, and complete for every public estimator."""

from __future__ import annotations

import inspect
import re

import pytest
from sklearn.utils.metaestimators import available_if

import maxmargin
from maxmargin.runtime.parameter_docs import ENTRIES, documented, entries


def test_entries_are_inserted_at_the_indentation_of_their_line():
    @documented(entries("own : int\n    Of a package."))
    class Estimator:
        """An estimator.

        Parameters
        ----------
        C : float
            {not, replaced}: text on a line with other text stays.
        {n_jobs,
         own}
        """

    lines = inspect.cleandoc(Estimator.__doc__).splitlines()
    assert lines[6:] == [*ENTRIES["n_jobs"].splitlines(), "own : int", "    Of a package."]
    assert "{not, replaced}" in lines[5]


def test_own_entries_go_first_and_shared_headings_are_inserted_once():
    @documented(entries("a, b : float\n    Both.\ntol : float\n    Own."))
    def function():
        """Text.

        {a, b, tol}
        """

    assert inspect.cleandoc(function.__doc__).splitlines()[2:] == [
        "a, b : float",
        "    Both.",
        "tol : float",
        "    Own.",
    ]


def test_an_arrow_inserts_both_sections_into_every_kind_of_method():
    table = entries("X_new as X : array\n    Points.\nlabels : array\n    Of the points.")

    @documented(table)
    class Estimator:
        def plain(self):
            """Text.

            {X_new -> labels}
            """

        @classmethod
        def of_class(cls):
            """Text.

            {X_new -> labels}
            """

        @available_if(lambda estimator: True)
        def conditional(self):
            """Text.

            {X_new -> labels}
            """

    expected = ["Parameters", "----------", "X : array", "    Points.", ""]
    expected += ["Returns", "-------", "labels : array", "    Of the points."]
    for method in (Estimator.plain, Estimator.of_class, Estimator.conditional, Estimator().conditional):
        assert inspect.getdoc(method).splitlines()[2:] == expected


def test_an_unknown_name_is_an_error():
    with pytest.raises(KeyError, match="nobody"):

        @documented()
        class Estimator:
            """{nobody}"""


def test_a_class_without_docstring_stays_without():
    class Estimator:
        pass

    assert documented()(Estimator).__doc__ is None


def test_no_public_docstring_has_a_name_left_to_be_inserted():
    for name in maxmargin.__all__:
        doc = getattr(maxmargin, name).__doc__ or ""
        assert not re.search(r"^ *\{[\w\s,]+\}$", doc, re.MULTILINE), name
