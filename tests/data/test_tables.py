"""Tables that are not tidy: what is read, what is planned for each column, and what is refused."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from maxmargin.data.survey import survey
from maxmargin.data.table import Table, missing_values, read_table
from maxmargin.data.table_encoder import TableEncoder
from maxmargin.io import DataFileError, read_data


def table_of(folder, content, name="t.csv", **options):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, **options)


def values(array):
    return [None if gap else value for value, gap in zip(array.tolist(), missing_values(array), strict=True)]


class TestReading:
    def test_gaps(self, tmp_path):
        table = table_of(tmp_path, "a,b\n1,x\n,\nNA,NA\n?,none\n 2 , y \n-,-\n")
        assert values(table["a"]) == [1, None, None, None, 2, None]
        assert values(table["b"]) == ["x", None, "NA", "none", "y", "-"]

    def test_words_that_turn_up_late(self, tmp_path):
        lines = [*(f"{k},{k}" for k in range(5000)), "word,1"]
        table = table_of(tmp_path, "a,b\n" + "\n".join(lines))
        assert table["a"].dtype == object
        assert table["a"][[0, -1]].tolist() == ["0", "word"]
        assert table["b"].dtype == np.float64

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le"])
    def test_encodings(self, tmp_path, encoding):
        text = "Größe,Ort\n1,Köln\n2,Łódź\n" if encoding.startswith("utf") else "Größe,Ort\n1,Köln\n2,Málaga\n"
        mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
        table = table_of(tmp_path, mark + text.encode(encoding))
        assert table.columns == ["Größe", "Ort"]
        assert table["Ort"].tolist() == [line.split(",")[1] for line in text.splitlines()[1:]]

    def test_a_damaged_letter_is_not_another_encoding(self, tmp_path):
        with pytest.raises(DataFileError, match=r"t.csv, line 2: the byte 0xff is no UTF-8"):
            table_of(tmp_path, "Größe,b\n1,Kö".encode() + b"\xff\n")

    @pytest.mark.parametrize("quote", ["", '"'])
    def test_the_line_by_which_excel_names_the_separator(self, tmp_path, quote):
        table = table_of(tmp_path, f"{quote}sep=;{quote}\na;b\n1,5;x\n2,5;y\n")
        assert table.columns == ["a", "b"]
        assert survey(table)[0].form == "number ,"

    def test_names(self, tmp_path):
        table = table_of(tmp_path, "a,a,,b\n1,2,3,4\n5,6,7,8\n")
        assert table.columns == ["a", "a (2)", "column 3", "b"]
        assert table.notes == ("several columns are called 'a': the second is 'a (2)' here",)
        assert table_of(tmp_path, "1,2\n3,4\n").columns == ["column 1", "column 2"]
        assert table_of(tmp_path, "x y\nr1 1 2\nr2 3 4\n", "t.data").columns == ["column 1", "x", "y"]
        assert table_of(tmp_path, "a,b\n1,2,\n3,4,\n").columns == ["a", "b", "column 3"]

    def test_decimal_commas_of_one_column_decide_for_others(self, tmp_path):
        table = table_of(tmp_path, "a;b;c\n1,5;1.234;7\n2,5;5.678;8\n")
        assert table.decimal == ","
        plans = survey(table)
        assert [plan.form for plan in plans] == ["number ,", "number ,", "number"]
        encoded = TableEncoder(forms=[plan.form for plan in plans]).fit_transform(table)
        assert encoded.tolist() == [[1.5, 1234, 7], [2.5, 5678, 8]]

    def test_arff(self, tmp_path):
        text = (
            "% a comment\n@relation weather\n@attribute 'out look' {sunny, rainy}\n@attribute t numeric\n"
            "@ATTRIBUTE play {yes,no}\n@data\nsunny, 85, no\n'rainy', ?, yes\n% more\nrainy,70.5,yes\n"
        )
        table = table_of(tmp_path, text, "w.arff")
        assert table.columns == ["out look", "t", "play"]
        assert values(table["t"]) == [85, None, 70.5]
        assert table["out look"].tolist() == ["sunny", "rainy", "rainy"]
        (tmp_path / "full.arff").write_text(text.replace("?", "60"))
        data = read_data(tmp_path / "full.arff")
        assert data.y.tolist() == ["no", "yes", "yes"]
        with pytest.raises(DataFileError, match=r"column 't', row 2: the value is missing"):
            read_data(tmp_path / "w.arff")
        for wrong, message in (
            (text.replace("85", "hot"), "line 7: 'hot' is not a number"),
            (text.replace("rainy,70.5,yes", "rainy,70.5"), "line 10: has 2 fields, and there are 3 attributes"),
            (text.split("@data")[0], "cut short"),
            (text.replace("sunny, 85", "{0 sunny}, 85"), "line 7: is of a sparse ARFF file"),
        ):
            with pytest.raises(DataFileError, match=message):
                table_of(tmp_path, wrong, "w.arff")

    def test_workbooks(self, tmp_path):
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in (
            ["name", "born", "n", "ok"],
            ["a", datetime.date(2020, 1, 2), 1, True],
            ["b", None, None, False],
            [None, None, None, None],
        ):
            book.active.append(row)
        book.save(tmp_path / "b.xlsx")
        table = read_table(tmp_path / "b.xlsx")
        assert table.columns == ["name", "born", "n", "ok"]
        assert len(table) == 2
        assert values(table["born"]) == ["2020-01-02", None]
        assert values(table["n"]) == [1, None]
        assert table["ok"].tolist() == ["true", "false"]
        (tmp_path / "bad.xlsx").write_bytes(b"PK\x03\x04nothing")
        with pytest.raises(DataFileError, match=r"bad.xlsx is damaged"):
            read_table(tmp_path / "bad.xlsx")

    def test_parquet(self, tmp_path):
        pytest.importorskip("pyarrow")
        frame = pd.DataFrame(
            {
                "n": [1.0, None],
                "word": ["a", None],
                "when": pd.to_datetime(["2020-01-02", None]),
                "yes": pd.array([True, None], dtype="boolean"),
                "kind": pd.Categorical(["x", "y"]),
            }
        )
        frame.to_parquet(tmp_path / "t.parquet")
        table = read_table(tmp_path / "t.parquet")
        assert [values(array) for array in table.arrays] == [
            [1, None],
            ["a", None],
            ["2020-01-02 00:00:00", None],
            [1, None],
            ["x", "y"],
        ]

    def test_numpy(self, tmp_path):
        np.save(tmp_path / "t.npy", np.array([[1.0, np.nan], [np.inf, 2.0]]))
        table = read_table(tmp_path / "t.npy")
        assert [values(array) for array in table.arrays] == [[1, None], [None, 2]]

    def test_large_files_give_the_same(self, tmp_path):
        """Through pyarrow, where it is installed, as without it."""
        rng = np.random.default_rng(0)
        lines = [
            f"{a:.6f},{w},{'' if k % 7 == 0 else k}"
            for k, (a, w) in enumerate(
                zip(rng.normal(size=600_000), rng.choice(["red", "green", ""], 600_000), strict=True)
            )
        ]
        path = tmp_path / "t.csv"
        path.write_text("a,b,c\n" + "\n".join(lines))
        assert path.stat().st_size > 8 << 20
        table = read_table(path)
        (tmp_path / "part.csv").write_text("a,b,c\n" + "\n".join(lines[:1000]))
        part = read_table(tmp_path / "part.csv")
        for name in "abc":
            assert values(table[name][:1000]) == values(part[name])

    def test_lines_of_another_length_are_named(self, tmp_path):
        with pytest.raises(DataFileError, match=r"t.csv, line 3: has 3 fields where the first line has 2"):
            table_of(tmp_path, "a,b\n1,2\n1,2,3\n")


class TestSurvey:
    def plans(self, day_first=None, **columns):
        arrays = [
            np.array(column, object if any(isinstance(v, str) for v in column) else float)
            for column in columns.values()
        ]
        return {plan.name: plan for plan in survey(Table(list(columns), arrays), day_first=day_first)}

    def test_ids_and_constants(self):
        n = 30
        found = self.plans(
            PassengerId=list(range(100, 100 + n)),
            id=[f"x{k}" for k in range(n)],
            time=list(range(n)),
            one=[1.0] * n,
            empty=[np.nan] * n,
            word=["a"] * n,
            flag=["x", *[None] * (n - 1)],
        )
        assert {name for name, plan in found.items() if plan.form is None} == {
            "PassengerId",
            "id",
            "one",
            "empty",
            "word",
        }
        assert found["PassengerId"].note == "left out: an ID, 30 different whole numbers"

    def test_ids_that_come_again(self):
        codes = [1000.0 + k // 2 for k in range(60)]
        found = self.plans(ID=codes, store_id=codes, patientId=codes, grid=codes, StoreID=[k % 5 for k in range(60)])
        note = "left out: an ID, 30 different whole numbers; --text 'ID' takes them as categories"
        assert found["ID"].note == note
        assert [name for name, plan in found.items() if plan.form is None] == ["ID", "store_id", "patientId"]

    def test_na_is_a_word_where_the_column_says_so(self):
        assert self.plans(c=["AF", "NA", "EU", "NA"])["c"].form == "category NA"
        assert self.plans(c=["good", "NA", None, "NA"])["c"].form == "category NA"
        plan = self.plans(c=["good", "NA", "bad"])["c"]
        assert (plan.form, plan.n_missing) == ("category", 1)
        plan = self.plans(c=["none", "completed", "none"])["c"]
        assert (plan.form, plan.n_missing, plan.n_distinct) == ("category", 0, 2)

    def test_words_among_numbers_are_told(self):
        plan = self.plans(c=[*map(str, range(50)), "unclear", "?"])["c"]
        assert plan.form == "number"
        assert plan.n_missing == 2
        assert "1 value is not a number and counts as missing ('unclear')" in plan.note

    def test_times_with_and_without_fractions(self):
        plan = self.plans(c=["1999-10-30 00:00:00", "2013-10-01 22:20:10.165196", "2013-10-01 22:20:10"])["c"]
        assert plan.form == "date %Y-%m-%d %H:%M:%S > day hour"
        assert (plan.n_missing, plan.n_distinct) == (0, 2)
        assert plan.note.startswith("date as days, with hour beside")

    def test_days_and_months_that_the_values_leave_open_are_reported(self):
        plan = self.plans(c=["01/02/2020", "03/04/2021", "03/04/2021"])["c"]
        assert plan.form.startswith("date %m/%d/%Y >")
        assert "'01/02/2020' read as 2020-01-02, the month first, which the values leave open" in plan.note
        assert "--dates day-first if not" in plan.note
        plan = self.plans(day_first=True, c=["01/02/2020", "03/04/2021"])["c"]
        assert plan.form.startswith("date %d/%m/%Y >")
        assert plan.note.startswith("date as days, '01/02/2020' read as 2020-02-01")
        assert "--dates" not in plan.note
        plan = self.plans(day_first=False, c=["01-02-2020", "03-04-2021"])["c"]
        assert plan.form.startswith("date %m-%d-%Y >")

    def test_one_value_decides_for_its_column_and_then_for_the_table(self):
        found = self.plans(a=["01/02/2020", "13/04/2021"], b=["01/02/2020", "03/04/2021"])
        assert found["a"].form.startswith("date %d/%m/%Y >")
        assert found["b"].form.startswith("date %d/%m/%Y >")
        assert not any("--dates" in plan.note for plan in found.values())
        found = self.plans(day_first=True, a=["01/02/2020", "04/13/2021"])
        assert found["a"].form.startswith("date %m/%d/%Y >")  # what the values show comes first
        found = self.plans(
            a=["01/02/2020", "13/04/2021"], b=["01/02/2020", "04/13/2021"], c=["01/02/2020", "03/04/2021"]
        )
        assert "--dates day-first if not" in found["c"].note  # the others contradict each other

    def test_dates_in_several_formats_are_reported(self):
        plan = self.plans(c=["2020-01-31", "13/02/2020", "03/04/2021"])["c"]
        assert plan.note == "date as days from 2 formats, '13/02/2020' read as 2020-02-13, with month beside"
        plan = self.plans(c=["2020-01-31", "01/02/2020", "03/04/2021"])["c"]
        assert "'01/02/2020' read as 2020-01-02, the month first, which the values leave open" in plan.note

    def test_whole_numbers_that_are_dates(self):
        days = [float(f"2024{month:02d}{day:02d}") for month in (1, 2) for day in range(1, 15)]
        plan = self.plans(day=[*days, np.nan], day_id=[*days, np.nan])["day"]
        assert (plan.form, plan.n_missing) == ("date %Y%m%d > day weekday", 1)
        assert plan.note == "date as days, 20240101 read as 2024-01-01, with weekday beside; --text 'day' for codes"
        assert self.plans(code_id=days)["code_id"].form is None

    def test_blanks_that_do_not_break_are_shown_as_blanks(self):
        plan = self.plans(c=["1\u00a0234,5", "7,25"])["c"]
        assert plan.note == "number, '1 234,5' read as 1234.5"

    def test_a_few_words_among_dates(self):
        plan = self.plans(c=[*(f"{d:02d}/05/2020" for d in range(1, 29)), "00/00/0000", "soon"])["c"]
        assert plan.form.startswith("date %d/%m/%Y >")
        assert plan.n_missing == 2
        assert "2 values are not dates and count as missing ('00/00/0000', 'soon')" in plan.note


class TestEncoder:
    TABLE = Table(
        ["n", "when", "kind", "text"],
        [
            np.array([1.0, np.nan, 3.0, 8.0]),
            np.array(["2024-01-01", "2024-01-02", None, "2024-01-04"], object),
            np.array(["a", "b", None, "a"], object),
            np.array(["red red wine", "white wine", None, "red car"], object),
        ],
    )
    FORMS = ("number", "date %Y-%m-%d > day", "category", "text")

    def test_missing(self):
        for missing, n, kind in (("median", 3, [0, 0, 1]), ("mode", 1, None), ("indicate", 3, [0, 0, 1])):
            encoder = TableEncoder(["n", "when", "kind", "text"], forms=list(self.FORMS), missing=missing).fit(
                self.TABLE
            )
            Z = encoder.transform(self.TABLE)
            names = encoder.get_feature_names_out().tolist()
            assert Z.shape == (4, len(names))
            assert Z[1, 0] == n
            at = [k for k, name in enumerate(names) if name.startswith("kind_")]
            if kind is None:
                assert [names[k] for k in at] == ["kind_a", "kind_b"]
                assert Z[2, at].tolist() == [1, 0]
            else:
                assert Z[2, [names.index(f"kind_{word}") for word in ("a", "b", "(missing)")]].tolist() == kind
            assert ("n missing" in names) == (missing == "indicate")
            assert (
                encoder.output_columns().tolist() == sorted(encoder.output_columns().tolist()) or missing == "indicate"
            )
            assert len(encoder.output_columns()) == len(names)
        with pytest.raises(ValueError, match="column 0, row 1 is missing or no number"):
            TableEncoder(forms=list(self.FORMS)).fit(self.TABLE)

    def test_words_are_weighted_as_scikit_learn_does(self):
        from sklearn.feature_extraction.text import TfidfVectorizer

        encoder = TableEncoder(forms=["text"], missing="median").fit(self.TABLE.select(["text"]))
        texts = [value or "" for value in self.TABLE["text"].tolist()]
        expected = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(texts).toarray()
        np.testing.assert_allclose(encoder.transform(self.TABLE.select(["text"])), expected)

    def test_rare_categories_share_a_column(self):
        words = np.array(["a"] * 5 + ["b"] * 4 + ["c", "d"], object)[:, None]
        encoder = TableEncoder(["w"], forms=["category"], missing="median", min_frequency=3, handle_unknown="ignore")
        Z = encoder.fit_transform(words)
        assert encoder.get_feature_names_out().tolist() == ["w_a", "w_b", "w_(rare)"]
        assert Z.sum(axis=0).tolist() == [5, 4, 2]
        assert encoder.transform(np.array([["new"]], object)).tolist() == [[0, 0, 1]]
        assert encoder.unknown_categories(np.array([["new"], ["a"]], object)) == {"w": {"new": 1}}

    def test_words_for_numbers_are_counted(self):
        encoder = TableEncoder(["n", "when", "kind", "text"], forms=list(self.FORMS), missing="median").fit(self.TABLE)
        new = np.array(
            [["many", "2024-01-01", "a", "x"], ["2", "tomorrow", "a", "x"], ["many", "?", "b", None]], object
        )
        assert encoder.unreadable_values(new) == {
            "n": ({"many": 2}, "number"),
            "when": ({"tomorrow": 1}, "date %Y-%m-%d > day"),
        }
        assert encoder.unreadable_values(self.TABLE) == {}

    def test_scale_leaves_zeros_and_ones(self):
        rng = np.random.default_rng(0)
        table = np.column_stack([rng.normal(5, 3, 50).astype(object), rng.choice(["x", "y"], 50).astype(object)])
        Z = TableEncoder(scale=True).fit_transform(table)
        assert Z[:, 0].mean() == pytest.approx(0)
        assert Z[:, 0].std() == pytest.approx(1)
        assert set(Z[:, 1:].ravel()) == {0.0, 1.0}

    def test_parameters(self):
        for parameters, message in (
            ({"missing": "guess"}, "missing must be one of"),
            ({"forms": "number"}, "forms must be a list of forms"),
            ({"forms": ["words"]}, "forms\\[0\\] must be a form such as .*; got 'words'"),
            ({"forms": ["number", "number"]}, "forms has length 2, but X has 1 columns"),
            ({"min_frequency": 0}, "min_frequency"),
        ):
            with pytest.raises(ValueError, match=message):
                TableEncoder(**parameters).fit([["a"], ["b"]])

    @pytest.mark.parametrize("missing", ["median", "mode", "indicate"])
    def test_model_files(self, tmp_path, missing):
        from sklearn.pipeline import Pipeline

        from maxmargin import SVC, load, save

        encoder = TableEncoder(
            ["n", "when", "kind", "text"],
            forms=list(self.FORMS),
            missing=missing,
            scale=True,
            min_frequency=2,
            handle_unknown="ignore",
        )
        model = Pipeline([("columns", encoder), ("svm", SVC())]).fit(self.TABLE, [0, 1, 0, 1])
        save(model, tmp_path / "m.mm")
        again = load(tmp_path / "m.mm")
        np.testing.assert_array_equal(again.decision_function(self.TABLE), model.decision_function(self.TABLE))
