"""The command ``maxmargin``. A subcommand is a file in ``commands/`` with a click command named ``command``, and a line
below.

These files import nothing heavy at their top, so that ``maxmargin --help`` answers at once. What several commands share
is here.

    exit code   0  done
                1  a bug in maxmargin
                2  something is wrong with the input: one line on standard error says what, where, and what to do
              130  interrupted
"""

from __future__ import annotations

import difflib
import errno
import importlib
import os
from typing import Any

import click

from maxmargin import __version__

__all__ = ["main"]

INTERRUPTED = 130  # the exit code of a command that Ctrl-C has ended
COMMANDS = {  # name -> module
    name: f"maxmargin.cli.commands.{name}"
    for name in (
        *("train", "tune", "predict", "evaluate", "explain", "inspect", "plot"),
        *("convert", "serve", "digits", "lab", "doctor", "completion"),
    )
}

# what the library calls it -> what the commands do
OPTIONS = {
    "max_seconds": "--max-seconds",
    "max_iter": "--max-iter",
    "cache_size": "--cache-size",
    "say which with format": "say which with --format",
    "for instance with sklearn.preprocessing.StandardScaler": "for instance with --scale",
    "set handle_unknown='ignore'": "train with --unknown ignore",
    "fit a TableEncoder on some of the data and give it as encoder": "train without --stream, or leave the column out",
    "scoring must be one of sklearn.metrics.get_scorer_names(), or a function; got scoring=": (
        "--scoring takes the names of scikit-learn's scores, such as accuracy, f1_macro, roc_auc, r2; got "
    ),
    "maxmargin.large_scale.forecast_approximation(estimator, X, y) compares the two": "add --approximate",
}

REMEDIES = {
    errno.ENOSPC: ": make room, or write to another disk.",
    errno.EACCES: ": change its permissions, or choose another place.",
    errno.EROFS: ": choose another place.",
}


class UserError(click.ClickException):
    """What is wrong with the input, in one line."""

    exit_code = 2


class Commands(click.Group):
    """Loads a subcommand's file when it is asked for, and turns errors of the input into one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand; of one that does not exist, the name that it resembles."""
        if args[0] not in COMMANDS and (alike := difflib.get_close_matches(args[0], COMMANDS, n=1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {alike[0]!r}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        from maxmargin.runtime.interrupts import interrupts

        try:
            with interrupts("keep"):  # a command saves the best model so far
                return super().invoke(ctx)
        except click.UsageError as error:
            hint = "" if error.ctx is None else f" See {error.ctx.command_path} --help."
            raise UserError(one_line_of(error.format_message()) + hint) from error
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except MemoryError as error:
            if ctx.params["debug"]:
                raise
            raise UserError(in_options(memory_error(error))) from error
        except (ValueError, OSError, ImportError) as error:
            # A closed pipe (maxmargin ... | head) is not an error of the input: click ends quietly.
            if ctx.params["debug"] or (isinstance(error, OSError) and error.errno == errno.EPIPE):
                raise
            raise UserError(in_options(one_line(error))) from error


def one_line(error: BaseException) -> str:
    """An error's message without line breaks; of a file's error, the file and the cause."""
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{place}{error.strerror}{REMEDIES.get(error.errno or 0, '')}"
    return one_line_of(str(error)) or type(error).__name__


def memory_error(error: MemoryError) -> str:
    """The message of the library, which names the remedy; of NumPy, which knows the array only, with a remedy."""
    text = one_line_of(str(error)).removesuffix(".")
    if text and not text.startswith("Unable to allocate"):
        return f"{text}."
    cause = f" ({text})" if text else ""
    return f"the memory is not sufficient{cause}: leave out columns with --drop, give fewer rows, or try --stream."


def in_options(text: str) -> str:
    """A message of the library with the names that its parameters have on the command line."""
    for name, option in OPTIONS.items():
        text = text.replace(name, option)
    return text


def one_line_of(text: str) -> str:
    return " ".join(text.split())


def show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """The version, and the instruction set that the compiled part was made for."""
    if value:
        from maxmargin import _native

        click.echo(f"maxmargin {__version__} ({_native.cpu_level()})")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=show_version, help="Show the version."
)
@click.option("--debug", is_flag=True, help="Show the full traceback of an error.")
def main(debug: bool) -> None:
    """Support vector machines and kernel methods.

    \b
    maxmargin train iris.csv -o iris.mm     learn, test, save
    maxmargin predict iris.mm new.csv       labels of new rows
    maxmargin train --help                  all about one command

    Exit codes: 0 done, 2 something is wrong with the input, 130 interrupted, 1 a bug in maxmargin.
    """
