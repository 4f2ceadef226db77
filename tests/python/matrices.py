"""Matrices with properties that tests of linear algebra want."""

import numpy as np


def spd(a):
    """Hermitian and positive definite, of the size of a."""
    return a @ np.conj(np.swapaxes(a, -1, -2)) + 5 * np.eye(a.shape[-1], dtype=a.dtype)
