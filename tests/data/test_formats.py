"""A format is one entry of a registry: a toy format is read by everything that reads data files."""

import sys
import types

import numpy as np
import pytest

from maxmargin import DataFileError, read_batches, read_data
from maxmargin.data.arrays import ArrayTable
from maxmargin.data.formats import FORMATS, Format, table_of
from maxmargin.data.source import Source
from maxmargin.data.table import read_table


def read_colons(source, header):
    """Numbers between colons, the first line being a mark."""
    lines = [line for _, block in source.blocks() for line in block.decode().splitlines()][1:]
    return ArrayTable(source, np.array([[float(word) for word in line.split(":")] for line in lines]))


@pytest.fixture
def colons(monkeypatch):
    module = types.ModuleType("colons")
    module.read = read_colons
    monkeypatch.setitem(sys.modules, "colons", module)
    form = Format("colons:read", (".colons",), lambda source: source.head.startswith(b"::colons"), text=True)
    monkeypatch.setitem(FORMATS, "colons", form)


@pytest.mark.parametrize("name", ["points.colons", "points", "points.csv"])
@pytest.mark.parametrize("named", [False, True])
def test_a_new_format_is_one_entry(tmp_path, colons, name, named):
    path = tmp_path / name
    path.write_text("::colons\n1:2:0\n3:4:1\n5:6:1\n")
    options = {"format": "colons"} if named else {}
    data = read_data(path, **options)
    assert data.X.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert data.y.tolist() == [0, 1, 1]
    assert [len(y) for _, y in read_batches(path, 2, **options)] == [2, 1]
    assert read_table(path, **options).arrays[1].tolist() == [2, 4, 6]


def test_options_that_a_format_has_not_are_refused(tmp_path, colons):
    path = tmp_path / "points.colons"
    path.write_text("::colons\n1:2:0\n3:4:1\n")
    with pytest.raises(DataFileError, match="leave header out"):
        read_data(path, header=True)
    with pytest.raises(DataFileError, match="leave zero_based out"):
        read_data(path, zero_based=True)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_has_a_reader(kind):
    form = FORMATS[kind]
    module, name = form.reader.split(":")
    assert callable(getattr(__import__(module, fromlist=[name]), name))
    assert all(extension == extension.lower() and extension[0] == "." for extension in form.extensions)


def test_no_two_formats_share_a_name_or_an_extension():
    names = [name for kind, form in FORMATS.items() for name in (kind, *form.names, *form.extensions)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("kind", [kind for kind, form in FORMATS.items() if not form.text])
def test_formats_compressed_in_themselves_are_not_unpacked(tmp_path, kind):
    import gzip

    path = tmp_path / f"points{FORMATS[kind].extensions[0]}.gz"
    path.write_bytes(gzip.compress(b"something"))
    with pytest.raises(DataFileError, match="is packed: unpack it first"):
        table_of(Source(path), kind, None)
