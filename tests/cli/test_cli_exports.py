"""Files as spreadsheets and reports export them: what is not the table is left out and reported."""

import numpy as np
import pytest
from command_runner import call, found, refused

ROWS = 120
RNG = np.random.default_rng(0)
SIZE, SHIFT = RNG.normal(50, 10, ROWS), RNG.normal(0, 1, ROWS)
COLOUR = RNG.choice(["red", "green", "blue"], ROWS)
LABEL = np.where(SIZE / 10 + 2 * SHIFT > 5, "yes", "no")
HEAD = "size,shift,colour,label"


def lines(*columns, sep=","):
    return [sep.join(row) for row in zip(*columns, strict=True)]


def plain_rows():
    return lines([f"{v:.1f}" for v in SIZE], [f"{v:.3f}" for v in SHIFT], COLOUR, LABEL)


def written(tmp_path, text, encoding="utf-8", name="export.csv"):
    path = tmp_path / name
    path.write_bytes(("\n".join(text) if isinstance(text, list) else text).encode(encoding))
    return path


def notes(result):
    return [line for line in result.stderr.replace("\n  ", " ").splitlines() if line.startswith("Note: ")]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ([HEAD, *plain_rows()], None),
        (["Sales report 2024", "Created by Anna,,,", "", HEAD, *plain_rows()], "3 lines before the table"),
        (["Sales report 2024,,,", HEAD, *plain_rows()], "1 line before the table"),
        (["# exported by a tool", "# sizes: mm, shifts: none", HEAD, *plain_rows()], "2 lines before the table"),
        ([HEAD, *plain_rows(), "", "Source: internal"], f"line {ROWS + 3} below the table"),
        ([HEAD, *plain_rows()[:60], HEAD, *plain_rows()[60:]], "line 62 that repeats the header"),
        ([HEAD + ",", *(line + "," for line in plain_rows())], None),
        ("\ufeff" + "\r\n".join([HEAD, *plain_rows()]), None),
        ("\r".join([HEAD, *plain_rows()]), None),
        ("sep=,\r\n" + "\r\n".join([HEAD, *plain_rows()]), None),
    ],
)
def test_what_stands_around_the_table(tmp_path, text, note):
    path = written(tmp_path, text)
    result = call("train", path, "-o", tmp_path / "export.mm")
    assert result.exit_code == 0, result.output
    assert f"{ROWS} rows" in " ".join(result.stdout.split())
    assert notes(result) == ([] if note is None else [f"Note: {note} left out."])
    columns = {plan["name"]: plan["form"] for plan in found("train", path)["columns"]}
    assert {name: columns[name] for name in HEAD.split(",")[:3]} == {
        "size": "number",
        "shift": "number",
        "colour": "category",
    }
    predicted = call("predict", tmp_path / "export.mm", path)
    assert predicted.exit_code == 0, predicted.output
    assert len(predicted.stdout.split()) >= ROWS


def test_a_short_line_inside_the_table_is_an_error(tmp_path):
    rows = plain_rows()
    path = written(tmp_path, [HEAD, *rows[:50], "oops", *rows[50:]])
    assert refused("train", path).endswith("line 52: has 1 field where the first line has 4: correct it.")


