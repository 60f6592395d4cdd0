"""What train and tune say after the fit: the columns, the certificate, the test beside a baseline and a linear model,
the columns that matter, and how to do better."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np

from maxmargin.cli._data import take
from maxmargin.cli._findings import ClassFindings, Findings, NumberFindings, decimals, findings_of, is_imbalanced
from maxmargin.cli._fit import Work, report_as_dict, was_interrupted
from maxmargin.cli._model import Model
from maxmargin.cli._options import LABEL_LETTERS, NAME_LETTERS, Voice, counted, cut, figure, in_bytes, short_names
from maxmargin.data.survey import ColumnPlan
from maxmargin.data.table import Table
from maxmargin.runtime.validation import Array

COLUMNS_SHOWN = 25  # of those to which something was done
PLURALS = {
    "number": "{:,} numbers",
    "category": "{:,} categories",
    "date": "{:,} dates",
    "time": "{:,} times",
    "text": "{:,} texts",
    "left out": "{:,} left out",
}
LINEAR_MAX_CELLS = 20_000_000  # of the training rows: fitting a linear model to more takes longer than a second
TRAIN_SCORE_MAX_ROWS = 5_000  # on which the training score is computed
STOPPED_TEST_MAX_ROWS = 1_000  # of the test that are predicted after Ctrl-C, in about a second
IMPORTANCE_MAX_ROWS = 1_000  # of the test
IMPORTANCE_SECONDS = 3.0
IMPORTANCE_REPEATS = 3  # shuffles of a column
IMPORTANT_SHOWN = 8
IMPORTANT_MIN_LOSS = 0.0005  # of score: less prints as 0.000
BETTER_GAP = 0.02  # between the scores of two models, from which on one is called better
ADVICE_MIN_ROWS = 20  # of a test that says something
SUSPICIOUS_SCORE = 0.99  # from which on nothing is left to gain, and a column may give the target away
OVERFIT_GAP = 0.1  # between the scores of training and test rows


def conclude(
    work: Work,
    model: Model,
    voice: Voice,
    output: str | None,
    judged_by: str | None = None,
    *,
    tuned: bool = False,
    stopped: bool = False,
) -> dict[str, Any]:
    """Save the model, say what came out, and give it as a dictionary. ``tuned``: its parameters come from a search;
    ``stopped``: which was interrupted.

    Where it cannot be saved, the results are shown before the error."""
    size, unsaved = None, None
    if output is not None:
        from maxmargin.io import save

        try:
            save(model.estimator, output)
            size = os.path.getsize(output)
        except OSError as error:
            unsaved = error
    report = getattr(model.svm, "stream_report_", None) or model.svm.report_
    fills = _fills(work.encoder) if work.plans else {}
    interrupted = stopped or was_interrupted(report)
    for line in column_lines(work.plans, work.encoder, fills):
        voice.say(line)
    voice.say(f"\n{report}")
    if work.target_spread != 1.0:
        voice.say(
            "C, epsilon and tolerance are those for a target of variance 1, times its standard deviation, "
            f"{figure(work.target_spread)}."
        )
    found: Findings | None = None
    extra: dict[str, Any] = {}
    if work.X_test is not None and not interrupted:
        found, extra = _tested(work, model, voice, judged_by, tuned)
    elif work.X_test is not None:
        n = work.X_test.shape[0]
        rows = np.unique(np.linspace(0, n - 1, min(n, STOPPED_TEST_MAX_ROWS)).astype(int))
        known = None if work.y_test is None else work.y_test[rows]
        found = findings_of(model, take(work.X_test, rows), known, work.y, "of the training rows", judged_by)
        which = "the" if len(rows) == n else f"{len(rows):,} of the"
        voice.say(f"\nOn {which} {counted(n, 'row')} of the test:\n\n{found.text()}\n\n{found.verdict}")
    if unsaved is not None:
        raise unsaved
    if output is None:
        voice.say("\nThe model was not saved: say -o model.mm to keep it.")
    else:
        voice.say(f"\nsaved {output} ({in_bytes(size or 0)})" + (", the best model so far" if interrupted else ""))
    return {
        "task": work.task,
        "task_reason": work.reason,
        "n_train": int(work.X.shape[0]),
        "n_columns": int(work.X.shape[1]),
        "columns": [{**asdict(plan), "missing_are": fills.get(plan.name)} for plan in work.plans],
        "steps": [" ".join(str(step).split()) for step in model.steps],
        "report": report_as_dict(report),
        "test": None if found is None else found.to_dict(),
        **extra,
        "output": output,
        "output_bytes": size,
        "interrupted": interrupted,
    }


def _tested(
    work: Work, model: Model, voice: Voice, judged_by: str | None, tuned: bool
) -> tuple[Findings, dict[str, Any]]:
    """The test, and what stands beside it."""
    if judged_by is None and getattr(model.svm, "class_weight", None) is not None:
        judged_by = "balanced accuracy"
    from maxmargin.cli._progress import showing_step

    with showing_step("predicting the rows of the test", work.X_test.shape[0]):
        found = findings_of(model, work.X_test, work.y_test, work.y, "of the training rows", judged_by)
    voice.say(f"\nOn the {counted(work.X_test.shape[0], 'row')} of the test:\n\n{found.text()}")
    if not isinstance(found, ClassFindings | NumberFindings):
        voice.say(f"\n{found.verdict}")
        return found, {}
    main = found.main_score()
    name, score = main.name, main.value
    rows = min(work.X.shape[0], TRAIN_SCORE_MAX_ROWS)
    train = None
    if work.y is not None and not hasattr(work.X, "batches"):
        own = findings_of(model, take(work.X, np.arange(rows)), work.y[:rows], work.y, "", found_by(found))
        train = own.main_score().value  # type: ignore[union-attr]
    linear = linear_score(work, found_by(found))
    if train is not None or linear is not None:
        rows = [(name, "test", "train"), ("this model", decimals(score), "" if train is None else decimals(train))]
        if linear is not None:
            rows.append(("a linear model", decimals(linear), ""))
        widths = [max(17, len(name) + 2), max(len(row[1]) for row in rows) + 2]
        voice.say("\n" + "\n".join(f"{a:<{widths[0]}}{b:<{widths[1]}}{c}".rstrip() for a, b, c in rows))
    important = importances(model, work.X_test, work.y_test, found_by(found))
    if important:
        voice.say(f"\nColumns that matter most (loss of {name} when the column is shuffled):")
        shown = [item for item in important.items() if item[1] >= IMPORTANT_MIN_LOSS][:IMPORTANT_SHOWN]
        names = short_names(important)
        for column, loss in shown:
            voice.say(f"  {names[column]:<{NAME_LETTERS + 1}}{decimals(loss)}")
        if not shown:
            voice.say(f"  none: shuffling a single column does not lower the {name}")
    voice.say(f"\n{found.verdict}")
    tips = advice(work, model, found, train, linear, next(iter(important), None), tuned)
    for tip in tips:
        voice.say(f"Tip: {tip}")
    return found, {"train_score": train, "linear_score": linear, "importances": important, "tips": tips}


def found_by(found: ClassFindings | NumberFindings) -> str | None:
    return found.judged_by if isinstance(found, ClassFindings) else None


def column_lines(plans: list[ColumnPlan], encoder: Any, fills: dict[str, str]) -> list[str]:
    """What was done to the columns: one line each, but for plain numbers without gaps."""
    if not plans:
        return []
    kinds: dict[str, int] = {}
    notes, names = [], short_names(plan.name for plan in plans)
    for plan in plans:
        kind = "left out" if plan.form is None else plan.form.split()[0]
        kinds[kind] = kinds.get(kind, 0) + 1
        gaps = ""
        if plan.form is not None and plan.n_missing and plan.form != "text":
            gaps = f"; {plan.n_missing:,} missing" + (f", {fills[plan.name]}" if plan.name in fills else "")
        if plan.note != "number" or gaps:
            notes.append(f"  {names[plan.name]:<{NAME_LETTERS + 1}} {plan.note}{gaps}")
    scaled = ", numbers standardised" if getattr(encoder, "scale", False) and kinds.get("number") else ""
    kinds["left out"] = kinds.pop("left out", 0)
    lines = [
        "\nColumns: "
        + ", ".join(PLURALS[kind].format(n) if n > 1 else f"{n} {kind}" for kind, n in kinds.items() if n)
        + scaled
    ]
    lines += notes[:COLUMNS_SHOWN]
    if len(notes) > COLUMNS_SHOWN:
        lines.append(f"  ... and {len(notes) - COLUMNS_SHOWN:,} more (--json lists all)")
    return lines


def _fills(encoder: Any) -> dict[str, str]:
    """What becomes of a missing value, by the name of the column."""
    found, at = {}, 0
    columns = zip(encoder.columns, encoder.forms, encoder.categories_, encoder.fill_categories_, strict=True)
    for name, form, categories, fill in columns:
        if categories is not None:
            found[name] = f"filled with {fill!r}" if encoder.missing == "mode" else "a category of their own"
            continue
        date = form.startswith("date")
        word = "most frequent value" if encoder.missing == "mode" else "median"
        found[name] = f"filled with the {word}" + ("" if date else f" {figure(encoder.fill_[at], 6)}")
        at += 1 if not date else len(form.partition(" > ")[2].split())
    return found


def linear_score(work: Work, judged_by: str | None) -> float | None:
    """The score of a linear model of the same columns on the same test, if it is fitted in no time."""
    if work.encoder is None or work.estimator.__class__.__name__.startswith("Linear"):
        return None
    Z = work.encoder.transform(work.X)
    if Z.shape[0] * Z.shape[1] > LINEAR_MAX_CELLS:
        return None
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import Pipeline

    from maxmargin.svm import LinearSVC

    if work.task == "regress":
        linear: Any = Ridge().fit(Z, work.y)
    else:
        weight = getattr(work.estimator, "class_weight", None)
        with warnings.catch_warnings():  # of a model that nobody asked for
            warnings.simplefilter("ignore")
            linear = LinearSVC(class_weight=weight, max_seconds=IMPORTANCE_SECONDS).fit(Z, work.y)
        if not linear.report_.converged:
            return None
    other = Model("", Pipeline([("columns", work.encoder), ("svm", linear)]), False)
    found = findings_of(other, work.X_test, work.y_test, work.y, "", judged_by)
    return found.main_score().value  # type: ignore[union-attr]


def importances(model: Model, X: Any, y: Array | None, judged_by: str | None) -> dict[str, float]:
    """The loss of score when a column's values are shuffled among the rows of the test, largest first."""
    if not isinstance(X, Table) or X.shape[1] < 2 or y is None:
        return {}
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))[:IMPORTANCE_MAX_ROWS]
    X, y = X.take(rows), y[rows]
    if model.task == "classify" and len(np.unique(y)) < 2:
        return {}

    def score(table: Table) -> float:
        return findings_of(model, table, y, y, "", judged_by).main_score().value  # type: ignore[union-attr]

    unshuffled, end, found = score(X), time.perf_counter() + IMPORTANCE_SECONDS, {}
    for j, name in enumerate(X.columns):
        losses = []
        for _ in range(IMPORTANCE_REPEATS):
            arrays = [*X.arrays]
            arrays[j] = arrays[j][rng.permutation(len(y))]
            losses.append(unshuffled - score(Table(X.columns, arrays)))
        found[name] = float(np.mean(losses))
        if time.perf_counter() > end:
            return {}  # some columns only would mislead
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def advice(
    work: Work, model: Model, found: Any, train: float | None, linear: float | None, first: str | None, tuned: bool
) -> list[str]:
    """How to do better, from what the scores show; ``first`` is the column that matters most."""
    main = found.main_score()
    score, (low, high) = main.value, main.interval
    tips, perfect = [], score >= SUSPICIOUS_SCORE
    if perfect and first is not None:
        tips.append(
            "hardly a mistake is left: make sure that no column repeats the target or is known only after it, "
            f"{first!r} first of all (--drop)."
        )
    if work.ordered_by is not None:
        tips.append(
            f"the rows are in the order of {work.ordered_by!r}, and those of the test lie among the others: "
            "--test-last tests on the last ones, as a forecast is tested."
        )
    if not tuned and train is not None and train - score > OVERFIT_GAP and len(found.truth) >= ADVICE_MIN_ROWS:
        tips.append(
            "the model is much better on the rows it was trained on (overfitting): try a smaller --C or --gamma."
        )
    if linear is not None and linear >= score and len(found.truth) >= ADVICE_MIN_ROWS:
        how = "better" if linear - score > BETTER_GAP else "as good"
        tips.append(f"a linear model is {how}: try --kernel linear, which is faster and easier to explain.")
    weighted = getattr(model.svm, "class_weight", None) is not None
    if work.task == "classify" and work.y is not None and is_imbalanced(work.y) and not weighted and not perfect:
        labels, counts = np.unique(work.y, return_counts=True)
        rare = cut(labels[np.argmin(counts)], LABEL_LETTERS)
        share = f"{counts.min() / len(work.y):.1%} of the rows"
        tips.append(
            f"label {rare} is rare ({share}): --class-weight balanced finds more such rows, with more false alarms."
        )
    offered = [plan.name for plan in work.plans if plan.form is None and "takes its words" in plan.note]
    if offered:
        tips.append(f"the words of {offered[0]!r} may help: --text {offered[0]!r}.")
    if not tuned and not perfect and (high - low < 0.5 or not tips or not found.better):
        tips.append("maxmargin tune with the same options looks for a better C and gamma.")
    if tuned and not found.better:
        tips.append("these columns hardly tell the target: more rows, other columns, or another --target may help.")
    return tips
