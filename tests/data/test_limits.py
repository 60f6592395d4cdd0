"""Readers end in time that is linear in the bytes, within bounded memory, or in an error that names the cause."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pytest

from maxmargin.data import source
from maxmargin.data.source import reading
from maxmargin.data.text import arrow_text, delimited
from maxmargin.io import DataFileError, ModelFileError, read_batches, read_data, read_libsvm_model

pytest.importorskip("pyarrow")


def refusal(path, **options):
    with pytest.raises(DataFileError) as caught:
        read_data(path, **options)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert str(path) in message
    return message


def test_a_packed_file_that_unpacks_to_hundreds_of_times_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "UNPACKED_FREE_BYTES", 4 << 20)
    path = tmp_path / "bomb.csv.bz2"
    path.write_bytes(bz2.compress(b"a,b\n1,2\n" + b"\n" * (40 << 20)))
    assert "unpacks to more than 300 times its" in refusal(path)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * (10 << 20)))
    assert "unpacks to more than 300 times its" in refusal(path)
    with pytest.raises(DataFileError, match="unpacks to more than 300 times"):
        list(read_batches(path))


def test_a_packed_file_of_usual_size_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "UNPACKED_FREE_BYTES", 1 << 16)
    path = tmp_path / "rows.csv.gz"
    rng = np.random.default_rng(0)
    path.write_bytes(gzip.compress("".join(f"{x:.3f},{y}\n" for x, y in rng.normal(size=(20_000, 2))).encode()))
    assert read_data(path).X.shape == (20_000, 1)


def test_too_many_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "TABLE_MAX_COLUMNS", 5000)
    path = tmp_path / "wide.csv"
    path.write_text((",".join(["1", "w"] * 3000) + "\n") * 3)
    assert "has more than 5,000 columns, which is the limit for text tables: write it as .npy" in refusal(path)
    path.write_text((" ".join(["1"] * 6000) + "\n") * 3)
    assert "has more than 5,000 columns" in refusal(path, format="csv")


@pytest.mark.parametrize("arrow", [True, False])
def test_wide_tables_of_several_kinds(tmp_path, monkeypatch, arrow):
    """Tables that are put together in small parts are those that are read at once."""
    monkeypatch.setattr(arrow_text, "ARROW_MIN_BYTES", 0 if arrow else 1 << 60)
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, 60)
    rows = [
        ",".join(
            (f"{x:.2f}", "wxy"[int(abs(x)) % 3], ("true", "False")[int(x > 0)])[k]
            for x, k in zip(row, kinds, strict=True)
        )
        for row in rng.normal(size=(40, 60))
    ]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(60)) + "\n" + "\n".join(rows) + "\n")
    usual = read_data(path)
    for limit in (("CHUNK_MAX_CELLS", 200), ("SAMPLE_MAX_CELLS", 100)):
        monkeypatch.setattr(delimited, *limit)
    if arrow:
        monkeypatch.setattr(arrow_text, "ARROW_MAX_COLUMNS", 10)
    wide = read_data(path)
    assert wide.X.dtype == usual.X.dtype
    assert wide.X.tolist() == usual.X.tolist()
    assert wide.y.tolist() == usual.y.tolist()
    path.write_text(path.read_text().replace("\n", "\n\n", 3) + "1\n")
    assert "line 45: has 1 field where the first line has 60" in refusal(path)


def test_wide_numbers_with_a_fault(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text((",".join(["1"] * 29 + ["a"]) + "\n") * 9 + ",".join(["1"] * 28 + ["x", "b"]) + "\n")
    assert "column 29, line 10: 'x' is not a number" in refusal(path)


TABLES = {
    "numbers": lambda rng: f"{rng.normal():.17g},{rng.integers(-9, 9)},{rng.normal():e},{rng.integers(2)}",
    "signs": lambda rng: f"+{rng.random():.3f},-.5,5.,{rng.integers(2)}",
    "spaces": lambda rng: f" {rng.normal():.5f} ,{rng.integers(9)} , {'uv'[rng.integers(2)]}",
    "texts": lambda rng: (
        f"{rng.normal()!r},{'äßc'[rng.integers(3)]} x,{rng.random() < 0.5},{['no', 'yes'][rng.integers(2)]}"
    ),
    "quoted": lambda rng: f'"{"a, b" if rng.random() < 0.5 else "c"}",{rng.normal():.3f},"{rng.integers(3)}"',
    "doubled quotes": lambda rng: f'"say ""{rng.integers(3)}""",{rng.normal():.3f},{rng.integers(2)}',
    "lines in quotes": lambda rng: f'"one\ntwo",{rng.normal():.3f},{rng.integers(2)}',
    "semicolons": lambda rng: f"{rng.normal():.3f};{rng.normal():.3f};{'ab'[rng.integers(2)]}",
    "extremes": lambda rng: (
        f"{10.0 ** rng.integers(-320, 308):.17g},{2.0 ** rng.integers(-1074, 1023):.17g},{rng.integers(2)}"
    ),
    "a late word": lambda rng: f"{rng.normal() if rng.random() > 0.0005 else 'oops'},1,{rng.integers(2)}",
    "a late gap": lambda rng: f"{rng.normal() if rng.random() > 0.0005 else ''},1,{rng.integers(2)}",
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("header", [True, False])
def test_both_readers_of_text_tables_agree(name, header, tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    rows = [TABLES[name](rng) for _ in range(4000)]
    mark = ";" if name == "semicolons" else ","
    width = 4 if name in ("numbers", "texts", "signs") else 3
    path = tmp_path / "table.csv"
    path.write_text((mark.join("abcd"[:width]) + "\n") * header + "\n".join(rows) + "\n", newline="")
    monkeypatch.setattr(source, "BLOCK_BYTES", 10_000)
    found = []
    for least in (0, 1 << 60):
        monkeypatch.setattr(arrow_text, "ARROW_MIN_BYTES", least)
        try:
            data = read_data(path)
        except DataFileError as error:
            found.append(str(error))
        else:
            bits = data.X.tobytes() if data.X.dtype == float else repr(data.X.tolist())
            found.append((bits, data.X.dtype, data.y.dtype, data.y.tolist(), data.columns))
    assert found[0] == found[1]


def test_a_pipe_and_a_device_are_no_models(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="is a named pipe, not a file"):
        read_libsvm_model(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="is a device, not a file"):
        read_libsvm_model("/dev/zero")
    with pytest.raises(ModelFileError, match="is a folder, not a file"):
        read_libsvm_model(tmp_path)
    path = tmp_path / "zeros"
    path.write_bytes(bytes(10_000))
    with pytest.raises(ModelFileError, match="is not a LIBSVM model"):
        read_libsvm_model(path)


def test_devices_are_no_data():
    assert "is a device or a socket, not a file" in refusal("/dev/zero")


class _Endless(io.RawIOBase):
    def read(self, size=-1):
        return b"1,2\n" * (size // 4)


def test_standard_input_without_end(monkeypatch):
    class Stdin:
        buffer = _Endless()

    monkeypatch.setattr(sys, "stdin", Stdin())
    monkeypatch.setattr(source, "STDIN_DISK_SHARE", 0.0)
    with pytest.raises(DataFileError, match="standard input has no end, or is too long"):
        read_data("-")


def test_standard_input_of_zeros():
    code = "from maxmargin.io import read_data\ntry:\n read_data('-')\nexcept ValueError as error:\n print(error)"
    with open("/dev/zero", "rb") as zeros:
        run = subprocess.run(
            [sys.executable, "-c", code],
            stdin=zeros,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert "standard input is no data: it begins with zero bytes" in run.stdout, run.stderr


def test_reading_reports_how_far_it_is(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1,2\n" * 600_000)
    seen = []
    token = reading.set(lambda name, done, size: seen.append((name, done, size)))
    try:
        read_data(path)
    finally:
        reading.reset(token)
    assert seen[-1] == (str(path), path.stat().st_size, path.stat().st_size)
    assert all(done <= size for _, done, size in seen)
