"""The worked example against its published table, and pictures of digits in every form people have them in."""

import struct
import sys
import zlib
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, classification_report

from maxmargin import digits

Image = pytest.importorskip("PIL.Image")
ImageDraw = pytest.importorskip("PIL.ImageDraw")
ImageFont = pytest.importorskip("PIL.ImageFont")

TABLE = """\
digit      precision recall f1   support
0          1.00      1.00   1.00 60
1          0.97      1.00   0.99 73
2          1.00      0.97   0.99 71
3          1.00      1.00   1.00 70
4          1.00      1.00   1.00 63
5          1.00      0.98   0.99 89
6          0.99      1.00   0.99 76
7          0.98      1.00   0.99 65
8          1.00      0.99   0.99 78
9          0.99      1.00   0.99 74
average    0.99      0.99   0.99 719"""


@cache
def example():
    return digits.run()


@cache
def hopeless():
    """A kernel so narrow that every new image is answered alike."""
    return digits.run(gamma=1000.0)


def printed(digit, size=200, dark=True, shift=(0, 0)):
    """A page with a printed digit, as bytes."""
    font = ImageFont.load_default(0.7 * size)
    page = Image.new("L", (size, size), 255)
    place = (size / 2 + shift[0] * size, size / 2 + shift[1] * size)
    ImageDraw.Draw(page).text(place, str(digit), fill=0, font=font, anchor="mm")
    pixels = np.asarray(page)
    return pixels if dark else 255 - pixels


def read(picture):
    return int(example().model.predict(digits.load_picture(picture).reshape(1, -1))[0])


class TestRun:
    def test_prints_the_published_table(self):
        assert example().table() == TABLE

    def test_scores_are_those_of_scikit_learn(self):
        result = example()
        expected = classification_report(result.y_test, result.predictions, output_dict=True)
        for name, row in result.scores().items():
            other = expected["weighted avg" if name == "average" else name]
            assert row["precision"] == pytest.approx(other["precision"])
            assert row["recall"] == pytest.approx(other["recall"])
            assert row["f1"] == pytest.approx(other["f1-score"])
            assert row["support"] == other["support"]
        assert result.accuracy == accuracy_score(result.y_test, result.predictions)

    def test_separates_all_images_into_two_sets(self):
        result = example()
        everything = np.sort(np.concatenate([result.train_indices, result.test_indices]))
        np.testing.assert_array_equal(everything, np.arange(1797))
        assert result.images_train.shape == (1078, 8, 8)
        np.testing.assert_array_equal(result.images_test[5].ravel(), result.X_test[5])

    def test_confusion_counts_every_test_image_once(self):
        result = example()
        assert result.confusion.sum() == 719
        assert np.trace(result.confusion) == result.n_correct

    def test_summary_puts_the_baseline_beside_the_accuracy(self):
        result = example()
        lines = str(result).splitlines()
        where = next(i for i, line in enumerate(lines) if line.startswith("accuracy "))
        assert f"{result.accuracy:.3f}" in lines[where]
        assert lines[where + 1].startswith("naive baseline")
        assert f"{result.baseline:.3f}" in lines[where + 1]
        assert TABLE in str(result)
        assert str(result.model.report_) in str(result)
        assert result.better_than_baseline
        assert "Warning" not in str(result)

    def test_a_useless_model_is_called_so(self):
        result = hopeless()
        assert not result.better_than_baseline
        assert "Warning: the model is not clearly better than the naive baseline" in str(result)

    def test_parameters_reach_the_model(self):
        result = digits.run(gamma=0.002, C=3.0, test_size=0.9, random_state=1, kernel="linear")
        assert result.model.get_params()["C"] == 3.0
        assert result.model.get_params()["kernel"] == "linear"
        assert len(result.y_test) == 1618


