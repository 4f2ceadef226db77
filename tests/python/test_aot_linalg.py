"""Linear algebra that leaves Python: no LAPACK, the same accuracy."""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import sparse

from linalg_bits import FUNCTIONS

import tercel as package
from tercel import aot

DTYPES = ["float32", "float64", "complex64", "complex128"]
HERE = pathlib.Path(__file__).parent
pytestmark = pytest.mark.native


def matrix(rng, shape, dtype):
    values = rng.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.normal(size=shape)
    return values.astype(dtype)


def run(function, *arguments):
    loaded = package.load(aot.compile(function, *arguments, name="f").to_bytes())
    return loaded.f(*arguments)


def near(got, wanted, dtype, scale=1):
    tolerance = scale * 200 * np.finfo(dtype).eps
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 3), (2, 5, 5), (2, 1, 8, 8), (33, 33),
                                   (0, 3, 3)])
def test_eigh(rng, x64, dtype, shape):
    a = matrix(rng, shape, dtype)
    a = a + adjoint(a)
    values, vectors = run(lambda a: tuple(jnp.linalg.eigh(a)), a)
    size = max(1, shape[-1])
    near(values, np.linalg.eigvalsh(a), dtype, size)
    near(a @ vectors, vectors * values[..., None, :], dtype, size)
    unit = np.broadcast_to(np.eye(size, dtype=dtype), shape)
    near(adjoint(vectors) @ vectors, unit, dtype, size)


def test_eigh_of_what_is_singular_or_diagonal(x64):
    a = np.stack([np.zeros((5, 5)), np.diag([3.0, 1, 1, 2, 0]), np.ones((5, 5))])
    values, vectors = run(lambda a: tuple(jnp.linalg.eigh(a)), a)
    wanted = np.array([[0, 0, 0, 0, 0], [0, 1, 1, 2, 3], [0, 0, 0, 0, 5]], np.float64)
    near(values, wanted, "float64")
    near(vectors * values[:, None, :] @ adjoint(vectors), a, "float64")


def test_eigh_of_one_triangle(rng, x64):
    a = matrix(rng, (6, 6), "complex128")
    for lower in (True, False):
        values, = run(lambda a: (jax.lax.linalg.eigh(
            a, lower=lower, symmetrize_input=False)[1],), a)
        near(values, np.linalg.eigvalsh(a, "L" if lower else "U"), "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 7, 3), (3, 7)])
def test_svd_and_qr(rng, x64, dtype, shape):
    a = matrix(rng, shape, dtype)
    u, s, v = run(lambda a: tuple(jnp.linalg.svd(a, full_matrices=False)), a)
    near(s, np.linalg.svd(a)[1], dtype, 10)
    near(u * s[..., None, :] @ v, a, dtype, 10)
    q, r = run(lambda a: tuple(jnp.linalg.qr(a)), a)
    near(q @ r, a, dtype)
    assert np.all(np.tril(r, -1) == 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_solutions(rng, x64, dtype):
    a, b = matrix(rng, (2, 9, 9), dtype), matrix(rng, (2, 9, 3), dtype)
    positive = a @ adjoint(a) + np.eye(9, dtype=dtype)
    near(a @ run(jnp.linalg.solve, a, b), b, dtype, 10)
    near(a @ run(jnp.linalg.inv, a), np.broadcast_to(np.eye(9, dtype=dtype), a.shape), dtype, 10)
    near(run(jnp.linalg.det, a), np.linalg.det(a), dtype, 100)
    near(run(jnp.linalg.cholesky, positive), np.linalg.cholesky(positive), dtype, 10)
    near(run(lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b),
             positive, b), np.linalg.solve(positive, b), dtype, 10)
    near(run(lambda a, b: jnp.linalg.lstsq(a, b)[0], a[0, :, :4], b[0]),
         np.linalg.lstsq(a[0, :, :4], b[0])[0], dtype, 100)


def test_gradients(rng, x64):
    a = matrix(rng, (4, 4), "float64")

    def f(a):
        return jnp.sum(jnp.linalg.inv(a) ** 2) + jnp.linalg.slogdet(a @ a.T)[1]

    near(run(jax.grad(f), a), np.asarray(jax.grad(f)(a)), "float64", 1000)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_symmetric(rng, x64, dtype):
    a = matrix(rng, (2, 6, 6), dtype)
    values, vectors = run(lambda a: tuple(jnp.linalg.eig(a)), a)
    near(a @ vectors, vectors * values[:, None, :], values.dtype, 10)
    t, z = run(jax.scipy.linalg.schur, a[0])
    near(z @ t @ adjoint(z), a[0], dtype, 10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (2, 9, 4), (3, 8)])
