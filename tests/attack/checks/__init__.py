"""Laws of fitted models, one function each: it takes a trial, and raises ``AssertionError`` where the law is broken.

Tolerances are not guessed. They follow from the stopping rule (a violation of at most tol leaves a gap of at most tol
times the sum of the bounds) and from rounding (:mod:`reference.grams` bounds what float64 loses).
"""