class TestBaseline:
    def test_is_the_test_share_of_the_largest_training_class(self):
        assert digits.naive_baseline([0, 1, 1], [1, 0, 0, 0]) == 0.25
        assert digits.naive_baseline([2, 2, 1, 1], [1, 2, 2]) == pytest.approx(1 / 3)  # a tie: the smaller label
        result = example()
        largest = np.argmax(np.bincount(result.y_train))
        assert result.baseline == np.mean(result.y_test == largest)

    @pytest.mark.parametrize(("n_correct", "n"), [(0, 5), (5, 5), (1, 1), (37, 100), (714, 719)])
    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_interval_is_that_of_scipy(self, n_correct, n, confidence):
        expected = binomtest(n_correct, n).proportion_ci(confidence, method="wilson")
        assert digits.wilson_interval(n_correct, n, confidence) == pytest.approx(tuple(expected), abs=1e-12)

    def test_clearly_better_needs_more_than_luck(self):
        assert not digits.clearly_better(6, 10, 0.5)
        assert digits.clearly_better(600, 1000, 0.5)
        assert not digits.clearly_better(0, 10, 0.0)

    def test_refuses_nonsense(self):
        with pytest.raises(ValueError, match="n_correct=3 of n=2"):
            digits.wilson_interval(3, 2)
        with pytest.raises(ValueError, match="n > 0"):
            digits.wilson_interval(0, 0)
        with pytest.raises(ValueError, match="confidence"):
            digits.wilson_interval(1, 2, 95)
        with pytest.raises(ValueError, match="y_test is empty"):
            digits.naive_baseline([1], [])
        with pytest.raises(ValueError, match="y_train is empty"):
            digits.naive_baseline([], [1])


class TestPictures:
    @pytest.mark.parametrize("dark", [True, False])
    @pytest.mark.parametrize("size", [24, 200, 1000])
    def test_reads_printed_digits_of_any_size_and_polarity(self, size, dark):
        right = [read(printed(digit, size, dark)) == digit for digit in range(10)]
        assert sum(right) >= 7  # the model has only seen handwriting

    @pytest.mark.parametrize("dark", [True, False])
    def test_reads_enlarged_test_images(self, dark):
        result = example()
        right = 0
        for image, truth in zip(result.images_test[:100], result.y_test[:100], strict=True):
            enlarged = Image.fromarray(np.uint8(15 * image)).resize((120, 120), Image.Resampling.BICUBIC)
            pixels = np.pad(np.asarray(enlarged), ((10, 40), (70, 5)))
            right += read(255 - pixels if dark else pixels) == truth
        assert right >= 94

    def test_image_is_in_the_training_images_form(self):
        image = digits.load_picture(printed(3))
        assert image.shape == (8, 8)
        assert image.min() >= 0
        assert image.max() <= 16
        fewest, most = np.percentile(example().X_train.mean(axis=1), (1, 99))
        assert fewest < image.mean() < most  # as much ink as training images have
        assert image[0].max() > 8  # from top
        assert image[-1].max() > 8  # to bottom

    def test_place_polarity_and_contrast_do_not_matter(self):
        reference = digits.load_picture(printed(7))
        for other in (
            printed(7, dark=False),
            printed(7, shift=(0.2, -0.1)),
            np.uint8(120 + printed(7) // 5),
            printed(7).astype(float) / 255,
            printed(7) > 127,
            np.repeat(printed(7)[:, :, None], 3, axis=2),
        ):
            np.testing.assert_allclose(digits.load_picture(other), reference, atol=2.5)

    def test_a_small_digit_on_a_large_page(self):
        page = np.full((1500, 2000), 240, dtype=np.uint8)
        page[1200:1260, 300:360] = np.minimum(printed(5, 60), 240)
        assert read(page) == 5

    @pytest.mark.parametrize("dark", [True, False])
    def test_noise_specks_and_uneven_light(self, dark):
        rng = np.random.default_rng(0)
        for digit in (2, 3, 5, 7):
            page = 0.2 + 0.5 * (printed(digit) / 255) + np.linspace(0, 0.25, 200) + np.linspace(0, 0.1, 200)[:, None]
            page += 0.05 * rng.standard_normal(page.shape)
            page[5:8, 190:194] = 0.1
            assert read(np.uint8(255 * np.clip(page if dark else 1 - page, 0, 1))) == digit

    @pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "CMYK", "I", "F", "I;16"])
    def test_every_mode(self, mode, tmp_path):
        if mode == "I;16":
            page = Image.fromarray(printed(3).astype(np.uint16) * 16 + 7)
        else:
            page = Image.fromarray(printed(3)).convert(mode)
        assert page.mode == mode
        file = tmp_path / ("page.tiff" if mode in ("I", "F", "CMYK") else "page.png")
        page.save(file)
        np.testing.assert_allclose(digits.load_picture(file), digits.load_picture(printed(3)), atol=1)

    @pytest.mark.parametrize("shade", [0, 255])
    def test_ink_on_nothing(self, shade, tmp_path):
        page = Image.new("RGBA", (200, 200), (shade, shade, shade, 0))
        page.putalpha(Image.fromarray(printed(2, dark=False)))
        page.save(tmp_path / "page.png")
        np.testing.assert_allclose(digits.load_picture(tmp_path / "page.png"), digits.load_picture(printed(2)), atol=1)

    def test_a_page_with_transparent_corners(self):
        page = Image.fromarray(printed(2)).convert("RGBA")
        alpha = np.full((200, 200), 255, dtype=np.uint8)
        alpha[:20, :20] = alpha[-20:, -20:] = 0
        page.putalpha(Image.fromarray(alpha))
        np.testing.assert_allclose(digits.load_picture(page), digits.load_picture(printed(2)), atol=1)

    def test_transparent_colours_of_a_palette(self, tmp_path):
        page = Image.fromarray(printed(2)).convert("P")
        page.save(tmp_path / "page.png", transparency=int(np.asarray(page)[0, 0]))
        assert read(tmp_path / "page.png") == 2

    def test_colours_of_equal_brightness(self):
        page = np.where(printed(3)[:, :, None] < 128, np.uint8([200, 40, 40]), np.uint8([20, 117, 40]))
        np.testing.assert_allclose(digits.load_picture(page), digits.load_picture(printed(3)), atol=2)

    def test_a_photograph_taken_sideways(self, tmp_path):
        exif = Image.Exif()
        exif[0x0112] = 6  # turn by 90 degrees to the right to show
        Image.fromarray(np.rot90(printed(7))).save(tmp_path / "page.jpg", exif=exif, quality=90)
        assert read(tmp_path / "page.jpg") == 7

    def test_a_large_photograph(self, tmp_path):
        Image.fromarray(printed(2)).resize((7000, 7000)).save(tmp_path / "page.jpg")
        assert read(tmp_path / "page.jpg") == 2

    @pytest.mark.parametrize("size", [(1, 1), (2, 2), (1, 60), (300, 2)])
    def test_tiny_pictures_end_in_an_answer_or_no_ink(self, size):
        rng = np.random.default_rng(0)
        try:
            image = digits.load_picture(rng.integers(0, 256, size).astype(np.uint8))
        except ValueError as error:
            assert "no ink found" in str(error)  # noqa: PT017
        else:
            assert np.isfinite(image).all()


