"""``maxmargin inspect`` and ``maxmargin convert``: what is in a model file, and the same model in other forms."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_runner import call, refused
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, KernelPCA, LinearSVC, load, save
from maxmargin.io import read_libsvm_model

X, y = load_iris(return_X_y=True)
UNFITTED = Path(__file__).parents[1] / "io" / "format_1" / "unfitted.mm"  # earlier versions saved such models


@pytest.fixture
def estimator(tmp_path):
    estimator = SVC(C=2).fit(X, y)
    save(estimator, tmp_path / "m.mm")
    return estimator


class TestNamesOfColumns:
    @pytest.mark.parametrize("options", [(), ("--scale",), ("--kernel", "linear", "--stream")])
    def test_a_model_of_the_command_checks_them_in_python(self, tmp_path, options):
        names = ["a", "b", "c", "d"]
        table = pd.DataFrame(X, columns=names)
        table.assign(label=y).to_csv(tmp_path / "iris.csv", index=False)
        assert call("train", tmp_path / "iris.csv", "-o", tmp_path / "iris.mm", *options).exit_code == 0
        model = load(tmp_path / "iris.mm")
        assert list(model.feature_names_in_) == names
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            right = model.predict(table)
            assert (model.predict(X) == right).all()
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(table[["d", "c", "b", "a"]])
        with pytest.raises(ValueError, match="unseen at fit time"):
            model.predict(table.rename(columns={"a": "A"}))


class TestInspect:
    def test_text(self, estimator, tmp_path):
        text = call("inspect", tmp_path / "m.mm").stdout
        assert "SVC(C=2), a classifier" in text
        assert "maxmargin model, version 1" in text
        for line in str(estimator.report_).splitlines():
            assert " ".join(line.split()) in " ".join(text.split())
        counts = ", ".join(f"{k} {n}" for k, n in enumerate(estimator.n_support_))
        assert f"{len(estimator.support_)}: {counts}" in text

    def test_json(self, estimator, tmp_path):
        found = json.loads(call("inspect", tmp_path / "m.mm", "--json").stdout)
        assert found["bytes"] == (tmp_path / "m.mm").stat().st_size
        assert found["parameters"]["C"] == 2
        assert found["classes"] == [0, 1, 2]
        assert found["n_columns"] == 4
        assert found["report"]["dual_objective"] == estimator.report_.dual_objective

    def test_preprocessing(self, tmp_path):
        save(make_pipeline(StandardScaler(), LinearSVC()).fit(X, y), tmp_path / "p.mm")
        text = call("inspect", tmp_path / "p.mm").stdout
        assert "preprocessing     StandardScaler()" in text
        assert "support vectors   " not in text.split("The fit:")[0]

    def test_the_kernel_has_few_digits(self, tmp_path):
        save(SVC(gamma=0.1 + 0.15000000000000005).fit(X, y), tmp_path / "g.mm")
        assert "RBF(gamma=0.25)" in call("inspect", tmp_path / "g.mm").stdout.split("The fit:")[0]
        assert json.loads(call("inspect", tmp_path / "g.mm", "--json").stdout)["kernel"] != "RBF(gamma=0.25)"

    def test_a_model_of_libsvm(self, estimator, tmp_path):
        call("convert", tmp_path / "m.mm", tmp_path / "m.model")
        text = call("inspect", tmp_path / "m.model").stdout
        assert "LIBSVM model" in text
        assert "no certificate" in text

    def test_what_is_no_model(self, estimator, tmp_path):
        (tmp_path / "data.csv").write_text("a,b,c,d,e\n1,2,3,4,5\n")
        assert "is a text file, not a model file" in refused("inspect", tmp_path / "data.csv")
        (tmp_path / "cut.mm").write_bytes((tmp_path / "m.mm").read_bytes()[:-10])
        assert "cut short" in refused("inspect", tmp_path / "cut.mm")
        assert "No such file" in refused("inspect", tmp_path / "none.mm")
        (tmp_path / "new.mm").write_bytes(UNFITTED.read_bytes())
        assert "never fitted" in refused("inspect", tmp_path / "new.mm")
        save(KernelPCA(2).fit(X), tmp_path / "pca.mm")
        assert "predicts nothing" in refused("inspect", tmp_path / "pca.mm")


class TestConvert:
    def test_to_libsvm_and_back(self, estimator, tmp_path):
        assert call("convert", tmp_path / "m.mm", tmp_path / "m.model").exit_code == 0
        assert call("convert", tmp_path / "m.model", tmp_path / "again.mm", "--n-features", "4").exit_code == 0
        for again in (read_libsvm_model(tmp_path / "m.model"), load(tmp_path / "again.mm")):
            np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
            np.testing.assert_allclose(again.decision_function(X), estimator.decision_function(X))

    def test_to_onnx(self, tmp_path):
        runtime = pytest.importorskip("onnxruntime")
        model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
        save(model, tmp_path / "m.mm")
        result = call("convert", tmp_path / "m.mm", tmp_path / "m.onnx")
        assert result.exit_code == 0, result.output
        session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
        np.testing.assert_array_equal(session.run(["label"], {"X": X})[0], model.predict(X))

    def test_names_of_columns_are_no_obstacle(self, tmp_path):
        lines = [",".join(map(str, row)) for row in np.column_stack((X, y))]
        (tmp_path / "d.csv").write_text("\n".join(["a,b,c,d,label", *lines, ""]))
        assert call("train", tmp_path / "d.csv", "-o", tmp_path / "m.mm").exit_code == 0
        assert "train with --no-scale" in refused("convert", tmp_path / "m.mm", tmp_path / "m.model")
        assert call("train", tmp_path / "d.csv", "-o", tmp_path / "m.mm", "--no-scale").exit_code == 0
        result = call("convert", tmp_path / "m.mm", tmp_path / "m.model")
        assert result.exit_code == 0
        assert "names of the columns are left out" in result.stderr
        again = read_libsvm_model(tmp_path / "m.model", n_features=4)
        np.testing.assert_array_equal(again.predict(X), load(tmp_path / "m.mm").predict(X))

    def test_scaling_has_no_place_in_libsvm(self, tmp_path):
        save(make_pipeline(StandardScaler(), SVC()).fit(X, y), tmp_path / "m.mm")
        assert "holds no preprocessing" in refused("convert", tmp_path / "m.mm", tmp_path / "m.model")
        assert not (tmp_path / "m.model").exists()

    def test_labels_that_libsvm_has_not(self, tmp_path):
        save(SVC().fit(X, y.astype(str)), tmp_path / "m.mm")
        assert "labels are integers" in refused("convert", tmp_path / "m.mm", tmp_path / "m.model")

    @pytest.mark.parametrize("name", ["m.pkl", "none/m.mm"])
    def test_files_that_cannot_be_written(self, estimator, tmp_path, name):
        assert name in refused("convert", tmp_path / "m.mm", tmp_path / name)

    def test_columns_that_are_known(self, estimator, tmp_path):
        assert "leave the option out" in refused("convert", tmp_path / "m.mm", tmp_path / "n.mm", "--n-features", "4")
