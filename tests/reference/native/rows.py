"""NumPy twins of native/rows."""


def transpose(A, out):
    out[:] = A.T