class TestBadPictures:
    def test_blank_noisy_and_shaded_pages_have_no_ink(self, tmp_path):
        rng = np.random.default_rng(0)
        noise = rng.integers(0, 256, (200, 200)).astype(np.uint8)
        shade = np.uint8(np.linspace(40, 220, 200)[:, None] + np.zeros(200))
        for page in (np.full((50, 50), 255, np.uint8), np.zeros((9, 9)), noise, shade, noise // 8 + shade // 2):
            with pytest.raises(ValueError, match="no ink found"):
                digits.load_picture(page)
        Image.new("RGBA", (30, 30), (0, 0, 0, 0)).save(tmp_path / "clear.png")
        with pytest.raises(ValueError, match=r"clear\.png: no ink found"):
            digits.load_picture(tmp_path / "clear.png")

    def test_files_that_are_no_pictures_are_named(self, tmp_path):
        text = tmp_path / "text.png"
        text.write_text("not a picture")
        with pytest.raises(ValueError, match=r"text\.png: not a picture"):
            digits.load_picture(text)
        Image.fromarray(printed(1)).save(tmp_path / "whole.png")
        (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:150])
        with pytest.raises(ValueError, match=r"cut\.png: a damaged picture"):
            digits.load_picture(tmp_path / "cut.png")
        with pytest.raises(FileNotFoundError, match=r"missing\.png"):
            digits.load_picture(tmp_path / "missing.png")
        with pytest.raises(IsADirectoryError):
            digits.load_picture(tmp_path)

    @pytest.mark.parametrize("side", [10_000, 60_000])
    def test_a_decompression_bomb_is_refused_unopened(self, side, tmp_path):
        def chunk(kind, body):
            return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

        head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
        body = chunk(b"IDAT", zlib.compress(bytes(1000)))
        (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b""))
        with pytest.raises(ValueError, match=r"bomb\.png: more than \d+ megapixels"):
            digits.load_picture(tmp_path / "bomb.png")

    @pytest.mark.parametrize("shape", [(8,), (0, 8), (8, 8, 2), (2, 8, 8, 3)])
    def test_arrays_that_are_no_pictures(self, shape):
        with pytest.raises(ValueError, match="is not a picture"):
            digits.load_picture(np.ones(shape))

    def test_arrays_with_gaps_or_words(self):
        with pytest.raises(ValueError, match="NaN or infinite"):
            digits.load_picture([[0.0, np.nan], [1.0, 2.0]])
        with pytest.raises(ValueError, match="give numbers"):
            digits.load_picture([["a", "b"], ["c", "d"]])

    def test_without_pillow(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "PIL", None)
        with pytest.raises(ImportError, match=r'pip install "maxmargin\[images\]"'):
            digits.load_picture(np.ones((8, 8)))


