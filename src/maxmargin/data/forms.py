"""How the values of a column are written, and what they are worth.

    number             1234.5                         the plain form, as float() reads it
    number .           1,234.5   $1,234   12 %        a decimal point, thousands marked by a comma, a blank or '
    number ,           1.234,5   1.234 €  0,5         a decimal comma, thousands marked by a point, a blank or '
    number . kg        51.3 kg   72kg                 with a unit, the same in all values ("number , kg" likewise)
    date FORMAT PARTS  2024-05-31   2024Q2            by strptime's format: the day, and parts that vary within a year;
                                                      20240531; several formats ("%Y-%m-%d | %d.%m.%Y") where they mix
    time               14:35     1:02:33.5            hours
    category           red, green                     words; "category NA" where NA is one of them and not a gap
    text               a sentence                     its words count, see TableEncoder

A form is found from all values of a column and stays the same from then on, so that the same word is never read in two
ways. "1,234" alone may be 1234 or 1.234, and 01/02/2024 the first of February or the second of January: other values
of the column decide, then those of other columns, and a word that does not fit the form is missing, not guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import numpy as np

from maxmargin.data.text.sniffing import is_finite_number, is_number
from maxmargin.runtime.validation import Array

GAPS = frozenset(("", "?", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "#value!", "#div/0!", "#ref!"))
# words that stand for a missing number, and may be ordinary among texts
NUMBER_GAPS = GAPS | frozenset(("na", "n.a.", "none", "nil", "-", "--", ".", "..", "*", "missing", "unknown"))
FORM_MIN_SHARE = 0.9  # of the values that must fit a form; the others are then missing
MIXED_MIN_DISTINCT = 20  # numbers in a column that has words, too: with fewer they are codes
VALUE_MAX_LETTERS = 100  # of a number with marks or a unit, and of a date: the patterns take quadratic time
FORM_SAMPLE_WORDS = 200  # by which a date's format is found, before all are read
SYMBOLS = r"[$€£¥₹]|USD|EUR|GBP|CHF|kr"
BLANK = " \u00a0\u202f"  # between groups of three digits: a blank, one that does not break, a narrow one
DATE_LIKE = re.compile(r"\d{1,4}\D{1,3}(\d{1,2}|[A-Za-z]{3,9})\b.*|[A-Za-z]{3,9}[ ,.-]+\d.*|\d{1,2}:\d\d.*|Q\d.*")
TIME = re.compile(r"(\d{1,4}):([0-5]?\d)(?::([0-5]?\d(?:\.\d*)?))?")
FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6, "mn": 1e6, "Mio": 1e6, "B": 1e9, "bn": 1e9}
UNIT = r"[^\W\d_][^\W_]{0,11}(?:/[^\W\d_]{1,6})?|°[CF]?"  # kg, months, km/h
UNIT_MIN_DISTINCT = 3  # numbers of a column with a unit: 2WD and 4WD are names
QUARTER = re.compile(r"(?P<year>\d{4})[ -]?Q(?P<quarter>[1-4])|Q(?P<first>[1-4])[ /-]?(?P<then>\d{4})")
WEEKDAY = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\.?,?\s+")
FRACTION = re.compile(r"(?<=:\d\d)\.\d+$")
ZONE = re.compile(r"\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)$")
DATES = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y"),
    *("%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y", "%d-%b-%y", "%b-%d-%Y", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%b %d, %Y"),
    *("%B %d, %Y", "%B %d %Y", "%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%b-%y", "%b-%Y", "%B %Y", "%Y %b"),
)
COMPACT_DATE = "%Y%m%d"  # as a number, 20240531
COMPACT_DATES = (19000101, 20991231)  # between which whole numbers may be dates
COMPACT_MIN_DISTINCT = 10  # all of them days of the calendar: of random numbers in these bounds, one in 27 is
MIXED_MAX_FORMATS = 3  # of dates in one column
TIMES = ("", " %H:%M:%S", " %H:%M", "T%H:%M:%S", "T%H:%M", " %I:%M:%S %p", " %I:%M %p")
DAY_AND_MONTH = re.compile(r"(^|\| )%([dm])([/.-])%([dm])")  # at the beginning of a format
EPOCH = datetime(1970, 1, 1)
PARTS: dict[str, Callable[[datetime], float]] = {
    "day": lambda when: (when - EPOCH) / timedelta(days=1),
    "month": lambda when: when.month + (when.day - 1) / 31,
    "weekday": lambda when: float(when.weekday()),
    "hour": lambda when: when.hour + when.minute / 60,
}


def _grammar(decimal: str) -> re.Pattern[str]:
    group = "," if decimal == "." else r"\."
    digits = rf"[1-9]\d{{0,2}}(?:[{group}'’{BLANK}]\d{{3}})+|\d+"
    number = rf"(?:{digits})(?:{re.escape(decimal)}\d*)?(?:[eE][-+]?\d+)?|{re.escape(decimal)}\d+"
    sign = r"(?P<sign>[-+−]?)"
    factor = rf"(?:\s?(?P<factor>{'|'.join(FACTORS)})(?![^\W\d_]))?"
    end = rf"(?P<after>[-−](?=\s*(?:{SYMBOLS})?$))?\s*(?P<end>%|{SYMBOLS})?(?P<word>{UNIT})?"
    return re.compile(rf"{sign}\s*(?P<unit>{SYMBOLS})?\s*(?P<minus>[-−]?)(?P<number>{number}){factor}{end}")


GRAMMARS = {".": _grammar("."), ",": _grammar(",")}


def _number_match(word: str, decimal: str) -> re.Match[str] | None:
    return GRAMMARS[decimal].fullmatch(word) if len(word) <= VALUE_MAX_LETTERS else None


def is_gap(word: str, form: str) -> bool:
    """Whether a word of a column stands for a missing value."""
    lower = word.lower()
    if form.startswith(("number", "time")):
        return lower in NUMBER_GAPS
    return lower in GAPS or (lower == "na" and form != "category NA")


def parse_number(word: str, decimal: str, unit: str = "") -> float:
    """The number that a word stands for, or NaN, also for one with another unit or beyond 1e308; (12) and 12- are -12,
    as accountants write it, and 12k is 12,000."""
    bare = word[1:-1] if word.startswith("(") and word.endswith(")") else word
    match = _number_match(bare.strip(), decimal)
    if match is None or (match["word"] and _singular(match["word"]) != unit):
        return float(word) if is_finite_number(word) and decimal == "." else np.nan
    digits = re.sub(f"[{',' if decimal == '.' else '.'}'’{BLANK}]", "", match["number"]).replace(decimal, ".")
    signs = [match["sign"] not in ("", "+"), bool(match["minus"]), bool(match["after"]), bare is not word]
    value = float(digits) * FACTORS.get(match["factor"], 1.0) * (-1.0 if sum(signs) % 2 else 1.0)
    return value if np.isfinite(value) else np.nan


def _singular(unit: str) -> str:
    """A unit without the s of a plural: 1 year, 2 years."""
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit


def decimal_and_unit(form: str) -> tuple[str, str]:
    """The decimal mark of a form of numbers, and the unit behind its numbers."""
    _, decimal, unit = (form + "  ").split(" ", 2)
    return decimal or ".", unit.strip()


def parse_time(word: str) -> float:
    """Hours of a time of day or of a duration, or NaN."""
    match = TIME.fullmatch(word)
    return np.nan if match is None else int(match[1]) + int(match[2]) / 60 + float(match[3] or 0) / 3600


def parse_date(word: str, format: str) -> datetime | None:
    """A date without its weekday, its zone and fractions of a second, which some of a column's times may have; the
    first month of a quarter. Of several formats the first that fits counts."""
    if len(word) > VALUE_MAX_LETTERS:
        return None
    quarter = QUARTER.fullmatch(word)
    if quarter:
        month = 3 * int(quarter["quarter"] or quarter["first"]) - 2
        word = f"{quarter['year'] or quarter['then']}-{month:02d}"
    word = WEEKDAY.sub("", word, 1)
    if ":" in word:
        word = FRACTION.sub("", ZONE.sub("", word))
    for one in format.split(" | "):
        try:
            return datetime.strptime(word, one.removesuffix(".%f"))
        except ValueError:
            continue
    return None


def number_form(words: Iterable[str], decimal: str | None = None) -> str | None:
    """The form of words of which all are numbers, or None. ``decimal`` settles what the words leave open."""
    words = list(words)
    if all(map(is_number, words)) and not (decimal == "," and any("." in word for word in words)):
        return "number"
    found = []
    for mark in (".", ","):
        matches = []
        for word in words:
            matches.append(_number_match(word.strip("() "), mark))
            if matches[-1] is None and not (mark == "." and is_number(word)):
                break
        else:
            units = {match["unit"] or match["end"] or "" for match in matches if match}
            names = {_singular(match["word"] or "") for match in matches if match} - {""}
            if names and (len(names) > 1 or units != {""} or len(words) < UNIT_MIN_DISTINCT):
                continue
            if len(units) == 1 or (len(units) == 2 and "" in units and "%" not in units):
                found.append((f"number {mark} {''.join(names)}").strip())
    if len(found) == 2:
        found = found[1:] if decimal == "," else found
    return found[0] if found else None


def is_ambiguous(words: Iterable[str]) -> bool:
    """Whether the words are numbers with a decimal comma and with a decimal point alike, of different values."""
    words = list(words)
    forms = number_form(words, ".") or "", number_form(words, ",") or ""
    if not (forms[0].startswith("number .") and forms[1].startswith("number ,")):
        return False
    unit = decimal_and_unit(forms[0])[1]
    return any(parse_number(word, ".", unit) != parse_number(word, ",", unit) for word in words)


def date_form(words: Iterable[str], day_first: bool | None = None, share: float = 1.0) -> str | None:
    """The format of words of which at least this share are dates, and the parts that vary; or "time". ``day_first``
    settles what the words leave open."""
    words = list(words)
    sample = words[:FORM_SAMPLE_WORDS]
    if not sample or not all(map(DATE_LIKE.fullmatch, sample)):
        return None
    if all(map(TIME.fullmatch, words)):
        return "time"
    for date in sorted(DATES, key=lambda date: day_first is not None and _is_day_first(date) is not day_first):
        for time in TIMES:
            if _share(sample, date + time, share) and _share(words, date + time, share):
                return _named(words, date + time)
    formats = _mixed_formats(sample, day_first)
    return _named(words, formats) if formats and _share(words, formats, share) else None


def compact_date_form(values: Array) -> str | None:
    """The form of numbers that are all dates like 20240531, or None."""
    low, high = COMPACT_DATES
    if len(values) == 0 or values.min() < low or values.max() > high or (values != np.round(values)).any():
        return None
    words = [f"{value:.0f}" for value in np.unique(values).tolist()]
    if len(words) < COMPACT_MIN_DISTINCT or not _share(words, COMPACT_DATE, 1.0):
        return None
    return _named(words, COMPACT_DATE)


def _named(words: Iterable[str], format: str) -> str:
    """The form of dates of a format, with the parts that vary."""
    dates = [when for word in words if (when := parse_date(word, format))]
    return f"date {format} > {' '.join(_varying(dates))}"


def _mixed_formats(words: list[str], day_first: bool | None) -> str | None:
    """Formats by which all these words are dates, with days and months in the same order in all of them; None where
    there are none."""
    orders = (day_first,) if day_first is not None else (False, True) if "/" in "".join(words) else (True, False)
    for order in orders:
        rest, formats = words, list[str]()
        known = [date + time for date in DATES if _is_day_first(date) in (None, order) for time in TIMES]
        while rest and len(formats) < MIXED_MAX_FORMATS:
            fitting = [format for format in known if parse_date(rest[0], format)]
            if not fitting:
                break
            unread = {format: [word for word in rest if parse_date(word, format) is None] for format in fitting}
            formats.append(min(fitting, key=lambda format: len(unread[format])))
            rest = unread[formats[-1]]
        if not rest:
            return " | ".join(formats)
    return None


def _share(words: list[str], format: str, least: float) -> bool:
    """Whether at least this share of the words are dates of a format; stops at the first word too many that is none."""
    allowed = (1 - least) * len(words)
    for word in words:
        if parse_date(word, format) is None:
            allowed -= 1
            if allowed < 0:
                return False
    return True


def _varying(dates: list[datetime]) -> list[str]:
    """The day, and the parts of a date that say something beside it: the month over more than a year, the weekday of
    days, the hour."""
    parts = ["day"]
    if max(dates) - min(dates) > timedelta(days=366) and len({when.month for when in dates}) > 1:
        parts.append("month")
    if len({when.weekday() for when in dates}) > 1 and len({when.day for when in dates}) > 7:
        parts.append("weekday")
    if len({when.hour for when in dates}) > 1:
        parts.append("hour")
    return parts


def _is_day_first(format: str) -> bool | None:
    """Whether a format has the day before the month; None where it cannot be taken for the other order."""
    order = DAY_AND_MONTH.search(format)
    return None if order is None else order[2] == "d"


def day_order(words: Iterable[str], form: str) -> tuple[bool, bool] | None:
    """Whether dates of this form have the day first, and whether the words show it, or could be read in either order;
    None where there is no question."""
    first = _is_day_first(form[5:]) if form.startswith("date ") else None
    if first is None:
        return None
    format = form[5:].partition(" > ")[0]
    swapped = DAY_AND_MONTH.sub(r"\1%\4\3%\2", format)
    dates = [(parse_date(word, format), parse_date(word, swapped)) for word in words]
    return first, any(one is not None and other is None for one, other in dates)


def find_form(words: dict[str, int], decimal: str | None = None, day_first: bool | None = None) -> str:
    """The form of a column by its words, which are not gaps, and how often each occurs; "category" where none fits."""
    total = sum(words.values())
    found = number_form(words, decimal) or date_form(words, day_first)
    if found is not None:
        return found
    numbers = _most_numbers(words, decimal or ".", FORM_MIN_SHARE * total)
    if len(numbers) > MIXED_MIN_DISTINCT:
        return number_form(numbers, decimal) or "category"
    first = next(iter(words), "")
    if DATE_LIKE.fullmatch(first):
        likely = [word for word in words if DATE_LIKE.fullmatch(word)]
        if sum(words[word] for word in likely) >= FORM_MIN_SHARE * total:
            return date_form(likely, day_first, FORM_MIN_SHARE) or "category"
    return "category"


def _most_numbers(words: dict[str, int], decimal: str, least: float) -> list[str]:
    """The words that are numbers, if they occur at least so often together; none otherwise, which shows long before the
    last word of most texts."""
    numbers, left = list[str](), sum(words.values())
    for word, n in words.items():
        if not np.isnan(parse_number(word, decimal)):
            numbers.append(word)
            continue
        left -= n
        if left < least:
            return []
    return numbers


def form_parts(form: str) -> list[str]:
    """What stands behind a column's name in the names of its numbers: nothing for a number."""
    if form.startswith("date "):
        return ["", *(f" {part}" for part in form.partition(" > ")[2].split()[1:])]
    return [""]


