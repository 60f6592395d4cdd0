"""What goes wrong with a file."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model file that is damaged, forged, of another format, or written by a newer version; or a model that no file
    of the format asked for can hold.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.mm")
    ...     with open(path, "wb") as file:
    ...         _ = file.write(b"svm_type c_svc")
    ...     load(path)
    Traceback (most recent call last):
        ...
    maxmargin.io.ModelFileError: ...model.mm is not a maxmargin model file but a model of LIBSVM: read it with
    read_libsvm_model.
    """

    __module__ = "maxmargin.io"
