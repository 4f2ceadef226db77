"""Linear algebra, which JAX writes as calls of LAPACK: Tercel's functions, or jaxlib's handlers on its memory."""

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from matrices import spd

TYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.fixture(autouse=True)
def _x64(x64):
    yield


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [(), (3,), (2, 1, 3)])
def test_solvers(agree, matrix, dtype, batch):
    a, b = matrix(*batch, 5, 5, dtype=dtype), matrix(*batch, 5, 2, dtype=dtype)
    agree(jnp.linalg.solve, a, b, scale=20)
    agree(jnp.linalg.inv, a, scale=50)
    agree(jnp.linalg.det, a, scale=20)
    agree(jnp.linalg.slogdet, a, scale=20)
    agree(jnp.linalg.cholesky, spd(a), scale=20)
    agree(lambda a, b: jsl.solve_triangular(a, b, lower=True), spd(a), b, scale=20)
    agree(lambda a: jax.lax.linalg.lu(a), a, scale=20)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (2, 5, 3), (1, 1)])
def test_orthogonal(agree, matrix, dtype, shape):
    a = matrix(*shape, dtype=dtype)
    agree(jnp.linalg.qr, a, scale=20)
    agree(lambda a: jnp.linalg.svd(a, compute_uv=False), a, scale=20)

    def restored(a):
        u, s, v = jnp.linalg.svd(a, full_matrices=False)
        return (u * s[..., None, :]) @ v
    agree(restored, a, scale=50)
    agree(lambda a: jnp.linalg.matrix_rank(a), a)
    agree(jnp.linalg.pinv, a, scale=100)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(300, 1), (300, 5), (200, 16), (200, 17), (90, 40)])
@pytest.mark.parametrize("size", [-0.9, 0, 0.9])
def test_few_columns(tercel, matrix, dtype, shape, size):
    """Of numbers that are moderate, tiny and huge, whose squares are nothing or infinite."""
    a = matrix(*shape, dtype=dtype)
    limits = np.finfo(dtype)
    unit = 2.0 ** int(size * (limits.maxexp if size > 0 else -limits.minexp))
    q, r = jax.device_get(jax.jit(jnp.linalg.qr)(jax.device_put(a * a.dtype.type(unit), tercel)))
    few = 60 * limits.eps
    np.testing.assert_allclose(q.conj().T @ q, np.eye(shape[1]), rtol=0, atol=few)
    np.testing.assert_allclose(q @ (r / a.dtype.type(unit)), a, rtol=0, atol=few * 20)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 12, 26, 40])
@pytest.mark.parametrize("batch", [1, 9])
def test_signs_of_vectors_are_as_in_lapack(tercel, cpu, matrix, dtype, n, batch):
    opposite = []  # of each vector; but where shifts are nearly values, rounding decides

    def compare(vectors, a):
        ours, theirs = (np.asarray(vectors(jax.device_put(a, device))) for device in (tercel, cpu))
        opposite.extend(np.real((np.conj(ours) * theirs).sum(-2)).ravel() < 0.99)

    a = matrix(batch, n, n, dtype=dtype)
    symmetric = a + np.conj(np.swapaxes(a, -1, -2))
    for lower in (True, False):
        compare(lambda a: jax.lax.linalg.eigh(a, lower=lower, symmetrize_input=False)[0], symmetric)
    for rows, columns in [(n, n), (n + 2, n), (2 * n, n), (n, n + 2), (n, 2 * n)]:
        a = matrix(batch, rows, columns, dtype=dtype)
        compare(lambda a: jnp.linalg.svd(a, full_matrices=False)[0], a)
        compare(lambda a: jnp.linalg.svd(a, full_matrices=False)[2].swapaxes(-1, -2), a)
    assert np.mean(opposite) < 0.02


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [1, 9])
def test_vectors_of_matrices_with_zeros(tercel, matrix, rng, dtype, batch):
    tolerance = 1e3 * np.finfo(dtype).eps

    def check(product, a):
        np.testing.assert_allclose(product, a, atol=tolerance, rtol=0)

    for rows, columns in [(4, 4), (9, 9), (7, 4), (4, 7), (20, 5), (5, 20)]:
        a = matrix(batch, rows, columns, dtype=dtype) * (rng.random((batch, rows, columns)) < 0.3)
        a = a.astype(dtype)
        u, s, v = map(np.asarray, jnp.linalg.svd(jax.device_put(a, tercel)))
        k = min(rows, columns)
        check((u[..., :k] * s[:, None]) @ v[:, :k], a)
        check(np.conj(np.swapaxes(u, 1, 2)) @ u, np.broadcast_to(np.eye(rows), u.shape))
        check(np.conj(np.swapaxes(v, 1, 2)) @ v, np.broadcast_to(np.eye(columns), v.shape))
        if rows != columns:
            continue
        symmetric = a + np.conj(np.swapaxes(a, 1, 2))
        values, vectors = map(np.asarray, jnp.linalg.eigh(jax.device_put(symmetric, tercel)))
        check((vectors * values[:, None]) @ np.conj(np.swapaxes(vectors, 1, 2)), symmetric)


@pytest.mark.parametrize("method", ["eigh", "svd"])
def test_samples_are_those_of_lapack(agree, matrix, method):
    covariance = spd(matrix(4, 4, dtype="float64"))
    agree(lambda c: jax.random.multivariate_normal(
        jax.random.key(0), jnp.zeros(4), c, (5,), method=method), covariance, scale=1e4)


