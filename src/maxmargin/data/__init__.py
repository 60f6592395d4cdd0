"""Data files as points and targets: whole (``data``) and in batches (``batches``).

    a path ─ source (bytes, unpacked, in blocks of whole lines) ─ format ─ table ─ layout (which columns) ─ X, y

A format is one file: ``delimited`` with ``sniffing`` (CSV, TSV), ``columnar`` (Parquet, Arrow), ``arrays`` (NumPy) and
``sparse_text`` (svmlight); ``formats`` tells which it is. Users find the names in :mod:`maxmargin.io`; estimators,
which come before that layer, take them from here.
"""
