"""``maxmargin digits``: the worked example, and pictures of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli import UserError, one_line
from maxmargin.cli._options import Voice, json_option

if TYPE_CHECKING:
    from maxmargin.digits.pictures import PictureResult


def _gamma(ctx: click.Context, param: click.Parameter, value: str) -> float | str:
    """A number, or one of the names SVC knows."""
    if value in ("scale", "auto"):
        return value
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor 'scale' nor 'auto'.") from None


@click.command(name="digits")
@click.argument("images", nargs=-1, metavar="[IMAGE]...", type=click.Path())
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Write figures here.")
@click.option(
    "--gamma",
    metavar="NUMBER|scale|auto",
    default="0.001",
    show_default=True,
    callback=_gamma,
    help="Parameter of the Gaussian kernel.",
)
@click.option("--C", "C", type=float, default=1.0, show_default=True, help="Weight of a point inside the margin.")
@json_option
@click.pass_context
def command(ctx: click.Context, images: tuple[str, ...], out: Path | None, gamma: Any, C: float, as_json: bool) -> None:
    """Train and test a classifier of handwritten digits, and classify your own IMAGEs.

    Separates scikit-learn's 1797 digits at random, fits a support vector machine on 60 % of them, predicts the
    rest, and prints the table of precision and recall beside the naive baseline. An IMAGE is a picture of one
    digit, PNG or JPG, of any size, dark on light or the reverse.
    """
    if out is not None:
        from maxmargin.displays import DigitsDisplay, PicturesDisplay  # first, so that a missing matplotlib shows now

        out.mkdir(parents=True, exist_ok=True)
    from maxmargin import digits

    result = digits.run(gamma=gamma, C=C)
    if not as_json:
        click.echo(result.summary())
        if images:
            click.echo()

    pictures: list[PictureResult] = []
    errors: dict[str, str] = {}
    for image in images:
        try:
            picture = digits.classify_pictures(result.model, [image])[0]
        except (ValueError, OSError) as error:
            if ctx.find_root().params.get("debug"):
                raise
            errors[image] = one_line(error)
            click.echo(f"Error: {errors[image]}", err=True)
        else:
            pictures.append(picture)
            if not as_json:
                click.echo(str(picture))

    files: list[Path] = []
    if out is not None:
        files.append(out / "digits.png")
        DigitsDisplay.from_result(result).plot().figure_.savefig(files[-1], dpi=120)
        if pictures:
            files.append(out / "pictures.png")
            PicturesDisplay.from_results(pictures).plot().figure_.savefig(files[-1], dpi=120)

    if as_json:
        findings = {"gamma": gamma, "C": C, **result.to_dict(), "report": str(result.model.report_)}
        findings["pictures"] = [_as_dict(picture) for picture in pictures]
        findings["errors"] = errors
        findings["files"] = [str(file) for file in files]
        Voice(as_json).finish(findings)
    elif files:
        click.echo()
        for file in files:
            click.echo(f"wrote {file}")
    if errors:
        ctx.exit(UserError.exit_code)


def _as_dict(picture: PictureResult) -> dict[str, Any]:
    return {
        "file": picture.path,
        "label": picture.label,
        "score": picture.scores[picture.label],
        "runner_up": picture.runner_up,
        "scores": {str(digit): score for digit, score in sorted(picture.scores.items())},
    }
