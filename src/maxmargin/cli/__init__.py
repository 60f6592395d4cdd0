"""The command ``maxmargin``. A subcommand is a file here with a click command named ``command``, and a line below.

These files import nothing heavy at their top, so that ``maxmargin --help`` answers at once.
"""

from __future__ import annotations

import errno
import importlib
import os
from typing import Any

import click

from maxmargin import __version__

__all__ = ["main"]

COMMANDS = {
    "digits": "maxmargin.cli.digits",
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

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(130)
        except (ValueError, OSError, ImportError) as error:
            # A closed pipe (maxmargin ... | head) is not an error of the input: click ends quietly.
            if ctx.params["debug"] or (isinstance(error, OSError) and error.errno == errno.EPIPE):
                raise
            raise UserError(one_line(error)) from error


def one_line(error: BaseException) -> str:
    """An error's message without line breaks; of a file's error, the file and the cause."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="maxmargin")
@click.option("--debug", is_flag=True, help="Show the full traceback of an error.")
def main(debug: bool) -> None:
    """Support vector machines and kernel methods."""