@pytest.mark.parametrize("dtype", TYPES)
def test_eigenvalues(agree, matrix, dtype):
    a = matrix(2, 5, 5, dtype=dtype)
    h = spd(a)
    agree(jnp.linalg.eigvalsh, h, scale=50)
    agree(lambda h: (lambda w, v: (v * w[..., None, :]) @ jnp.conj(jnp.swapaxes(v, -1, -2)))(
        *jnp.linalg.eigh(h)), h, scale=100)
    agree(lambda a: jnp.sort(jnp.linalg.eigvals(a)), a, scale=100)
    agree(lambda a: jsl.schur(a)[0], a[0], scale=100)
    agree(lambda a: jsl.hessenberg(a), a[0], scale=100)
    agree(jsl.expm, a[0] / 4, scale=100)


def test_other_calls(agree, matrix):
    a, b = matrix(6, 4), matrix(6, 2)
    agree(lambda a, b: jnp.linalg.lstsq(a, b)[0], a, b, scale=50)
    agree(lambda a: jsl.qr(a, pivoting=True), a, scale=20)
    d, e = np.full(7, 4.0), np.full(7, 1.0)
    agree(lambda d, e, b: jax.lax.linalg.tridiagonal_solve(e.at[0].set(0), d, e.at[-1].set(0), b),
          d, e, matrix(7, 2, dtype="float64"), scale=20)
    agree(lambda a: jsl.lu_factor(a), a[:4], scale=20)
    agree(lambda a: jsl.sqrtm(a), spd(matrix(4, 4)), scale=100)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_empty(agree, shape):
    a = np.zeros(shape, np.float32)
    agree(jnp.linalg.inv, a)
    agree(jnp.linalg.cholesky, a)
    agree(lambda a: jax.lax.linalg.lu(a), a)


def test_tall_and_empty(agree):
    agree(jnp.linalg.qr, np.zeros((0, 3), np.float32))
    agree(lambda a: jnp.linalg.svd(a, full_matrices=False), np.zeros((3, 0), np.float32))


def test_what_lapack_cannot_do_is_nan(agree):
    singular = np.ones((3, 3), np.float32)
    agree(jnp.linalg.cholesky, -singular)
    agree(jnp.linalg.det, singular)
    agree(jnp.linalg.solve, np.zeros((2, 2)), np.ones(2))
    agree(jnp.linalg.eigvalsh, np.full((3, 3), np.nan))


def test_gradients_and_vmap(agree, matrix):
    a, b = spd(matrix(4, 4)), matrix(4)
    agree(jax.grad(lambda a, b: jnp.sum(jnp.linalg.solve(a, b))), a, b, scale=20)
    agree(jax.grad(lambda a: jnp.linalg.slogdet(a)[1]), a, scale=20)
    agree(jax.grad(lambda a: jnp.sum(jnp.linalg.eigh(a)[0] ** 2)), a, scale=50)
    agree(jax.vmap(jnp.linalg.inv), spd(matrix(5, 3, 3)), scale=50)
    agree(jax.jacfwd(lambda b: jnp.linalg.solve(a, b)), b, scale=20)


def test_calls_inside_loops_and_branches(agree, matrix):
    a, b = spd(matrix(4, 4)), matrix(4)

    def refine(a, b):
        return jax.lax.fori_loop(0, 5, lambda i, x: x + jnp.linalg.solve(a, b - a @ x), b)
    agree(refine, a, b, scale=50)
    agree(lambda p, a: jax.lax.cond(p, jnp.linalg.inv, jnp.linalg.cholesky, a), True, a, scale=20)
    agree(lambda p, a: jax.lax.cond(p, jnp.linalg.inv, jnp.linalg.cholesky, a), False, a, scale=20)
    agree(lambda a: jax.lax.scan(lambda c, x: (c @ jnp.linalg.inv(x), jnp.linalg.det(x)),
                                 jnp.eye(4, dtype=a.dtype), jnp.stack([a, a + 1]))[0], a, scale=50)


def test_an_operand_that_lives_on_is_not_overwritten(agree, matrix):
    a = spd(matrix(5, 5))
    agree(lambda a: (jnp.linalg.cholesky(a), a + 1, jax.lax.linalg.lu(a), a * 2), a, scale=20)
    agree(lambda a: (jax.lax.linalg.lu(a.T)[0], a.T), a, scale=20)
    donated = jax.jit(lambda a: jax.lax.linalg.lu(a)[0] + a, donate_argnums=0)
    wanted = np.asarray(jax.jit(lambda a: jax.lax.linalg.lu(a)[0] + a)(a))
    np.testing.assert_array_equal(donated(jnp.array(a)), wanted)


@pytest.mark.native
def test_large(agree, matrix):
    a, b = spd(matrix(200, 200)), matrix(200, 3)
    agree(jnp.linalg.solve, a, b, scale=100)
    agree(jnp.linalg.cholesky, a, scale=100)


def test_sparse(agree, rng):
    from jax.experimental import sparse
    dense = (rng.random((6, 5)) * (rng.random((6, 5)) < 0.4)).astype(np.float32)
    vector, wide = rng.random(5).astype(np.float32), rng.random((5, 3)).astype(np.float32)
    for make in (sparse.BCSR.fromdense, sparse.BCOO.fromdense):
        data = make(dense)
        agree(lambda data, v: data @ v, data, vector)
        agree(lambda data, v: data @ v, data, wide)


def test_eigenvalues_of_single_numbers_are_the_numbers(agree):
    agree(jnp.linalg.eigh, np.array([[[2.5]], [[-3]], [[np.inf]], [[0]]], np.float32))
    agree(jnp.linalg.eigvalsh, np.array([[2 + 0j]], np.complex64))