def test_other_factorizations(rng, x64, dtype, shape):
    a = matrix(rng, shape, dtype)
    u, s, v = run(lambda a: tuple(jnp.linalg.svd(a)), a)
    rank = s.shape[-1]
    near(u[..., :rank] * s[..., None, :] @ v[..., :rank, :], a, dtype, 10)
    near(adjoint(u) @ u, np.broadcast_to(np.eye(u.shape[-1], dtype=dtype), u.shape), dtype, 10)
    near(run(lambda a: jnp.linalg.svd(a, compute_uv=False), a), s, dtype, 10)
    lu, _, rows = run(lambda a: tuple(jax.lax.linalg.lu(a)), a)
    lower = np.tril(lu, -1)[..., :rank] + np.eye(*lu.shape[-2:], dtype=dtype)[:, :rank]
    near(lower @ np.triu(lu)[..., :rank, :], np.take_along_axis(a, rows[..., None], -2), dtype, 10)
    q, r, columns = run(lambda a: tuple(
        jax.lax.linalg.qr(a, pivoting=True, full_matrices=False)), a)
    near(q @ r, np.take_along_axis(a, columns[..., None, :], -1), dtype, 10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_forms_and_systems(rng, x64, dtype):
    a, b = matrix(rng, (2, 6, 6), dtype), matrix(rng, (2, 6, 3), dtype)
    h, q = run(lambda a: jax.scipy.linalg.hessenberg(a, calc_q=True), a[0])
    near(q @ h @ adjoint(q), a[0], dtype, 10)
    assert np.all(np.tril(h, -2) == 0)
    for lower in (True, False):
        x = run(lambda a, b: jax.lax.linalg.triangular_solve(
            a, b, left_side=True, lower=lower, transpose_a=True, conjugate_a=True),
            a + 6 * np.eye(6, dtype=dtype), b)
        triangle = (np.tril if lower else np.triu)(a + 6 * np.eye(6, dtype=dtype))
        near(adjoint(triangle) @ x, b, dtype, 10)
    beside = [matrix(rng, (2, 6), dtype) for _ in range(3)]
    beside[0][:, 0] = beside[2][:, -1] = 0
    x = run(jax.lax.linalg.tridiagonal_solve, *beside, b)
    dense = np.stack([np.diag(dl[1:], -1) + np.diag(d) + np.diag(du[:-1], 1)
                      for dl, d, du in zip(*beside)])
    near(dense @ x, b, dtype, 100)


def test_eigenvectors_by_inverse_iteration(rng, x64):
    d, e = rng.normal(size=12), rng.normal(size=11)
    values, vectors = run(lambda d, e: jax.scipy.linalg.eigh_tridiagonal(
        d, e, eigvals_only=False, select="a"), d, e)
    dense = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    near(values, np.linalg.eigvalsh(dense), "float64", 100)
    near(dense @ vectors, vectors * values, "float64", 1000)
    near(vectors.T @ vectors, np.eye(12), "float64", 1000)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_finite_is_nan(x64, dtype):
    a = np.eye(3, dtype=dtype)
    bad = np.stack([a, np.where(a == 1, np.array(np.nan, dtype), a), -a])
    values, vectors = run(lambda a: tuple(jnp.linalg.eigh(a)), bad)
    assert np.isfinite(values[[0, 2]]).all() and np.isnan(values[1]).all()
    assert np.isnan(vectors[1]).all()
    s = run(lambda a: jnp.linalg.svd(a, compute_uv=False), bad)
    assert np.isfinite(s[[0, 2]]).all() and np.isnan(s[1]).all()
    lower = run(jnp.linalg.cholesky, bad)
    assert np.isfinite(lower[0]).all() and np.isnan(np.diagonal(lower[1:], 0, 1, 2)).all()
    values, _ = run(lambda a: tuple(jnp.linalg.eig(a)), bad)
    assert np.isfinite(values[[0, 2]]).all() and np.isnan(values[1]).all()


def sparse_product(m, x):
    return sparse.BCSR.fromdense(m, nse=8) @ x


@pytest.mark.parametrize("dtype", DTYPES + ["int32", "int64"])
@pytest.mark.parametrize("indices", ["int32", "int64"])
def test_sparse_products(rng, x64, dtype, indices):
    m = np.where(rng.random((5, 7)) < 0.2, matrix(rng, (5, 7), "float64") * 9, 0).astype(dtype)
    m[2] = 0

    def product(m, x):
        return sparse.BCSR.fromdense(m, nse=20, index_dtype=indices) @ x

    for shape in ((7,), (7, 1), (7, 4), (7, 0)):
        x = (9 * matrix(rng, shape, "float64")).astype(dtype)
        got = run(product, m, x)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, m @ x, rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(got, jax.jit(product)(m, x))


def test_gradients_of_sparse_products(rng, x64):
    m, x = np.diag(rng.normal(size=5)), rng.normal(size=(5, 3))
    gradient = jax.grad(lambda x: jnp.sum(sparse_product(m, x) ** 2))
    near(run(gradient, x), 2 * m.T @ m @ x, "float64", 10)


def test_a_library_of_sparse_products(tmp_path):
    m, x, y = np.float32([[0, 1, 0], [2, 0, 3]]), np.float32([1, 2, 3]), np.empty(2, "f")
    aot.compile(sparse_product, m, x, name="graph").save_library(tmp_path)
    library, instance = ctypes.CDLL(str(tmp_path / "graph.so")), ctypes.c_void_p()
    assert library.graph_create(None, ctypes.byref(instance)) == 0
    addresses = (ctypes.c_void_p(array.ctypes.data) for array in (m, x, y))
    assert library.graph_graph(instance, *addresses) == 0
    library.graph_destroy(instance)
    assert y.tolist() == [2, 11]


def rows_of(table):
    """Names in LAPACK, without the letter of their type."""
    rows = re.findall(r"^LINALG(?:_LEFT_TO_LAPACK)?\((.*)\)", table.read_text(), re.MULTILINE)
    return {name for row in rows for name in row.split(", ")[1:]}


def bits(choice, *functions):
    """The cases that differ from the plugin's, and what was called."""
    environment = {**os.environ, "TERCEL_LINEAR_ALGEBRA": choice}
    done = subprocess.run([sys.executable, HERE / "linalg_bits.py", *functions], check=True,
                          env=environment, capture_output=True, text=True)
    *different, facts = done.stdout.splitlines()
    return different, json.loads(facts)


def test_bits_are_the_plugins_where_it_does_without_lapack():
    different, facts = bits("own")
    assert not different
    assert set(facts["called"]) == rows_of(
        HERE.parents[1] / "src" / "runtime" / "linalg" / "functions.def")
    assert facts["cases"] == 208
    assert bits("lapack", "eigh", "lu")[0]  # LAPACK's are others: they were compared


def test_bits_are_the_plugins_but_for_schur_forms():
    functions = set(FUNCTIONS) - {"schur"}
    different, facts = bits("mixed", *sorted(functions))
    assert not different
    assert {"potrf", "getrf", "geqrf", "geqp3", "orgqr", "ormqr", "sytrd", "gtsv", "gehrd", "syevd",
            "gesdd", "geev"} <= set(facts["called"])


def test_a_library_of_linear_algebra(rng, tmp_path):
    """Nothing but the C library, and what it has of LAPACK is its own."""
    a = matrix(rng, (5, 5), "float32")
    aot.compile(lambda a: tuple(jnp.linalg.eigh(a @ a.T)), a, name="eigen").save_library(tmp_path)
    library = ctypes.CDLL(str(tmp_path / "eigen.so"))
    instance, values, vectors = ctypes.c_void_p(), np.empty(5, "f"), np.empty((5, 5), "f")
    assert library.eigen_create(None, ctypes.byref(instance)) == 0
    addresses = (ctypes.c_void_p(array.ctypes.data) for array in (a, values, vectors))
    assert library.eigen_eigen(instance, *addresses) == 0
    library.eigen_destroy(instance)
    near(a @ a.T @ vectors, vectors * values, "float32", 10)
    # Of linear algebra it has what it calls.
    assert (tmp_path / "eigen.so").stat().st_size < 400_000


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 3, 8, 32])
def test_batches_of_small_matrices(rng, x64, dtype, n):
    """They are done side by side, on the plugin too, whatever LAPACK there is."""
    a = matrix(rng, (37, n, n), dtype) + 2 * n * np.eye(n, dtype=dtype)
    b = matrix(rng, (37, n, 3), dtype)
    positive = a @ adjoint(a)
    positive[5] = -positive[5]

    def results(a, b, positive):
        q, r = jnp.linalg.qr(a)
        rows = jnp.conj(jnp.swapaxes(b, -1, -2))
        right = jax.lax.linalg.triangular_solve(a, rows, lower=True, transpose_a=True)
        return (jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.slogdet(a)[1], q, r, right,
                jnp.linalg.cholesky(positive), *jnp.linalg.eigh(positive),
                *jnp.linalg.svd(a, full_matrices=False))

    for got in (run(results, a, b, positive), jax.jit(results)(a, b, positive)):
        x, inverse, size, q, r, right, root, values, vectors, u, s, vh = map(np.asarray, got)
        near(a @ x, b, dtype, n)
        near(a @ inverse, np.broadcast_to(np.eye(n, dtype=dtype), a.shape), dtype, n)
        near(size, np.linalg.slogdet(a)[1], size.dtype, n)
        near(q @ r, a, dtype, n * n)
        near(adjoint(q) @ q, np.broadcast_to(np.eye(n, dtype=dtype), a.shape), dtype, n)
        near(right @ np.swapaxes(np.tril(a), -1, -2), adjoint(b), dtype, n)
        assert np.isnan(root[5][np.tril_indices(n)]).all()
        good = np.arange(37) != 5
        near((root @ adjoint(root))[good], positive[good], dtype, 8 * n * n)
        near(values, np.linalg.eigvalsh(positive), values.dtype, 8 * n * n)
        near(vectors * values[:, None] @ adjoint(vectors), positive, dtype, 8 * n * n)
        near(s, np.linalg.svd(a)[1], s.dtype, n)
        near(u * s[:, None] @ vh, a, dtype, n * n)


def test_small_matrices_need_no_linear_algebra(tmp_path):
    """What is written out as arithmetic takes no function along."""
    def size(n):
        a, b = np.eye(n, dtype=np.float32), np.ones(n, np.float32)
        aot.compile(jnp.linalg.solve, a, b, name="solve").save_library(tmp_path / str(n))
        return (tmp_path / str(n) / "solve.so").stat().st_size
    assert size(3) < size(5) - 30_000
