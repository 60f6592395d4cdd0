"""``maxmargin completion``: let the shell complete commands, options and files."""

from __future__ import annotations

import click


@click.command(name="completion", short_help="Print the completion script for bash, zsh or fish.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script that makes SHELL complete maxmargin's commands and options.

    \b
    bash    eval "$(maxmargin completion bash)"      in ~/.bashrc
    zsh     eval "$(maxmargin completion zsh)"       in ~/.zshrc
    fish    maxmargin completion fish | source       in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "maxmargin", "_MAXMARGIN_COMPLETE").source())
