"""Linear classifiers that learn row by row: ``partial_fit`` and ``fit_stream``."""
