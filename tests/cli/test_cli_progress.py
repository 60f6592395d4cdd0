"""The bar of a fit: how far it is, what is left, and that it only shows on a terminal."""

import io
import sys
import warnings

import pytest

from maxmargin import SVC
from maxmargin.cli import _progress
from maxmargin.cli._options import Voice
from maxmargin.cli._progress import READING_SHOWN_MIN_BYTES, Way, showing_progress, showing_reading, showing_step
from maxmargin.data.source import reading
from maxmargin.runtime.control import Control, Progress
from maxmargin.svm.kernel.forecast import LongFitWarning


def at(violation, seconds=1.0):
    return Progress(iteration=1, violation=violation, n_support=3, seconds=seconds)


class TestWay:
    def test_equal_factors_are_equal_steps(self):
        way = Way(tol=1e-3)
        shares = []
        for violation in (1.0, 1e-1, 1e-2, 1e-3):
            way.see(at(violation))
            shares.append(way.share)
        assert shares == pytest.approx([0, 1 / 3, 2 / 3, 1])

    def test_never_goes_back(self):
        way = Way(tol=1e-3)
        for violation in (1.0, 1e-2, 1e-1):
            way.see(at(violation))
        assert way.share == pytest.approx(2 / 3)

    def test_time_left(self):
        way = Way(tol=1e-4)
        way.see(at(1.0))
        assert way.left(2.0) is None
        way.see(at(1e-1))
        assert way.left(2.0) == pytest.approx(6.0)

    def test_a_limit_of_time(self):
        assert Way(tol=1e-3, problems=3, max_seconds=5).left(2.0) == 3.0
        way = Way(tol=1e-3, max_seconds=5)
        way.see(at(1.0))
        way.see(at(1e-1))
        assert way.left(4.0) == 1.0

    def test_the_forecast_counts_until_the_share_is_known(self):
        way = Way(tol=1e-4)
        way.forecast = 100.0
        way.see(at(1.0))
        assert way.left(30.0) == 70.0
        assert way.left(130.0) is None
        way.see(at(1e-2))
        assert way.left(30.0) == pytest.approx(30.0)
        many = Way(tol=1e-4, problems=45, max_seconds=50)
        many.forecast = 100.0
        assert many.left(30.0) == 20.0

    @pytest.mark.parametrize("violation", [float("nan"), float("inf"), 0.0, -1.0])
    def test_odd_violations(self, violation):
        way = Way(tol=1e-3)
        way.see(at(violation))
        assert way.share == 0.0


class Terminal(io.StringIO):
    def isatty(self):
        return True


def fit():
    SVC(solver="smo").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


@pytest.mark.parametrize("estimators", [1, 3])
def test_shown_on_a_terminal(monkeypatch, estimators):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with showing_progress(1e-3, estimators):
        fit()
    assert "support vectors" in sys.stderr.getvalue()


def test_the_forecast_of_a_warning_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    notes = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *more, **named: notes.append(str(message)))
    warning = LongFitWarning("it takes long")
    warning.seconds = 600.0
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with showing_progress(1e-3, 45):
            warnings.warn(warning, stacklevel=1)
            control = Control(max_seconds=None)
            control.started -= 60.0
            control.report(1, 0.5, 10)
    assert notes == ["it takes long"]
    assert "9 minutes left" in sys.stderr.getvalue()


def test_after_the_last_byte_the_bar_says_what_is_done(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    size = 2 * READING_SHOWN_MIN_BYTES
    with showing_reading():
        reading.get()("small.csv", 10, 10)
        reading.get()("large.csv", size // 2, size)
    assert "reading" in sys.stderr.getvalue()
    assert "joining the columns" not in sys.stderr.getvalue()
    with showing_reading():
        reading.get()("large.csv", size, size)
    assert "joining the columns" in sys.stderr.getvalue()


def test_steps_with_many_rows_are_shown(monkeypatch, tmp_path):
    """None of them passes without a word: a table of ten million rows takes minutes."""
    from maxmargin.cli._fit import fit, prepare
    from maxmargin.cli.commands.train import PARAMETERS, command

    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{k},{k % 2}\n" for k in range(40)))
    options = command.make_context("train", [str(tmp_path / "t.csv")]).params
    parameters = {name: options[name] for name in PARAMETERS}
    monkeypatch.setattr(_progress, "STEP_SHOWN_MIN_ROWS", 40)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with showing_step("counting", 39):
        pass
    assert sys.stderr.getvalue() == ""
    work = prepare(str(tmp_path / "t.csv"), options, parameters, Voice(False))
    assert "examining the columns" in sys.stderr.getvalue()
    assert "dividing the rows" in sys.stderr.getvalue()
    monkeypatch.setattr(_progress, "STEP_SHOWN_MIN_ROWS", 30)
    fit(work, Voice(False))
    assert "turning the columns into numbers" in sys.stderr.getvalue()


class FileTerminal(io.TextIOWrapper):
    def isatty(self):
        return True


def test_a_note_does_not_run_into_the_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", FileTerminal(io.BytesIO(), "utf-8"))
    monkeypatch.setenv("TERM", "xterm")
    stream = sys.stderr
    with showing_progress(1e-3):
        fit()
        Voice(False).note("Note: it takes long.")
    stream.flush()
    shown = stream.buffer.getvalue().decode()
    before = shown[: shown.index("Note: it takes long.")]
    assert before.endswith(("\n", "\x1b[2K"))  # a new line, or one that was cleared


def test_silent_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with showing_progress(1e-3):
        fit()
    assert sys.stderr.getvalue() == ""
