"""Linear algebra of matrices so small that it is written out: LU, Cholesky factors, triangular systems."""

import itertools

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from jax.lax import linalg
from matrices import spd


@pytest.fixture(autouse=True)
def _x64(x64):
    yield


@pytest.mark.parametrize("dtype, shape", [
    ("float32", (1, 1)), ("float64", (7, 4, 4)), ("complex64", (3, 2)),
    ("complex128", (2, 3, 3, 3)), ("float32", (2, 4)), ("complex64", (2, 2))])
def test_lu(agree, matrix, dtype, shape):
    agree(linalg.lu, matrix(*shape, dtype=dtype), scale=20)


def test_pivots_are_those_of_lapack(agree, rng):
    """All orders of the rows, ties and zeros among them."""
    rows = np.array([[0, 1, 2], [-3, 1, 1], [3, 0, 1], [0, 0, 4], [0, 2, 0]], np.float64)
    all_threes = np.stack([rows[list(p)] for p in itertools.product(range(5), repeat=3)])
    agree(linalg.lu, all_threes)
    singular = np.stack([np.zeros((4, 4)), np.ones((4, 4)), np.tri(4), np.tri(4).T, np.eye(4, k=1)])
    agree(linalg.lu, singular)
    agree(jnp.linalg.det, singular)
    agree(jnp.linalg.slogdet, singular)


def test_lu_of_odd_numbers(agree):
    a = np.tile(np.array([[1.0, 2.0], [3.0, 4.0]]), (12, 1, 1))
    for k, (value, i, j) in enumerate(itertools.product([np.inf, 1e-310, 1e300], range(2), range(2))):
        a[k, i, j] = value
    agree(lambda a: (linalg.lu(a), jnp.linalg.det(a)), a)
    a[:, 1, 0] = np.nan
    pivots_are_normal = np.abs(a[:, 0, 0]) > 1e-300  # XLA:CPU takes a subnormal one for zero
    assert np.isnan(agree(jnp.linalg.det, a[pivots_are_normal])).all()


def test_a_row_that_is_a_multiple_of_the_other_leaves_zero(tercel, rng):
    first = rng.integers(1, 6, (500, 1, 2)).astype(np.float32)
    a = np.concatenate([first, first * rng.integers(-3, 4, (500, 1, 1))], 1).astype(np.float32)
    lu, _, _ = linalg.lu(jax.device_put(a, tercel))
    np.testing.assert_array_equal(np.asarray(lu)[:, 1, 1], 0)


@pytest.mark.parametrize("dtype, shape", [
    ("float32", (1, 1)), ("float64", (6, 6)), ("complex64", (2, 3, 3, 3)),
    ("complex128", (3, 5, 5)), ("float32", (3, 2, 2))])
def test_cholesky(agree, matrix, dtype, shape):
    a = spd(matrix(*shape, dtype=dtype))
    agree(lambda a: (linalg.cholesky(a, symmetrize_input=False), jnp.linalg.cholesky(a, upper=True)), a,
          scale=20)


@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_cholesky_reads_one_triangle_and_keeps_the_other(agree, matrix, dtype, uplo):
    a = spd(matrix(3, 3, dtype=dtype))
    a[(0, 2) if uplo == "L" else (2, 0)] = np.nan
    name = "lapack_spotrf_ffi" if dtype == "float32" else "lapack_zpotrf_ffi"

    def factor(a):
        types = (jax.ShapeDtypeStruct(a.shape, a.dtype), jax.ShapeDtypeStruct((), np.int32))
        call = jax.ffi.ffi_call(name, types, input_layouts=[(1, 0)], output_layouts=[(1, 0), ()])
        return call(a, uplo=np.uint8(ord(uplo)))
    agree(factor, a, scale=20)


def test_what_is_not_positive_definite(agree):
    a = np.tile(np.eye(4), (8, 1, 1))
    for k, (value, pivot) in enumerate(itertools.product([0.0, -1.0], range(4))):
        a[k, pivot, pivot] = value
    found = agree(lambda a: jnp.linalg.cholesky(a), a)
    assert np.isnan(found[:, *np.tril_indices(4)]).all()
    a[:, 3, 3] = np.nan
    # Reference LAPACK and our code give up the whole matrix, OpenBLAS goes on.
    assert np.isnan(np.asarray(jax.jit(jnp.linalg.cholesky)(a))[:, 3, 3]).all()


@pytest.mark.parametrize("dtype, left, n, m, batch", [
    ("float32", True, 1, 1, ()), ("float64", True, 6, 2, ()), ("complex64", True, 2, 3, (4,)),
    ("float32", False, 4, 30, (2,)), ("float64", True, 4, 30, (2,)), ("complex128", False, 3, 1, (4,))])
def test_triangular_systems(agree, matrix, dtype, left, n, m, batch):
    a = matrix(*batch, n, n, dtype=dtype) + 4 * np.eye(n, dtype=dtype)
    b = matrix(*batch, *((n, m) if left else (m, n)), dtype=dtype)

    def solutions(a, b):
        return [linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=transposed,
                                        conjugate_a=conjugate, unit_diagonal=unit)
                for lower, transposed, unit in itertools.product([False, True], repeat=3)
                for conjugate in ([False, True] if dtype.startswith("complex") else [False])]
    agree(solutions, a, b, scale=1000)


@pytest.mark.parametrize("dtype, n", [("float32", 4), ("float64", 2), ("complex64", 3), ("complex128", 1)])
def test_solvers(agree, matrix, dtype, n):
    a, b = matrix(3, n, n, dtype=dtype), matrix(3, n, dtype=dtype)

    def all_of_them(a, b):
        solutions = jax.vmap(jnp.linalg.solve)(a, b)
        return (solutions, jnp.linalg.solve(a[0], b[0]), jnp.linalg.inv(a), jnp.linalg.det(a[1]),
                jnp.linalg.slogdet(a))
    agree(all_of_them, a, b, scale=1000)
    agree(jax.vmap(lambda a, b: jsl.cho_solve(jsl.cho_factor(a), b)), spd(a), b, scale=100)


@pytest.mark.parametrize("n", [2, 4])
def test_gradients(agree, matrix, n):
    a, b = spd(matrix(n, n, dtype="float64")), matrix(n, dtype="float64")

    def gradients(a, b):
        return (jax.grad(lambda a, b: jnp.sum(jnp.linalg.solve(a, b) ** 2), (0, 1))(a, b),
                jax.grad(lambda a: jnp.linalg.slogdet(a)[1])(a),
                jax.grad(lambda a: jnp.sum(jnp.linalg.cholesky(a) ** 3))(a),
                jax.jacfwd(jnp.linalg.inv)(a))
    agree(gradients, a, b, scale=100)


def test_steps_of_a_loop(agree, matrix):
    a, x = spd(matrix(3, 3, dtype="float64")), matrix(3, dtype="float64")

    def run(a, x):
        def step(x, _):
            x = jnp.linalg.solve(a + 0.1 * jnp.outer(x, x), x + 1)
            return x, x
        return jax.lax.scan(step, x, None, length=20)
    agree(run, a, x, scale=100)
    agree(jax.vmap(run), np.stack([a, a + 1]), np.stack([x, 2 * x]), scale=100)
