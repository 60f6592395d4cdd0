"""``maxmargin lab``: a page in the browser on which to play with support vector machines."""

from __future__ import annotations

import os

import click

__all__ = ["command"]


@click.command(name="lab", short_help="Play with support vector machines in the browser.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Where the page is served.  [default: 8753, or any free one]"
)
@click.option("--no-browser", "no_browser", is_flag=True, help="Print the link, and open nothing.")
def command(port: int | None, no_browser: bool) -> None:
    """Open a page to click points, choose a kernel and C, and see margin, support vectors and certificate.

    The page is served to this computer only, and nothing is loaded from elsewhere. Ctrl-C ends it.
    """
    from maxmargin.lab.server import launch

    launch(port, browser=not no_browser, say=click.echo)
    os._exit(0)  # a worker thread in the middle of something is not waited for; click.echo has flushed
