"""What verbose=True says goes through the logger ``maxmargin``, and to standard error only if nobody else listens.

pytest has handlers of its own, so that standard error is looked at in other processes, which load no more than it takes
to speak."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap

import pytest

from maxmargin import SVC, LinearSVC
from maxmargin.runtime.control import Progress, print_note, print_progress
from maxmargin.runtime.logging import logger, show

X, Y = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]], [0, 0, 1, 1]
SPEAK = 'print_note("spoken")\n'


@pytest.fixture(autouse=True)
def logger_as_it_was():
    level, handlers = logger.level, list(logger.handlers)
    yield
    logger.setLevel(level)
    logger.handlers[:] = handlers


def run(code, **options):
    """Standard output and standard error of a program."""
    program = "import logging, sys\nfrom maxmargin.runtime.control import print_note\n" + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, **options)
    return done.stdout, done.stderr


def test_a_progress_is_one_record(caplog):
    print_progress(Progress(12345, 0.5, 678, 1.5))
    print_note("a note")
    record, note = caplog.records
    assert record.name == note.name == "maxmargin"
    assert record.levelno == logging.INFO
    for part in ("1.50 s", "12,345", "5.000e-01", "678"):
        assert part in record.getMessage()
    assert note.getMessage() == "a note"


@pytest.mark.parametrize("estimator", [SVC(), LinearSVC()], ids=str)
def test_fits_speak_only_if_asked(estimator, caplog):
    estimator.fit(X, Y)
    assert caplog.records == []
    estimator.set_params(verbose=True).fit(X, Y)
    assert any("violation" in record.getMessage() for record in caplog.records)


def test_a_percent_sign_is_no_format(caplog):
    print_note("100 % of %s")
    assert caplog.messages == ["100 % of %s"]


def test_a_level_that_was_chosen_is_kept(caplog):
    logger.setLevel(logging.ERROR)
    print_note("not heard")
    assert caplog.records == []
    show()
    assert logger.level == logging.ERROR


def test_showing_twice_adds_one_handler():
    show()
    number = len(logger.handlers)
    show()
    assert len(logger.handlers) == number


def test_standard_error_of_a_program_without_logging():
    assert run(SPEAK) == ("", "[maxmargin] spoken\n")


def test_nothing_is_set_up_until_something_is_said():
    code = """
    log = logging.getLogger("maxmargin")
    print([type(handler).__name__ for handler in log.handlers], log.level, logging.root.handlers)
    log.warning("of someone else")
    """
    assert run(code) == ("['NullHandler'] 0 []\n", "")


def test_standard_error_is_the_one_of_now():
    code = f"""
    import io
    from contextlib import redirect_stderr
    {SPEAK}
    with redirect_stderr(io.StringIO()) as there:
        {SPEAK}
    print(there.getvalue(), end="")
    """
    assert run(code) == 2 * ("[maxmargin] spoken\n",)


def test_a_program_s_own_logging():
    setup = 'logging.basicConfig(stream=sys.stdout, format="%(name)s: %(message)s")\n'
    assert run(setup + SPEAK) == ("maxmargin: spoken\n", "")


def test_a_program_that_sets_up_logging_late_gets_each_line_once():
    setup = 'logging.basicConfig(stream=sys.stdout, format="%(name)s: %(message)s")\n'
    assert run(SPEAK + setup + SPEAK) == ("maxmargin: spoken\n", "[maxmargin] spoken\n")


def test_a_handler_of_the_logger_itself(tmp_path):
    path = tmp_path / "fit.log"
    assert run(f'logging.getLogger("maxmargin").addHandler(logging.FileHandler({str(path)!r}))\n' + SPEAK) == ("", "")
    assert path.read_text() == "spoken\n"


def test_without_standard_error_nothing_breaks():
    assert run(f"sys.stderr = None\n{SPEAK}print('went on')") == ("went on\n", "")