def is_form(form: object) -> bool:
    """Whether this is one of the forms above."""
    if not isinstance(form, str):
        return False
    if form.startswith("date "):
        parts = form.partition(" > ")[2].split()
        return bool(parts) and parts[0] == "day" and set(parts) <= set(PARTS)
    if form.startswith(("number . ", "number , ")):
        return re.fullmatch(UNIT, form[9:]) is not None
    return form in ("number", "number .", "number ,", "time", "category", "category NA", "text")


def unreadable_words(column: Array, form: str) -> Counter[str]:
    """The words of a column of numbers, dates or times that are neither of this form nor gaps, and so count as missing;
    and how often each occurs."""
    column = _compact_dates(column, form)
    if column.dtype != object:
        return Counter()
    words = Counter(word.strip() for word in column.tolist() if isinstance(word, str))
    parts = len(form_parts(form))
    return Counter({w: n for w, n in words.items() if not is_gap(w, form) and np.isnan(_read(w, form, parts)[0])})


def numbers_of(column: Array, form: str) -> Array:
    """The values of a column of numbers, dates or times: one row per value, one column per part; NaN where missing or
    where a word does not fit the form. Each different word is read once."""
    parts = len(form_parts(form))
    column = _compact_dates(column, form)
    if column.dtype != object:
        values = column.astype(np.float64)
        values = np.where(np.isfinite(values), values, np.nan)[:, None]
        return values if parts == 1 else np.hstack([values, np.full((len(values), parts - 1), np.nan)])
    known: dict[object, tuple[float, ...]] = {}
    for value in set(column.tolist()):
        known[value] = _read(value, form, parts)
    return np.array([known[value] for value in column.tolist()], np.float64).reshape(len(column), parts)


def _compact_dates(column: Array, form: str) -> Array:
    """Numbers of the form 20240531 as words; any other column as it is."""
    if column.dtype == object or not form.startswith(f"date {COMPACT_DATE} > "):
        return column
    return np.array([None if value != value else f"{value:.0f}" for value in column.tolist()], object)


def _read(value: object, form: str, parts: int) -> tuple[float, ...]:
    nothing = (np.nan,) * parts
    if value is None or not isinstance(value, str):
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return nothing
        return (number if np.isfinite(number) else np.nan, *nothing[1:])
    word = value.strip()
    if is_gap(word, form):
        return nothing
    if form.startswith("date "):
        format, _, names = form[5:].partition(" > ")
        when = parse_date(word, format)
        return nothing if when is None else tuple(PARTS[name](when) for name in names.split())
    if form == "time":
        return (parse_time(word),)
    if form == "number":
        number = float(word) if is_number(word) else np.nan
        return (number if np.isfinite(number) else np.nan,)
    return (parse_number(word, *decimal_and_unit(form)),)
