"""``maxmargin serve``: a model behind a small HTTP endpoint on this computer."""

from __future__ import annotations

import click


@click.command(name="serve", short_help="Serve predictions over HTTP on this computer.")
@click.argument("model", type=click.Path())
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8754,
    show_default=True,
    help="Where to listen; 0 takes any free port.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Another address lets other computers in: there is no login."
)
@click.option(
    "--max-mb", type=click.FloatRange(0, min_open=True), default=10.0, show_default=True, help="Largest request."
)
def command(model: str, port: int, host: str, max_mb: float) -> None:
    """Serve predictions of MODEL over HTTP until Ctrl-C.

    \b
    POST /predict        rows as JSON ({"rows": [{"age": 31, "sex": "m"}]}) or CSV
    GET  /health         whether the server is up
    GET  /openapi.json   a description for programs; / is a page for people

    \b
    curl -H "Content-Type: text/csv" --data-binary @new.csv \\
         localhost:8754/predict
    curl -H "Content-Type: application/json" -d '{"rows": [{"age": 31}]}' \\
         localhost:8754/predict
    """
    from maxmargin.cli._model import load_model
    from maxmargin.cli._server import launch

    launch(load_model(model), host, port, int(max_mb * 1e6), click.echo)
