"""``maxmargin lab``: a page in the browser on which to play with support vector machines."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command(name="lab", short_help="Experiment with support vector machines in the browser.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Where the page is served.  [default: 8753, or any free one]"
)
@click.option("--no-browser", "no_browser", is_flag=True, help="Print the link, and open nothing.")
@click.option(
    "--export",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the lab into FOLDER as a web page that needs no server, and end.",
)
def command(port: int | None, no_browser: bool, folder: Path | None) -> None:
    """Open a page on which you add points, choose a kernel and C, and see margin, support vectors and certificate.

    Only this computer can open the page, and it loads nothing from the network. Ctrl-C ends the server.
    """
    if folder is not None:
        from maxmargin.lab.site import export

        click.echo(f"wrote {export(folder)}: open it in any browser, or put it on any web server")
        return
    from maxmargin.lab.server import launch

    launch(port, browser=not no_browser, say=click.echo)
    os._exit(0)  # a worker thread in the middle of something is not waited for; click.echo has flushed
