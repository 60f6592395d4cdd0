"""NumPy twin of native/nearest."""


def keep_nearest(K, k_xx, k_zz, first, excluded, rounding, clip, squares, indices):
    for i in range(K.shape[0]):
        kept = [(d, p) for d, p in zip(squares[i].tolist(), indices[i].tolist(), strict=True)]
        for j in range(K.shape[1]):
            total = k_xx[i] + k_zz[j]
            error, d = rounding * abs(total), total - 2.0 * K[i, j]
            d = 0.0 if clip and d <= error else d
            if first + j == excluded + i or not d + error < kept[-1][0]:
                continue
            at = len(kept) - 1
            while at > 0 and d + error < kept[at - 1][0]:
                at -= 1
            kept = [*kept[:at], (d, first + j), *kept[at:-1]]
        squares[i], indices[i] = zip(*kept, strict=True)
