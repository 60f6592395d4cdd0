"""NumPy twin of native/word_products."""

import numpy as np
import scipy.sparse as sp


def add_word_products(F, E, h, Phi, K, first=0):
    """K += F (E H Phi') of the words from ``first`` on; F and Phi come by words and by features."""
    words, features = len(F[0]) - 1, len(h)
    by_word, has, by_feature = (
        sp.csr_array((x, i, p), shape=shape).toarray()
        for (p, i, x), shape in zip(
            (F, E, Phi), ((words, len(K)), (words, features), (features, K.shape[1])), strict=True
        )
    )
    K += by_word[first:].T @ ((has[first:] != 0) * h) @ by_feature
    return np.int64(words)
