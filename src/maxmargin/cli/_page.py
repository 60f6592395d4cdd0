"""``--report page.html``: what train or tune found as one page that needs nothing else.

Tables are HTML, bars are boxes of their width, the ROC curve is an SVG path, and the picture of the model, drawn by
``maxmargin.displays``, is in the page as data.
"""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.cli import UserError
from maxmargin.cli._findings import decimals
from maxmargin.cli._fit import Work
from maxmargin.cli._model import Model
from maxmargin.cli._options import Voice, check_folder, figure
from maxmargin.data.table import Table

PICTURE_MAX_ROWS = 1000
CLASSES_MAX = 20  # of a confusion matrix on the page
BARS_MAX = 15
STYLE = Path(__file__).with_name("page.css")


def check_page(path: str, options: dict[str, Any]) -> None:
    """Refuse before the fit what could not be written after it."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise UserError(f"--report {path}: the name of a page ends in .html.")
    if options.get("stream"):
        raise UserError("--report goes without --stream: leave out one of them.")
    check_folder(path)
    from maxmargin import displays  # noqa: F401  a missing matplotlib shows now


def write_page(path: str, data: str, work: Work, model: Model, found: dict[str, Any]) -> None:
    """Write the page in one step."""
    from maxmargin.io._atomic import write_atomically

    test = found["test"] or {}
    parts = [
        f"<h1>{_(Path(data).name)}: {_(work.target or work.task)}</h1>",
        "<p class=muted>" + "<br>".join(_(line) for line in work.description.split("\n")) + "</p>",
        _verdict(work, model, test),
        _cards(found, test),
        _confusion_and_roc(work, model, test),
        _bars(found.get("importances") or {}, str(test.get("judged_by", "score"))),
        _picture(work, model),
        _reliability(work, model),
        _columns(found),
        _tips(found.get("tips") or []),
        f"<h2>The fit</h2><pre>{_(str(getattr(model.svm, 'report_', '')))}</pre>",
    ]
    title = f"maxmargin: {Path(data).name}"
    text = (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{_(title)}</title><style>\n{STYLE.read_text('utf-8')}</style>{''.join(parts)}</html>"
    )
    write_atomically(path, [text.encode()])


def _(text: Any) -> str:
    return html.escape(str(text))


def _verdict(work: Work, model: Model, test: dict[str, Any]) -> str:
    if not test:
        return "<p class=verdict>No rows were held out: there is no test.</p>"
    if work.task == "outliers":
        return f"<p class=verdict>{test['n_outliers']:,} of {test['n']:,} test rows lie outside.</p>"
    good = test["better_than_baseline"]
    text = "clearly better than" if good else "not clearly better than"
    return (
        f"<p class='verdict{'' if good else ' warn'}'>By {_(test['judged_by'])} on {test['n']:,} rows that took no "
        f"part in training, the model is <b>{text}</b> the naive baseline.</p>"
    )


def _cards(found: dict[str, Any], test: dict[str, Any]) -> str:
    def card(value: float | None, name: str, more: str = "") -> str:
        return (
            ""
            if value is None
            else f"<div class=card><b>{decimals(value)}</b>{_(name)}<br><span>{_(more)}</span></div>"
        )

    if "score" not in test:
        return ""
    low, high = test["score_interval"]
    cards = [
        card(test["score"], f"{test['judged_by']}, test", f"95 % interval {decimals(low)} to {decimals(high)}"),
        card(found.get("train_score"), f"{test['judged_by']}, training", "rows it has learnt from"),
        card(test["baseline_score"], "naive baseline", "knows the targets only"),
        card(found.get("linear_score"), "linear model", "of the same columns"),
    ]
    if test["judged_by"] != "accuracy":
        cards.append(card(test.get("accuracy"), "accuracy", f"naive {test.get('baseline', 0):.3f}"))
    if test["judged_by"] != "AUC":
        cards.append(card(test.get("auc"), "AUC", "naive 0.500"))
    if "mae" in test:
        median = test["baseline_median"]["mae"]
        cards.append(
            f"<div class=card><b>{figure(test['mae'], 4)}</b>mean absolute error<br><span>of the median: "
            f"{figure(median, 4)}</span></div>"
        )
    return f"<div class=cards>{''.join(cards)}</div>"


def _confusion_and_roc(work: Work, model: Model, test: dict[str, Any]) -> str:
    confusion = test.get("confusion")
    if not confusion or len(confusion["labels"]) > CLASSES_MAX:
        return ""
    labels, matrix = confusion["labels"], np.array(confusion["matrix"])
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    head = "".join(f"<th>{_(label)}</th>" for label in labels)
    rows = ""
    for i, label in enumerate(labels):
        cells = "".join(
            f"<td style='background:rgba({'0,114,178' if i == j else '213,94,0'},{share[i, j]:.2f});"
            f"color:{'#fff' if share[i, j] > 0.55 else '#111'}'>{matrix[i, j]:,}</td>"
            for j in range(len(labels))
        )
        rows += f"<tr><th>{_(label)}</th>{cells}</tr>"
    curve = _roc(work, model) if test.get("auc") is not None else ""
    return (
        "<h2>Confusion matrix</h2><div class=side><div><p class=muted>true (down), predicted (across)</p>"
        f"<table class=matrix><tr><th></th>{head}</tr>{rows}</table></div>{curve}</div>"
    )


def _roc(work: Work, model: Model) -> str:
    """Share of the second class found against share of the first taken for it, for every threshold."""
    from sklearn.metrics import roc_curve

    values = np.asarray(model.estimator.decision_function(work.X_test))
    positive = work.y_test == model.svm.classes_[1]
    alarms, hits = roc_curve(positive, values, drop_intermediate=False)[:2]
    path = " ".join(f"{30 + 200 * x:.1f},{210 - 200 * y:.1f}" for x, y in zip(alarms, hits, strict=True))
    return (
        "<div><p class=muted>ROC curve</p><svg width=250 height=245 role=img aria-label='ROC curve'><rect x=30 y=10 "
        "width=200 height=200 fill=none stroke=#999 /><line x1=30 y1=210 x2=230 y2=10 stroke=#999 stroke-dasharray=4 />"
        f"<polyline points='{path}' fill=none stroke=#0072b2 stroke-width=2.5 /><text x=130 y=230 font-size=12 "
        "text-anchor=middle>false alarms</text><text transform='translate(20 110) rotate(-90)' font-size=12 "
        f"text-anchor=middle>{_(model.svm.classes_[1])} found</text></svg></div>"
    )


def _bars(important: dict[str, float], score: str) -> str:
    if not important:
        return ""
    largest = max(max(important.values()), 1e-9)
    rows = ""
    for name, loss in list(important.items())[:BARS_MAX]:
        width = max(1, round(260 * min(1.0, abs(loss) / largest)))
        bar = f"<span class='bar{' neg' if loss < 0 else ''}' style='width:{width}px'></span>"
        rows += f"<tr><td>{_(name)}</td><td>{bar} {decimals(loss)}</td></tr>"
    about = f"Loss of {_(score)} when a column is shuffled among the test rows."
    return f"<h2>Columns that matter</h2><p class=muted>{about}</p><table>{rows}</table>"


def _picture(work: Work, model: Model) -> str:
    from maxmargin.cli._data import Rows
    from maxmargin.cli._pictures import draw

    X, y = (work.X, work.y) if work.X_test is None else (work.X_test, work.y_test)
    if X.shape[0] < 3:
        return ""
    columns = X.columns if isinstance(X, Table) else None
    what, figure = draw(model, Rows(X, y, columns, work.target, ""), 0, PICTURE_MAX_ROWS, Voice(True))
    return f"<h2>Picture</h2><p class=muted>{_(what[0].upper() + what[1:])}; rows of the test.</p>{_image(figure)}"


def _reliability(work: Work, model: Model) -> str:
    if work.X_test is None or work.task != "classify" or not hasattr(model.estimator, "predict_proba"):
        return ""
    from maxmargin.displays import ReliabilityDisplay

    display = ReliabilityDisplay.from_predictions(
        model.estimator.predict_proba(work.X_test), work.y_test, classes=model.svm.classes_
    ).plot()
    return f"<h2>Probabilities</h2>{_image(display.figure_)}"


def _image(figure: Any) -> str:
    memory = io.BytesIO()
    figure.savefig(memory, format="png", dpi=110)
    return f"<img alt='' src='data:image/png;base64,{base64.b64encode(memory.getvalue()).decode()}'>"


def _columns(found: dict[str, Any]) -> str:
    if not found["columns"]:
        return ""
    rows = []
    for plan in found["columns"]:
        missing = f"{plan['n_missing']:,}" if plan["n_missing"] else ""
        if missing and plan["missing_are"]:
            missing += f", {plan['missing_are']}"
        rows.append(f"<tr><td>{_(plan['name'])}</td><td>{_(plan['note'])}</td><td>{_(missing)}</td></tr>")
    head = "<tr><th>column</th><th>what was done</th><th>missing</th></tr>"
    return f"<h2>Columns</h2><table>{head}{''.join(rows)}</table>"


def _tips(tips: list[str]) -> str:
    return "" if not tips else "<h2>How to do better</h2><ul>" + "".join(f"<li>{_(tip)}</li>" for tip in tips) + "</ul>"