@pytest.mark.parametrize(
    ("column", "form", "value"),
    [
        ([f"{v:.1f} kg" for v in SIZE], "number . kg", SIZE),
        ([f"${v * 1000:,.2f}" for v in SIZE], "number .", SIZE * 1000),
        ([f"{v:.1f}%" for v in SIZE], "number .", SIZE),
        ([f"{v:.2f}k" for v in SIZE], "number .", SIZE * 1000),
        ([f"{v:.2f}".replace(".", ",") for v in SIZE], "number ,", SIZE),
        ([f"{v * 1000:,.2f}".replace(",", "\u202f").replace(".", ",") for v in SIZE], "number ,", SIZE * 1000),
        ([f"({v:.2f})" if k % 2 else f"{v:.2f}" for k, v in enumerate(SIZE)], "number .", None),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_numbers_as_spreadsheets_write_them(tmp_path, column, form, value, encoding):
    path = written(tmp_path, ["size;label", *lines(column, LABEL, sep=";")], encoding)
    result = found("train", path, "-o", tmp_path / "numbers.mm", "--no-scale", "--test-size", "0")
    assert [plan["form"] for plan in result["columns"]] == [form]
    if value is not None:
        from maxmargin import load
        from maxmargin.data.table import read_table

        numbers = load(tmp_path / "numbers.mm")[0].transform(read_table(path).select(["size"]))
        np.testing.assert_allclose(numbers.ravel(), value, atol=0.051 if value is SIZE else 51)


def test_a_row_of_totals_is_left_out(tmp_path):
    units, hours = np.round(SIZE), np.round(np.abs(SHIFT) * 10)
    head, rows = (
        "region,units,hours,sales",
        lines([f"R{k}" for k in range(ROWS)], *([f"{v:g}" for v in c] for c in (units, hours, 3 * units))),
    )
    total = f"All,{units.sum():g},{hours.sum():g},{3 * units.sum():g}"
    for text, place in (([head, *rows, total], "last"), ([head, total, *rows], "first")):
        result = call("train", written(tmp_path, text))
        assert result.exit_code == 0, result.output
        assert notes(result) == [f"Note: the {place} row left out: its numbers are the sums of the other rows."]
        assert f"{ROWS} rows" in " ".join(result.stdout.split())
    assert notes(call("train", written(tmp_path, [head, *rows]))) == []
    named = ["region,units,label", *lines([f"R{k}" for k in range(ROWS)], [f"{v:g}" for v in units], LABEL)]
    assert len(notes(call("train", written(tmp_path, [*named, f"Total,{units.sum():g},"])))) == 1


def test_targets_that_are_no_numbers(tmp_path):
    price = [f"{v:.1f}" for v in SIZE]
    price[3] = price[40] = "on request"
    path = written(tmp_path, ["shift,price", *lines([f"{v:.3f}" for v in SHIFT], price)])
    result = call("train", path)
    assert notes(result) == ["Note: 2 rows left out whose target 'price' is no number ('on request')."]
    assert "task regress" in result.stdout
    rough = [
        "shift,price",
        *lines([f"{v:.3f}" for v in SHIFT], ["no" if k % 3 == 0 else p for k, p in enumerate(price)]),
    ]
    result = call("train", written(tmp_path, rough), "--task", "regress")
    assert result.exit_code == 0, result.output
    assert "('no', 'on request')" in notes(result)[0]
    mixed = ["500 EUR" if k % 6 == 0 else "7 %" if k % 6 == 3 else f"{v:.1f}" for k, v in enumerate(SIZE)]
    result = call(
        "train", written(tmp_path, ["shift,price", *lines([f"{v:.3f}" for v in SHIFT], mixed)]), "--task", "regress"
    )
    assert notes(result) == ["Note: 40 rows left out whose target 'price' is no number ('500 EUR', '7 %')."]


def test_labels_that_differ_in_case_only(tmp_path):
    labels = [label.upper() if k % 2 else label for k, label in enumerate(LABEL)]
    result = call("train", written(tmp_path, ["size,label", *lines([f"{v:.1f}" for v in SIZE], labels)]))
    assert notes(result) == [
        "Note: labels that differ only in case are different classes: 'NO' and 'no', 'YES' and 'yes'."
    ]


def test_an_excel_file_by_another_name(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (HEAD, *plain_rows()):
        book.active.append(row.split(","))
    book.save(tmp_path / "export.xlsx")
    path = (tmp_path / "export.xlsx").rename(tmp_path / "export.csv")
    assert found("train", path)["n_train"] == 90


def test_grades_are_numbers_and_codes_are_labels(tmp_path):
    grades = [f"{v:.0f}" for v in np.clip(np.round(10 + 4 * SHIFT), 0, 20)]
    head = "size,shift,grade"
    columns = [f"{v:.1f}" for v in SIZE], [f"{v:.3f}" for v in SHIFT]
    assert found("train", written(tmp_path, [head, *lines(*columns, grades)]))["task"] == "regress"
    codes = [str(k % 12) for k in range(ROWS)]
    assert found("train", written(tmp_path, [head, *lines(*columns, codes)]))["task"] == "classify"


def test_scores_stand_in_columns(tmp_path):
    rare = ["fraud" if k % 30 == 0 else "fine" for k in range(ROWS)]
    text = call("train", written(tmp_path, ["size,label", *lines([f"{v:.1f}" for v in SIZE], rare)])).stdout
    (head,) = [line for line in text.splitlines() if line.startswith("balanced accuracy ")]
    (own,) = [line for line in text.splitlines() if line.startswith("this model ")]
    assert head.split()[2:] == ["test", "train"]
    assert [float(word) for word in own.split()[2:]] == pytest.approx([0.5, 0.5], abs=0.2)
    assert own[head.index("train") :].startswith("0.")
    assert "label fraud is rare (3.3% of the rows)" in " ".join(text.split())
