"""Tables as analysts have them: what train does to each column, and predict with what training did not have."""

import csv

import numpy as np
import pytest
from command_runner import call, found, refused

from maxmargin import load
from maxmargin.cli import COMMANDS

HEAD = ["customer_id", "age", "city", "joined", "income", "share", "comment", "same", "churn"]


@pytest.fixture
def customers(tmp_path):
    """200 customers: IDs, gaps, dates, prices, percents, sentences and a constant; churn depends on income and city."""
    rng = np.random.default_rng(0)
    rows = [HEAD]
    for k in range(200):
        income, city = int(rng.integers(900, 9000)), ["Rome", "Oslo", "Bern", ""][rng.integers(0, 4)]
        age = "" if k % 10 == 0 else str(rng.integers(18, 80))
        joined = f"20{rng.integers(10, 24)}-{rng.integers(1, 13):02d}-{rng.integers(1, 28):02d}"
        share = f"{rng.integers(0, 101)} %"
        comment = f"it was {['good', 'bad'][k % 2]} on day {k} for me"
        churn = "yes" if income > 4000 or city == "Rome" else "no"
        rows.append([f"C{k:04d}", age, city, joined, f"${income:,}", share, comment, "x", churn])
    path = tmp_path / "customers.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


class TestColumns:
    def test_each_is_told(self, customers):
        plans = {plan["name"]: plan for plan in found("train", customers)["columns"]}
        assert plans["customer_id"]["note"] == "left out: an ID, 200 different values"
        assert plans["age"]["form"] == "number"
        assert plans["age"]["n_missing"] == 20
        assert plans["age"]["missing_are"].startswith("filled with the median ")
        assert plans["city"]["form"] == "category"
        assert plans["joined"]["form"] == "date %Y-%m-%d > day month weekday"
        assert plans["income"]["form"] == "number ."
        assert "read as" in plans["income"]["note"]
        assert plans["share"]["form"] == "number ."
        assert "--text 'comment'" in plans["comment"]["note"]
        assert plans["same"]["note"] == "left out: it is 'x' in every row"

    def test_the_model_learns_from_them(self, customers, tmp_path):
        result = found("train", customers, "-o", tmp_path / "c.mm")
        assert result["test"]["better_than_baseline"] is True
        assert next(iter(result["importances"])) == "income"
        text = call("train", customers).stdout
        assert "20 missing, filled with the median" in " ".join(text.split())
        assert max(map(len, text.splitlines()[2:])) <= 80

    def test_the_encoder_is_that_of_the_training_rows(self, customers, tmp_path):
        call("train", customers, "-o", tmp_path / "c.mm", "--test-size", "0")
        encoder = load(tmp_path / "c.mm")[0]
        assert encoder.columns == ["age", "city", "joined", "income", "share"]
        with open(customers, newline="") as file:
            rows = list(csv.DictReader(file))
        incomes = np.array([float(row["income"].replace("$", "").replace(",", "")) for row in rows])
        at = encoder.get_feature_names_out().tolist().index("income")
        table = np.array([[row[name] or None for name in encoder.columns] for row in rows], object)
        np.testing.assert_allclose(encoder.transform(table)[:, at], (incomes - incomes.mean()) / incomes.std())

    def test_options(self, customers):
        names = {plan["name"]: plan for plan in found("train", customers, "--drop", "age", "--id", "city")["columns"]}
        assert names["age"]["form"] is None
        assert names["city"]["form"] is None
        kept = found("train", customers, "--keep", "customer_id", "--text", "comment")
        forms = {plan["name"]: plan["form"] for plan in kept["columns"]}
        assert forms["customer_id"] == "category"
        assert forms["comment"] == "text"
        for option in ("--drop", "--keep", "--id", "--text"):
            assert "did you mean 'income'?" in refused("train", customers, option, "incom")
        assert "this is the target" in refused("train", customers, "--drop", "churn")

    @pytest.mark.parametrize("missing", ["median", "mode", "indicate", "drop"])
    def test_missing(self, customers, tmp_path, missing):
        result = found("train", customers, "--missing", missing, "-o", tmp_path / "c.mm")
        model = load(tmp_path / "c.mm")
        names = model[0].get_feature_names_out().tolist()
        assert ("age missing" in names) == (missing == "indicate")
        assert ("city_(missing)" in names) == (missing in ("median", "indicate"))
        assert (result["n_train"] < 150) == (missing == "drop")

    def test_missing_can_be_refused(self, customers):
        message = refused("train", customers, "--missing", "refuse")
        assert "customers.csv, column 'age', row 1: the value is missing" in message
        assert "--missing" in message

    def test_a_target_with_gaps(self, tmp_path):
        lines = ["a,y", *(f"{k},{'' if k % 5 == 0 else k % 2}" for k in range(60))]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        result = found("train", tmp_path / "t.csv")
        assert result["notes"][0] == "Note: 12 rows without a target 'y' left out."
        assert result["n_train"] + result["test"]["n"] == 48

    def test_prices_as_target(self, tmp_path):
        lines = ["a;y", *(f"{k};{k * 1000 + 500},25 €" for k in range(60))]
        (tmp_path / "t.csv").write_bytes("\n".join(lines).encode("cp1252"))
        result = found("train", tmp_path / "t.csv")
        assert result["task"] == "regress"
        assert result["test"]["r2"] > 0.9
        assert result["test"]["baseline_mean"]["mae"] > 10_000

    def test_the_last_column_is_said_to_be_the_target(self, customers):
        text = " ".join(call("train", customers).stdout.split())
        assert "target 'churn', because it is the last column (--target to name another)" in text

    def test_a_last_column_of_one_value_is_no_target(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,sold,party,note\n" + "".join(f"{k},{k}.5,REP,\n" for k in range(60)))
        text = " ".join(call("train", tmp_path / "t.csv").stdout.split())
        assert "target 'sold', because it is the last column whose values differ (--target" in text

    def test_names_that_begin_alike_show_their_ends(self, tmp_path):
        head = ",".join(f"How much do you like the food of {land}" for land in ("France", "Greece"))
        rows = "".join(f"{'' if k % 9 == 0 else k},{'' if k % 7 == 0 else -k},{k % 2}\n" for k in range(60))
        (tmp_path / "t.csv").write_text(f"{head},likes\n{rows}")
        text = call("train", tmp_path / "t.csv").stdout
        assert "How much...ood of France" in text
        assert "How much...ood of Greece" in text

    def test_a_test_of_one_row_has_no_r2(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,b\n1,1.5\n2,2.5\n3,3.5\n4,4.5\n")
        assert "nan" not in call("train", tmp_path / "t.csv").stdout

    def test_why_a_test_is_not_stratified(self, tmp_path):
        lines = [f"{k},kind {k % 30}" for k in range(60)]
        (tmp_path / "t.csv").write_text("\n".join(["a,b", *lines]))
        assert found("train", tmp_path / "t.csv")["notes"][0] == (
            "Note: the test is not stratified: 30 classes are too many for 15 rows."
        )
        (tmp_path / "t.csv").write_text("\n".join(["a,b", *(f"{k},{'xy'[k % 2]}" for k in range(60)), "1,once"]))

    def test_labels_of_one_row_are_trained_on_and_the_test_is_stratified(self, tmp_path):
        rows = [*(f"{k},{'xy'[k % 2]}" for k in range(60)), "1,once"]
        (tmp_path / "t.csv").write_text("\n".join(["a,b", *rows]))
        result = found("train", tmp_path / "t.csv")
        assert result["notes"][0] == "Note: 1 label has a single row, which is used to train (once)."
        assert "stratified by class" in call("train", tmp_path / "t.csv").stdout
        (tmp_path / "t.csv").write_text("\n".join(["a,b", *rows, *(f"{k},once {k}" for k in range(5))]))
        assert found("train", tmp_path / "t.csv")["notes"][0] == (
            "Note: 6 labels have a single row each, which are used to train (once, once 0, once 1, ...)."
        )
        (tmp_path / "t.csv").write_text("\n".join(["a,b", *(f"{k},{int(k == 7)}" for k in range(60))]))
        assert found("train", tmp_path / "t.csv")["n_train"] == 45

    def test_rows_to_train_of_one_class_are_refused_with_the_class(self, tmp_path):
        (tmp_path / "t.csv").write_text("\n".join(["a,b", *(f"{k},{int(k > 55)}" for k in range(60))]))
        error = refused(
            "train", tmp_path / "t.csv", "--target", "b", "--task", "classify", "--test-size", "0.9", "--test-last"
        )
        assert "all rows to train would be of class 0" in error

    def test_the_column_that_a_model_predicts_must_be_there_to_evaluate_it(self, tmp_path):
        rows = [f"{k},{k % 2},{k % 3}" for k in range(60)]
        (tmp_path / "t.csv").write_text("\n".join(["a,survived,cabin", *rows]))
        (tmp_path / "new.csv").write_text("\n".join(["a,cabin,deck", *rows]))
        (tmp_path / "labelled.csv").write_text("\n".join(["a,label,cabin", *rows]))
        found("train", tmp_path / "t.csv", "--target", "survived", "--drop", "cabin", "-o", tmp_path / "m.mm")
        error = refused("evaluate", tmp_path / "m.mm", tmp_path / "new.csv")
        assert error.endswith(
            "new.csv lacks the column 'survived', which the model predicts: name the one with the true values with "
            "--target."
        )
        assert found("evaluate", tmp_path / "m.mm", tmp_path / "labelled.csv")["n"] == 60
        assert found("evaluate", tmp_path / "m.mm", tmp_path / "new.csv", "--target", "cabin")["n"] == 60

    @pytest.mark.parametrize("ending", ["csv", "arff"])
    def test_long_fields_are_read(self, tmp_path, ending):
        rows = [f'{k},"{"words and " * 20_000}",{k % 2}' for k in range(30)]
        head = "a,text,b"
        if ending == "arff":
            head = "@relation r\n@attribute a numeric\n@attribute text string\n@attribute b {0,1}\n@data"
        (tmp_path / f"t.{ending}").write_text("\n".join([head, *rows]))
        result = found("train", tmp_path / f"t.{ending}")
        assert result["n_train"] == 22
        assert [column["name"] for column in result["columns"]] == ["a", "text"]

    def test_nothing_to_learn_from_says_why(self, tmp_path):
        (tmp_path / "t.csv").write_text("\n".join(["id,b", *(f"{k},{k % 2}" for k in range(60))]))
        assert "'id' left out: an ID" in refused("train", tmp_path / "t.csv")

    def test_a_comparison_that_takes_too_long_is_left_out(self, customers, monkeypatch):
        from maxmargin.cli import _results

        monkeypatch.setattr(_results, "IMPORTANCE_SECONDS", 1e-9)
        result = found("train", customers)
        assert result["linear_score"] is None
        assert not any("LinearSVC" in note for note in result["notes"])

    def test_long_words_in_notes_are_shortened(self, tmp_path):
        rows = [f"{k},{k % 7}.5,{'red' if k % 2 else 'blue'}" for k in range(60)]
        (tmp_path / "t.csv").write_text("\n".join(["a,b,kind", *rows]))
        call("train", tmp_path / "t.csv", "--target", "b", "-o", tmp_path / "m.mm")
        (tmp_path / "new.csv").write_text("\n".join(["a,kind", "1," + "green" * 100]))
        notes = call("predict", tmp_path / "m.mm", tmp_path / "new.csv").stderr
        assert "'greengreen" in notes
        (tmp_path / "t.csv").write_text(
            "\n".join(["a,kind,b", "1,red," + "word" * 100, *(f"{k},red,{k}.5" for k in range(60))])
        )
        notes += call("train", tmp_path / "t.csv", "--target", "b").stderr
        assert "'wordword" in notes
        assert max(map(len, notes.splitlines())) <= 80

    def test_long_labels_are_shortened(self, tmp_path):
        url = "http://example.org/" + 100 * "x"
        lines = ["a,link", *(f"{k},{url if k % 3 else 'none'}{k % 3}" for k in range(90)), "7,once"]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        result = call("train", tmp_path / "t.csv")
        assert max(map(len, (result.stdout + result.stderr).replace(str(tmp_path), "").splitlines())) <= 80

    def test_rows_in_the_order_of_time(self, tmp_path):
        months = [f"{2000 + k // 12}-{k % 12 + 1:02d}" for k in range(120)]
        (tmp_path / "t.csv").write_text("\n".join(["month,sold", *(f"{m},{k}.5" for k, m in enumerate(months))]))
        drawn = found("train", tmp_path / "t.csv")
        assert "the rows are in the order of 'month'" in drawn["tips"][0]
        assert "--test-last" in drawn["tips"][0]
        last = found("train", tmp_path / "t.csv", "--test-last")
        assert last["n_train"] == 90
        assert last["test"]["n"] == 30
        assert last["test"]["baseline_mean"]["mae"] == pytest.approx(np.mean(np.arange(90, 120)) - np.mean(range(90)))
        assert not any("--test-last" in tip for tip in last["tips"])
        assert last["test"]["r2"] < 0 < drawn["test"]["r2"]  # a series goes on where the model has never been
        shuffled = np.random.default_rng(0).permutation(months)
        (tmp_path / "t.csv").write_text("\n".join(["month,sold", *(f"{m},{k}.5" for k, m in enumerate(shuffled))]))
        assert not any("--test-last" in tip for tip in found("train", tmp_path / "t.csv")["tips"])

    def test_a_column_that_gives_the_target_away(self, tmp_path):
        rng = np.random.default_rng(0)
        label = rng.permutation([0, 1] * 60)
        rows = [f"{rng.normal():.3f},{10 + 5 * k},{rng.normal():.3f},{'yes' if k else 'no'}" for k in label]
        (tmp_path / "t.csv").write_text("\n".join(["a,refund,b,lost", *rows]))
        tips = found("train", tmp_path / "t.csv")["tips"]
        assert "'refund' first of all (--drop)" in tips[0]
        assert not any("tune" in tip or "rare" in tip for tip in tips)
        tips = found("train", tmp_path / "t.csv", "--drop", "refund")["tips"]
        assert not any("--drop" in tip for tip in tips)

    def test_words_are_no_regression(self, customers):
        text = " ".join(call("train", customers).stdout.split())
        assert "because the target has 2 distinct texts (--task outliers to override)" in text

    def test_texts_without_classes(self, customers):
        message = refused("train", customers, "--target", "customer_id")
        assert "which are no classes: choose another column with --target" in message
        assert message.endswith(", such as 'income' or 'share' or 'churn'.")

    def test_a_text_column_alone(self, tmp_path):
        lines = ["review,stars", *(f"the film number {k} was {['great', 'awful'][k % 2]},{k % 2}" for k in range(80))]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        result = found("train", tmp_path / "t.csv", "-o", tmp_path / "t.mm")
        assert result["columns"][0]["form"] == "text"
        assert result["test"]["accuracy"] == 1.0
        assert call("predict", tmp_path / "t.mm", tmp_path / "t.csv").stdout.splitlines()[:2] == ["0", "1"]


class TestPredict:
    @pytest.fixture
    def model(self, customers, tmp_path):
        assert call("train", customers, "-o", tmp_path / "c.mm", "--probabilities").exit_code == 0
        return tmp_path / "c.mm"

    def test_unknown_categories_are_counted(self, customers, model, tmp_path):
        text = customers.read_text().replace(",Oslo,", ",Paris,")
        (tmp_path / "new.csv").write_text(text)
        result = call("predict", model, tmp_path / "new.csv")
        n = text.count(",Paris,")
        assert f"column 'city': {n} values unknown to the model ignored ('Paris')" in " ".join(result.stderr.split())
        assert len(result.stdout.splitlines()) == 200

    def test_words_for_numbers_are_counted(self, customers, model, tmp_path):
        head, *rows = customers.read_text().splitlines()
        rows[1] = rows[1].replace(rows[1].split(",")[1], "old", 1)
        rows[2] = rows[2].replace(rows[2].split(",")[3], "yesterday")
        (tmp_path / "new.csv").write_text("\n".join([head, *rows]))
        expected = [
            "Note: column 'age': 1 value is not a number and counts as missing ('old').",
            "Note: column 'joined': 1 value is not a date and counts as missing ('yesterday').",
        ]
        assert found("predict", model, tmp_path / "new.csv")["notes"] == expected
        assert found("evaluate", model, tmp_path / "new.csv")["notes"] == expected
        assert found("train", customers, "--test", tmp_path / "new.csv")["notes"] == expected

    def test_the_order_of_day_and_month(self, tmp_path):
        lines = ["when,y", *(f"{k % 12 + 1:02d}/{k % 9 + 1:02d}/20{k % 20:02d},{k % 2}" for k in range(80))]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        text = " ".join(call("train", tmp_path / "t.csv").stdout.split())
        assert "'01/01/2000' read as 2000-01-01, the month first, which the values leave open" in text
        assert "--dates day-first if not" in text
        column = found("train", tmp_path / "t.csv", "--dates", "day-first")["columns"][0]
        assert column["form"].startswith("date %d/%m/%Y >")

    def test_a_test_file_with_gaps_in_the_target(self, tmp_path):
        (tmp_path / "new.csv").write_text('a,y\n1,$100\n2,\n3,"$1,300"\n')
        (tmp_path / "t.csv").write_text("\n".join(["a,y", *(f'{k},"${k * 100:,}"' for k in range(60))]))
        result = found("train", tmp_path / "t.csv", "--test", tmp_path / "new.csv")
        assert result["test"]["n"] == 2
        assert result["notes"] == [f"Note: 1 row of {tmp_path / 'new.csv'} without a target 'y' left out."]

    def test_beside_the_columns_of_the_data(self, customers, model, tmp_path):
        out = tmp_path / "p.csv"
        assert call("predict", model, customers, "--id", "customer_id", "--values", "-o", out).exit_code == 0
        with open(out, newline="") as file:
            head, first, *_ = csv.reader(file)
        assert head == ["customer_id", "prediction", "value"]
        assert first[0] == "C0000"
        assert call("predict", model, customers, "--all", "-o", out).exit_code == 0
        with open(out, newline="") as file:
            head, first, *_ = csv.reader(file)
        assert head == [*HEAD, "prediction"]
        assert first[1] == ""
        assert "no such column" in refused("predict", model, customers, "--id", "nobody")

    def test_probabilities_and_thresholds(self, customers, model, tmp_path):
        answers = found("predict", model, customers, "--probabilities")
        p = np.array(answers["probabilities"])
        np.testing.assert_allclose(p.sum(axis=1), 1)
        strict = found("predict", model, customers, "--threshold", "0.9")["predictions"]
        assert [label == "yes" for label in strict] == (p[:, 1] >= 0.9).tolist()
        call("train", customers, "-o", tmp_path / "bare.mm")
        assert "train it with --probabilities" in refused("predict", tmp_path / "bare.mm", customers, "--probabilities")

    def test_explain(self, customers, model, tmp_path):
        result = found("explain", model, customers, "--rows", "30", "-o", tmp_path / "e.csv")
        assert len(result["rows"]) == 30
        first = [row["effects"][0]["column"] for row in result["rows"]]
        assert max(set(first), key=first.count) == "income"
        text = call("explain", model, customers).stdout
        assert text.startswith("Beside each column: how much of the decision value")
        assert "\n\nrow 1: " in text
        assert max(map(len, text.splitlines())) <= 80
        with open(tmp_path / "e.csv", newline="") as file:
            assert len(list(csv.reader(file))) == 1 + 30 * 5

    def test_explain_sparse_data(self, tmp_path, monkeypatch):
        rng = np.random.default_rng(0)
        X = rng.random((60, 3)).round(3)
        lines = [f"{int(row[1] > 0.5)} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) for row in X]
        (tmp_path / "d.svm").write_text("\n".join(lines) + "\n")
        assert call("train", tmp_path / "d.svm", "-o", tmp_path / "d.mm").exit_code == 0
        first = found("explain", tmp_path / "d.mm", tmp_path / "d.svm")["rows"][0]["effects"][0]
        assert first["column"] == "column 2"
        assert first["value"] == X[0, 1]
        monkeypatch.setattr("maxmargin.cli.commands.explain.SPARSE_MAX_ENTRIES", 100)
        assert "these have 60 x 3: give fewer rows" in refused("explain", tmp_path / "d.mm", tmp_path / "d.svm")

    def test_a_page(self, customers, tmp_path):
        pytest.importorskip("matplotlib")
        page = tmp_path / "page.html"
        result = call("train", customers, "--report", page, "--probabilities")
        assert result.exit_code == 0, result.output
        text = page.read_text()
        for words in (
            "Confusion matrix",
            "ROC curve",
            "Columns that matter",
            "data:image/png;base64",
            "20, filled with",
        ):
            assert words in text
        assert "http" not in text.replace("http://www.w3.org", "")
        assert "ends in .html" in refused("train", customers, "--report", tmp_path / "page.pdf")

    def test_the_target_is_found_again(self, tmp_path):
        lines = ["a,goal,other", *(f"{k},{['x', 'y'][k > 40]},word {k}" for k in range(80))]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        call("train", tmp_path / "t.csv", "--target", "goal", "-o", tmp_path / "t.mm")
        result = call("evaluate", tmp_path / "t.mm", tmp_path / "t.csv")
        assert "target 'goal'" in " ".join(result.stdout.split())
        assert found("inspect", tmp_path / "t.mm")["target"] == "goal"


class TestManners:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_help_in_80_columns(self, command):
        text = call(command, "--help", terminal_width=80).stdout
        assert max(map(len, text.splitlines())) <= 80

    def test_doctor(self):
        result = found("doctor")
        assert result["healthy"] is True
        assert "Self-test" in call("doctor").stdout

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_completion(self, shell):
        assert "_MAXMARGIN_COMPLETE" in call("completion", shell).stdout

    def test_an_imbalanced_class_is_judged_by_balanced_accuracy(self, tmp_path):
        rng = np.random.default_rng(0)
        y = rng.random(600) < 0.06
        x = rng.normal(size=600) + 3.5 * y
        lines = ["a,b,y", *(f"{a},{b},{int(c)}" for a, b, c in zip(x, rng.normal(size=600), y, strict=True))]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        test = found("train", tmp_path / "t.csv", "--class-weight", "balanced")["test"]
        assert test["judged_by"] == "balanced accuracy"
        assert test["accuracy"] < test["baseline"] + 0.05
        assert test["better_than_baseline"] is True


def test_labels_that_are_digits_in_words_are_found_again(tmp_path):
    """The values of a nominal attribute of ARFF are words, and numbers where all of them are digits."""
    path = tmp_path / "wards.arff"
    rows = [f"{k % 40},{1 if k % 40 < 20 else 2}" for k in range(120)]
    head = ["@relation wards", "@attribute severity real", "@attribute ward {1,2}", "@data"]
    path.write_text("\n".join([*head, *rows]))
    result = found("train", path, "--test", path, "-o", tmp_path / "w.mm")
    assert result["test"]["accuracy"] > 0.9
    assert found("evaluate", tmp_path / "w.mm", path)["n"] == 120
    assert found("train", path, "--task", "classify", "-o", tmp_path / "words.mm")["test"]["accuracy"] > 0.9
    assert found("evaluate", tmp_path / "words.mm", path)["accuracy"] > 0.9
