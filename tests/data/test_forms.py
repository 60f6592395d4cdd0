"""Numbers, dates and times as people write them: read rightly, or not at all."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.data.forms import (
    compact_date_form,
    date_form,
    day_order,
    find_form,
    form_parts,
    is_ambiguous,
    is_form,
    is_gap,
    number_form,
    numbers_of,
    parse_number,
    unreadable_words,
)


def read(words, form):
    return numbers_of(np.array(words, object), form)[:, 0].tolist()


@pytest.mark.parametrize("word", ["1e999", "-1E400", "inf", "9" * 90 + "e300", "$1" + "0" * 95 + "e290"])
def test_a_number_without_end_is_missing(word):
    assert np.isnan(parse_number(word, "."))
    assert np.isnan(read([word, "5", "$1,200"], "number .")[0])
    assert unreadable_words(np.array([word], object), "number .")


def test_a_long_word_is_no_number_and_no_date():
    """The patterns would take minutes for it, and a server reads what strangers send."""
    for word in ("-" + " " * 200_000 + "x", "2024-01-01 0:0" + " " * 200_000 + ":"):
        assert np.isnan(parse_number(word, "."))
        assert number_form([word, "1"]) is None
        assert np.isnan(read([word], "date %Y-%m-%d > day")).all()
        assert find_form({word: 1}) == "category"


@pytest.mark.parametrize(
    ("words", "form", "values"),
    [
        (["1", "2.5", "-3e4"], "number", [1, 2.5, -3e4]),
        (["$1,234", "$5"], "number .", [1234, 5]),
        (["-$5.20", "$3"], "number .", [-5.2, 3]),
        (["1,234.50", "7"], "number .", [1234.5, 7]),
        (["12 %", "3%"], "number .", [12, 3]),
        (["(1,200)", "30"], "number .", [-1200, 30]),
        (["1,200.50-", "30.00"], "number .", [-1200.5, 30]),
        (["1.200,50- €", "3,00 €"], "number ,", [-1200.5, 3]),
        (["1'234'567", "5"], "number .", [1234567, 5]),
        (["1 234", "5"], "number .", [1234, 5]),
        (["1\u00a0234", "5"], "number .", [1234, 5]),
        (["1\u202f234,5", "7,25"], "number ,", [1234.5, 7.25]),
        (["51.3 kg", "7kg", "1,000 kg"], "number . kg", [51.3, 7, 1000]),
        (["1,5 km/h", "2 km/h", "3,25 km/h"], "number , km/h", [1.5, 2, 3.25]),
        (["1 year", "2 years", "10 years"], "number . year", [1, 2, 10]),
        (["36 months", "60 months", "48"], "number . month", [36, 60, 48]),
        (["€110.5M", "€500K", "€0"], "number .", [110.5e6, 500e3, 0]),
        (["1.2k", "7", "3k"], "number .", [1200, 7, 3000]),
        (["1,5", "2,25"], "number ,", [1.5, 2.25]),
        (["0,123", "1"], "number ,", [0.123, 1]),
        (["1.234,5 €", "7 €"], "number ,", [1234.5, 7]),
        (["1.234.567", "12"], "number ,", [1234567, 12]),
        (["10:30", "1:02:03"], "time", [10.5, 1 + 2 / 60 + 3 / 3600]),
    ],
)
def test_numbers(words, form, values):
    assert find_form(dict.fromkeys(words, 1)) == form
    assert read(words, form) == pytest.approx(values)


@pytest.mark.parametrize(
    "words", [["1,23", "1.5"], ["$5", "3 %"], ["12 %", "0.3"], ["1,2345,6"], ["1.2.3"], ["a", "1"], ["12 kg", "3 kg"]]
)
def test_what_fits_no_form_is_not_guessed(words):
    assert number_form(words) is None
    assert find_form(dict.fromkeys(words, 1)) == "category"


def test_another_unit_is_missing():
    assert read(["5 kg", "5 lb", "5"], "number . kg")[::2] == [5, 5]
    assert np.isnan(read(["5 lb"], "number . kg")[0])
    assert np.isnan(read(["5 kg"], "number .")[0])
    for words in (["5 kg", "7 lb", "9 kg"], ["2WD", "4WD"], ["1st", "2nd", "3rd"], ["$5 kg", "$6 kg", "$7 kg"]):
        assert number_form(words) is None
    assert is_ambiguous(["1,234 kg", "567 kg", "5 kg"])
    assert not is_ambiguous(["1.5 kg", "567 kg", "5 kg"])


def test_a_comma_that_may_be_either():
    words = ["1,234", "567"]
    assert is_ambiguous(words)
    assert number_form(words) == "number ."
    assert number_form(words, ",") == "number ,"
    assert not is_ambiguous(["1,5"])
    assert not is_ambiguous(["1,234,567"])
    assert not is_ambiguous(["12 %"])


@given(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)))
def test_formatted_numbers_come_back(value):
    english = f"{value:,.2f}"
    assert parse_number(english, ".") == value
    german = english.replace(",", "_").replace(".", ",").replace("_", ".")
    assert parse_number(german, ",") == value


@given(st.text(max_size=8), st.sampled_from([".", ","]))
def test_any_word_is_a_number_or_nothing(word, mark):
    value = parse_number(word, mark)
    assert isinstance(value, float)
    for form in ("number", "number .", "time", "date %Y-%m-%d > day month"):
        assert numbers_of(np.array([word], object), form).shape == (1, len(form_parts(form)))


@pytest.mark.parametrize(
    ("words", "format"),
    [
        (["2020-01-31", "2021-12-01"], "%Y-%m-%d"),
        (["2020/01/31"], "%Y/%m/%d"),
        (["31.01.2020", "1.2.2021"], "%d.%m.%Y"),
        (["01/13/2020", "02/03/2020"], "%m/%d/%Y"),
        (["13/01/2020", "02/03/2020"], "%d/%m/%Y"),
        (["1949-01", "1950-12"], "%Y-%m"),
        (["Jan 5 2020", "Mar 30 2021"], "%b %d %Y"),
        (["5-Jan-20"], "%d-%b-%y"),
        (["Jan-1-1995", "Feb-1-1995"], "%b-%d-%Y"),
        (["2020-01-31 10:30", "2020-01-31 11:00"], "%Y-%m-%d %H:%M"),
        (["Thursday, 27 April 2023", "Friday, 5 May 2023"], "%d %B %Y"),
        (["2020-01-31T10:30:00Z"], "%Y-%m-%dT%H:%M:%S"),
        (["2020-01-31T10:30:00+02:00"], "%Y-%m-%dT%H:%M:%S"),
    ],
)
def test_dates(words, format):
    form = date_form(words)
    assert form.startswith(f"date {format} > day")
    assert is_form(form)


def test_days_and_parts():
    form = date_form([f"20{k:02d}-{1 + k % 12:02d}-{1 + k:02d}" for k in range(24)])
    assert form == "date %Y-%m-%d > day month weekday"
    assert form_parts(form) == ["", " month", " weekday"]
    days, month, weekday = numbers_of(np.array(["2024-02-29"], object), form)[0]
    date = datetime.date(2024, 2, 29)
    assert days == (date - datetime.date(1970, 1, 1)).days
    assert month == 2 + 28 / 31
    assert weekday == date.weekday()
    assert np.isnan(numbers_of(np.array(["never", None], object), form)).all()


@pytest.mark.parametrize("words", [["1974Q1", "1974Q2", "1975Q4"], ["Q1 1974", "Q2 1974", "Q4 1975"]])
def test_quarters(words):
    form = find_form(dict.fromkeys(words, 1))
    assert form.startswith("date %Y-%m > ")
    days = [
        (datetime.date(*first) - datetime.date(1970, 1, 1)).days
        for first in ((1974, 1, 1), (1974, 4, 1), (1975, 10, 1))
    ]
    assert read(words, form) == days
    assert np.isnan(read(["1974Q5"], form)).all()
    assert find_form({"Q1": 3, "Q2": 4}) == "category"


def test_dates_in_several_formats():
    words = ["2020-01-31", "13/02/2020", "03/04/2021"]
    form = find_form(dict.fromkeys(words, 1))
    assert form == "date %Y-%m-%d | %d/%m/%Y > day month"
    assert is_form(form)
    days = [datetime.date(2020, 1, 31), datetime.date(2020, 2, 13), datetime.date(2021, 4, 3)]
    assert read(words, form) == [(day - datetime.date(1970, 1, 1)).days for day in days]
    assert day_order(words, form) == (True, True)
    assert day_order([words[0], words[2]], "date %Y-%m-%d | %d/%m/%Y > day") == (True, False)
    assert find_form(dict.fromkeys([*words, "04/13/2020"], 1)) == "category"  # days and months in both orders
    assert find_form(dict.fromkeys([*words, "12-345 B"], 1)) == "category"


def test_dates_as_whole_numbers():
    days = [datetime.date(2021, 12, 20) + datetime.timedelta(k) for k in range(30)]
    values = np.array([int(day.strftime("%Y%m%d")) for day in days], float)
    form = compact_date_form(values)
    assert form == "date %Y%m%d > day weekday"
    assert is_form(form)
    read_days, weekdays = numbers_of(values, form).T
    assert read_days.tolist() == [(day - datetime.date(1970, 1, 1)).days for day in days]
    assert weekdays.tolist() == [day.weekday() for day in days]
    assert np.isnan(numbers_of(np.array([np.nan, 20211399.0]), form)).all()
    assert unreadable_words(np.array([np.nan, 20211399.0]), form) == {"20211399": 1}
    assert compact_date_form(np.append(values, 20211399.0)) is None
    assert compact_date_form(values + 0.5) is None
    assert compact_date_form(values[:5]) is None
    assert compact_date_form(np.empty(0)) is None


def test_mixed_columns():
    assert find_form({"3": 5, "4": 5, "5+": 2}) == "category"
    many = dict.fromkeys(map(str, range(100)), 1)
    assert find_form(many | {"unclear": 3}) == "number"
    assert find_form(many | {"unclear": 30}) == "category"
    assert read(["7", "unclear", None], "number")[0] == 7
    assert np.isnan(read(["7", "unclear", None], "number")[1:]).all()


def test_gaps():
    for word in ("", "?", "NaN", "n/a", "NULL", "-", "none", "."):
        assert is_gap(word, "number")
    assert is_gap("NA", "category")
    assert not is_gap("NA", "category NA")
    for word in ("none", "None", "-", "nil"):
        assert not is_gap(word, "category")


def test_forms_of_files_are_checked():
    for form in (
        "number",
        "number .",
        "number ,",
        "number . kg",
        "number , km/h",
        "time",
        "category",
        "category NA",
        "text",
        "date %Y > day",
    ):
        assert is_form(form)
    for form in (
        "numbers",
        "number ; kg",
        "number . 5",
        "date",
        "date %Y",
        "date %Y > month",
        "date %Y > day second",
        7,
        None,
    ):
        assert not is_form(form)
