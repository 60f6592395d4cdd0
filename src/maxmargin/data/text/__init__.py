"""Data files that are text: CSV and its relatives, and svmlight."""