class TestClassify:
    def test_gives_label_scores_and_what_the_model_saw(self, tmp_path):
        Image.fromarray(printed(3)).save(tmp_path / "three.png")
        first, second = digits.classify_pictures(example().model, [tmp_path / "three.png", printed(7)])
        assert (first.label, second.label) == (3, 7)
        assert first.path.endswith("three.png")
        assert second.path == "picture 2"
        assert list(first.scores) == sorted(first.scores, key=first.scores.get, reverse=True)
        assert sorted(first.scores) == list(range(10))
        assert first.runner_up != 3
        np.testing.assert_array_equal(first.image, digits.load_picture(tmp_path / "three.png"))
        assert first.original.shape == (200, 200, 3)
        assert str(first).startswith(f"{tmp_path / 'three.png'}: 3 (score ")

    def test_needs_one_score_a_digit(self):
        model = digits.run(decision_function_shape="ovo").model
        with pytest.raises(ValueError, match='decision_function_shape="ovr"'):
            digits.classify_pictures(model, [printed(3)])


class TestDisplays:
    def test_wrong_images_come_first(self):
        pytest.importorskip("matplotlib")
        from maxmargin.displays import DigitsDisplay

        result = example()
        display = DigitsDisplay.from_result(result).plot(n_images=10)
        titles = [ax.get_title() for ax in display.axes_]
        n_wrong = len(result.y_test) - result.n_correct
        assert len(titles) == 10
        assert all("→" in title for title in titles[:n_wrong])
        assert not any("→" in title for title in titles[n_wrong:])
        counts = sorted(int(text.get_text()) for text in display.ax_.texts)
        assert counts == sorted(result.confusion[result.confusion > 0].tolist())
        assert all(len(ax.images) == 1 for ax in display.axes_)

    def test_hopeless_model_can_be_drawn(self):
        pytest.importorskip("matplotlib")
        from maxmargin.displays import DigitsDisplay

        DigitsDisplay.from_result(hopeless()).plot().figure_.canvas.draw()
        with pytest.raises(ValueError, match="n_images=0"):
            DigitsDisplay.from_result(hopeless()).plot(n_images=0)

    def test_draws_into_given_axes(self):
        figure = pytest.importorskip("matplotlib.figure").Figure()
        from maxmargin.displays import DigitsDisplay

        axes = figure.subplots(1, 2)
        display = DigitsDisplay.from_result(example()).plot(axes[1], n_images=3)
        assert display.figure_ is figure
        assert display.ax_.figure is figure
        with pytest.raises(ValueError, match="no place in a grid"):
            DigitsDisplay.from_result(example()).plot(figure.add_axes((0, 0, 1, 1)))

    @pytest.mark.parametrize("n", [1, 5])
    def test_pictures(self, n):
        pytest.importorskip("matplotlib")
        from maxmargin.displays import PicturesDisplay

        own = digits.classify_pictures(example().model, [printed(digit) for digit in range(n)])
        display = PicturesDisplay.from_results(own).plot()
        assert display.axes_.shape == (n, 3)
        assert all(len(ax.patches) == 10 for ax in display.axes_[:, 2])
        assert display.axes_[0, 1].get_title() == f"predicted {own[0].label}"
        display.figure_.canvas.draw()
        with pytest.raises(ValueError, match="no picture"):
            PicturesDisplay.from_results([]).plot()
