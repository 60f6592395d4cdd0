"""The rows of a problem behind one protocol: small arrays in, sums over all rows out, wherever the rows are."""
