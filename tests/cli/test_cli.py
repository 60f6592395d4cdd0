"""The command line: what it prints, how it fails, how quickly it starts."""

import json
import subprocess
import sys
from functools import cache

import click
import numpy as np
import pytest
from click.testing import CliRunner

import maxmargin
from maxmargin import digits
from maxmargin.cli import COMMANDS, main


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


fit_once = cache(digits.run)


@pytest.fixture(autouse=True)
def _share_fits(monkeypatch):
    """Commands with the same parameters share one fit."""
    monkeypatch.setattr(digits, "run", fit_once)


@pytest.fixture
def seven(tmp_path):
    """A picture of a seven, light on dark."""
    image = pytest.importorskip("PIL.Image")
    page = np.zeros((100, 80), dtype=np.uint8)
    page[20:28, 20:60] = 255
    for row in range(28, 85):
        left = 52 - (row - 28) // 2
        page[row, left : left + 9] = 255
    image.fromarray(page).save(tmp_path / "seven.png")
    return tmp_path / "seven.png"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name):
    result = call(name, "--help")
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {name}")


def test_version():
    assert call("--version").output.strip() == f"maxmargin {maxmargin.__version__} ({maxmargin._native.cpu_level()})"


def test_unknown_command():
    result = call("nonsense")
    assert result.exit_code == 2
    assert "No such command 'nonsense'" in result.stderr


def test_help_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from maxmargin.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'matplotlib', 'PIL'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "digits" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_entry_point_reports_errors_of_the_input_in_one_line():
    code = "from maxmargin.cli import main; main(['digits', '--C', '-1'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert "C" in done.stderr
    assert len(done.stderr.splitlines()) == 1


class TestErrors:
    @pytest.fixture
    def failing(self, monkeypatch):
        """Makes the fit fail with a given error."""

        def install(error):
            def run(**parameters):
                raise error

            monkeypatch.setattr(digits, "run", run)

        return install

    def test_one_line_and_exit_code_2(self, failing):
        failing(ValueError("C is wrong:\n  make it positive"))
        result = call("digits")
        assert result.exit_code == 2
        assert result.stderr == "Error: C is wrong: make it positive\n"

    def test_a_file_is_named(self, failing):
        failing(FileNotFoundError(2, "No such file or directory", "data.csv"))
        assert call("digits").stderr == "Error: data.csv: No such file or directory\n"

    def test_debug_shows_the_traceback(self, failing):
        error = ValueError("C is wrong")
        failing(error)
        assert call("--debug", "digits").exception is error

    def test_interrupt(self, failing):
        failing(KeyboardInterrupt())
        assert call("digits").exit_code == 130

    def test_our_own_mistakes_are_not_hidden(self, failing):
        error = AttributeError("bug")
        failing(error)
        assert call("digits").exception is error


class TestDigits:
    def test_prints_the_summary(self):
        result = call("digits")
        assert result.exit_code == 0
        assert digits.run(gamma=0.001, C=1.0).summary() in result.stdout
        assert result.stderr == ""

    def test_reads_pictures_and_goes_on_after_a_bad_one(self, seven, tmp_path):
        (tmp_path / "bad.png").write_text("nothing")
        result = call("digits", tmp_path / "bad.png", tmp_path / "missing.png", seven)
        assert result.exit_code == 2
        assert f"{seven}: 7 (score " in result.stdout
        assert result.stderr.splitlines() == [
            f"Error: {tmp_path / 'bad.png'}: not a picture in a format Pillow reads: give a PNG or JPG file",
            f"Error: {tmp_path / 'missing.png'}: No such file or directory",
        ]

    def test_writes_figures(self, seven, tmp_path):
        pytest.importorskip("matplotlib")
        out = tmp_path / "deep" / "folder"
        result = call("digits", seven, "--out", out)
        assert result.exit_code == 0
        for name in ("digits.png", "pictures.png"):
            assert f"wrote {out / name}" in result.stdout
            assert (out / name).read_bytes().startswith(b"\x89PNG")

    def test_json(self, seven, tmp_path):
        result = call("digits", "--json", seven, tmp_path / "missing.png")
        assert result.exit_code == 2
        found = json.loads(result.stdout)
        assert found["accuracy"] == pytest.approx(714 / 719)
        assert found["scores"]["average"]["support"] == 719
        assert np.sum(found["confusion"]) == 719
        assert found["pictures"][0]["label"] == 7
        assert list(found["errors"]) == [str(tmp_path / "missing.png")]

    def test_parameters(self):
        found = json.loads(call("digits", "--json", "--gamma", "scale", "--C", "2").stdout)
        assert (found["gamma"], found["C"]) == ("scale", 2.0)
        result = call("digits", "--gamma", "wide")
        assert result.exit_code == 2
        assert "'wide' is neither a number" in result.stderr

    def test_out_that_is_a_file(self, tmp_path):
        (tmp_path / "file").write_text("")
        result = call("digits", "--out", tmp_path / "file")
        assert result.exit_code == 2
        assert "is a file" in result.stderr

    def test_without_matplotlib(self, monkeypatch, tmp_path):
        for name in [name for name in sys.modules if name.startswith("maxmargin.displays")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        result = call("digits", "--out", tmp_path)
        assert result.exit_code == 2
        assert result.stderr == 'Error: displays need matplotlib: pip install "maxmargin[plot]"\n'

    def test_without_pillow(self, monkeypatch, seven):
        monkeypatch.setitem(sys.modules, "PIL", None)
        result = call("digits", seven)
        assert result.exit_code == 2
        assert result.stderr == 'Error: pictures need Pillow: pip install "maxmargin[images]"\n'


def test_commands_are_click_commands():
    context = click.Context(main)
    for name in main.list_commands(context):
        assert isinstance(main.get_command(context, name), click.Command)


def test_what_does_not_fit_into_memory_is_refused_with_a_remedy():
    from maxmargin.cli import memory_error

    text = memory_error(MemoryError("Unable to allocate 747. MiB for an array with shape (6989999, 14)"))
    assert text.startswith("the memory is not sufficient (Unable to allocate 747. MiB")
    assert "--stream" in text
    assert memory_error(MemoryError("data.csv needs 2 GB: use --stream.")) == "data.csv needs 2 GB: use --stream."
    assert memory_error(MemoryError()).startswith("the memory is not sufficient: ")


def test_a_command_that_does_not_exist_is_refused_with_the_one_it_resembles():
    assert "No such command 'trian'. Did you mean 'train'?" in call("trian", "x.csv").stderr
    assert "Did you mean" not in call("xyz").stderr
