"""Eigenvalues and singular values of matrices so large that they are divided, hard in various ways."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytestmark = pytest.mark.lesser_cpus

TYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.fixture(autouse=True)
def _x64(x64):
    yield


def spectra(n, rng):
    return {"graded": 10.0 ** -np.linspace(0, 12, n), "arithmetic": np.arange(n) / n,
            "two values": np.repeat([1.0, 2.0], [n // 2, n - n // 2]),
            "close together": 1 + 1e-9 * rng.normal(size=n), "one of many": np.eye(n)[0],
            "one and tiny ones": np.eye(n)[0] + 1e-12, "huge": 1e30 * rng.normal(size=n),
            "tiny": 1e-30 * rng.normal(size=n)}


def symmetric(n, rng):
    turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
    a = rng.normal(size=(n, n))
    beside, hill = np.eye(n, k=1) + np.eye(n, k=-1), np.diag(np.abs(np.arange(n) - (n - 1) / 2))
    blocks = np.kron(np.eye(3), a[: n // 3, : n // 3])
    return {"random": a + a.T, "zero": 0 * a, "ones": a**0, "identity": np.eye(n),
            "diagonal": np.diag(a[0]), "Laplace": 2 * np.eye(n) - beside, "Wilkinson": hill + beside,
            "equal blocks": blocks + blocks.T, "of low rank": a[:, :5] @ a[:, :5].T,
            **{name: turn * values @ turn.T for name, values in spectra(n, rng).items()}}


def general(n, rng):
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    a = rng.normal(size=(3 * n, 3 * n))
    return {"random": a[:n, :n], "tall": a[: n + n // 3, :n], "very tall": a[:, :n],
            "wide": a[:n, : n + 7], "very wide": a[:n, : 2 * n + 1], "zero": np.zeros((n, n)),
            "ones": np.ones((n, n)), "identity": np.eye(n), "one row": np.eye(n, 1) + np.zeros(n),
            "nilpotent": np.eye(n, k=1), "bidiagonal": np.eye(n) + np.eye(n, k=1),
            "Kahan": np.eye(n) - 0.3 * np.triu(np.ones((n, n)), 1),
            "equal blocks": np.kron(np.eye(3), a[: n // 3, : n // 3]),
            **{name: left * values @ right.T for name, values in spectra(n, rng).items()}}


def cases(matrices, n, dtype, device):
    """Of each matrix its name, itself on the device, and in twice the precision, scaled near 1, with
    the scale. Where the type is complex it is turned in the complex plane."""
    rng = np.random.default_rng(n)
    for name, a in matrices(n, rng).items():
        is_square = a.shape[0] == a.shape[1]
        if dtype[0] == "c":
            phase = np.exp(1j * rng.uniform(0, 6, len(a)))
            a = phase[:, None] * a * (phase.conj() if is_square else 1)
        a = a.astype(dtype)
        if is_square and np.allclose(a, a.conj().T, rtol=1e-3):
            a = (a + a.conj().T) / 2
        scale = np.abs(a).max().astype(np.float64) or 1.0
        yield name, jax.device_put(a, device), a.astype(wide(dtype)) / scale, scale


def wide(dtype):
    return np.result_type(dtype, np.float64)


def distance(x, y):
    return np.linalg.norm(x - y) / max(np.linalg.norm(y), 1e-300)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [33, 70, 131])
def test_hermitian(tercel, dtype, n):
    epsilon = np.finfo(dtype).eps
    for name, operand, a, scale in cases(symmetric, n, dtype, tercel):
        values, v = (np.asarray(x) for x in jnp.linalg.eigh(operand, symmetrize_input=False))
        values, v = values.astype(np.float64) / scale, v.astype(wide(dtype))
        assert (np.diff(values) >= 0).all(), name
        assert distance(v * values @ v.conj().T, a) < 60 * epsilon, name
        assert distance(v.conj().T @ v, np.eye(len(a))) < 40 * epsilon, name
        alone = np.asarray(jnp.linalg.eigvalsh(operand, symmetrize_input=False)) / scale
        largest = np.abs(values).max()
        np.testing.assert_allclose(alone, values, rtol=0, atol=60 * epsilon * largest, err_msg=name)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [33, 70, 131])
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(tercel, dtype, n, full):
    epsilon = np.finfo(dtype).eps
    for name, operand, a, scale in cases(general, n, dtype, tercel):
        u, values, vh = (np.asarray(x) for x in jnp.linalg.svd(operand, full_matrices=full))
        u, vh = u.astype(wide(dtype)), vh.astype(wide(dtype))
        values = values.astype(np.float64) / scale
        k = min(a.shape)
        assert (np.diff(values) <= 0).all() and values[-1] >= 0, name
        assert distance(u[:, :k] * values @ vh[:k], a) < 120 * epsilon, name
        assert distance(u.conj().T @ u, np.eye(u.shape[1])) < 60 * epsilon, name
        assert distance(vh @ vh.conj().T, np.eye(vh.shape[0])) < 60 * epsilon, name
        alone = np.asarray(jnp.linalg.svd(operand, compute_uv=False)) / scale
        np.testing.assert_allclose(alone, values, rtol=0, atol=60 * epsilon * values[0], err_msg=name)
