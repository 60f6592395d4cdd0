"""Commands as a user runs them: their results, their JSON, and the one line of those that refuse their input."""

import json

from click.testing import CliRunner

from maxmargin.cli import main


def call(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


def found(*arguments):
    """The JSON of a command that succeeds."""
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*arguments, notes=(), **options):
    """The one line of a command that refuses its input; before it there are these notes, folded at 80 columns, only."""
    result = call(*arguments, **options)
    assert result.exit_code == 2, result.output
    *before, error = result.stderr.replace("\n  ", " ").splitlines()
    assert error.startswith("Error: "), result.stderr
    assert before == list(notes)
    return error
