"""Eigenvalues of Hermitian matrices as JAX code, for programs that leave Python without LAPACK."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

_SWEEPS = 20  # more than double precision needs


def eigh(a, *, lower=True, sort_eigenvalues=True, subset_by_index=None, **options):
    """Eigenvectors and eigenvalues of matrices [..., n, n]: the rule of jax.lax.linalg.eigh."""
    del options
    triangle = jnp.tril(a, -1) if lower else jnp.swapaxes(jnp.triu(a, 1), -1, -2).conj()
    diagonal = jnp.diagonal(a, axis1=-2, axis2=-1).real
    full = triangle + jnp.swapaxes(triangle, -1, -2).conj()
    full = full + diagonal[..., None] * jnp.eye(a.shape[-1], dtype=a.dtype)
    solve = functools.partial(_jacobi, sort=sort_eigenvalues)
    for _ in a.shape[:-2]:
        solve = jax.vmap(solve)
    vectors, values = solve(full)
    if subset_by_index is not None:
        vectors, values = (x[..., slice(*subset_by_index)] for x in (vectors, values))
    return vectors, values


def _jacobi(a, sort):
    """Jacobi's method for one Hermitian matrix, n/2 rotations at once: row i meets row i + n/2,
    then all but the first move on one place, as in a tournament (Brent and Luk, 1985)."""
    n = a.shape[0]
    vectors = jnp.eye(n, dtype=a.dtype)
    if n < 2:
        return vectors, jnp.diagonal(a).real
    if n % 2:
        a = jnp.pad(a, ((0, 1), (0, 1)))
        vectors = jnp.pad(vectors, ((0, 0), (0, 1)))
    half = a.shape[0] // 2
    order = _next_round(half)
    small = jnp.finfo(a.dtype).eps * jnp.linalg.norm(a)

    def rotate(_, state):
        a, vectors = state
        c, s, phase = _rotations(a, half)
        a = _rotate_columns(a, c, s, phase)
        a = _rotate_columns(a.T, c, s, phase.conj()).T
        vectors = _rotate_columns(vectors, c, s, phase)
        return a[order][:, order], vectors[:, order]

    def sweep(state):
        count, a, vectors = state
        return (count + 1, *jax.lax.fori_loop(0, max(1, 2 * half - 1), rotate, (a, vectors)))

    def unfinished(state):
        count, a, _ = state
        beside = a - jnp.diag(jnp.diagonal(a))
        return (count < _SWEEPS) & (jnp.linalg.norm(beside) > small)

    _, a, vectors = jax.lax.while_loop(unfinished, sweep, (0, a, vectors))
    values = jnp.diagonal(a).real
    if n % 2:
        # The padding is an eigenvector of its own, which only row n has: all zeros here.
        real = jnp.argsort(jnp.all(vectors == 0, axis=0))[:n]
        vectors, values = vectors[:, real], values[real]
    if sort:
        rising = jnp.argsort(values)
        vectors, values = vectors[:, rising], values[rising]
    return vectors, values


def _next_round(half):
    """Where each row and column comes from."""
    top, bottom = np.arange(half), np.arange(half, 2 * half)
    if half == 1:
        return np.arange(2)
    return np.concatenate([top[:1], bottom[:1], top[1:-1], bottom[1:], top[-1:]])


def _rotations(a, half):
    """Cosines, sines and phases that make the elements between the pairs zero."""
    beside = jnp.diagonal(a[:half, half:])
    first, second = jnp.diagonal(a[:half, :half]).real, jnp.diagonal(a[half:, half:]).real
    size = jnp.abs(beside)
    # A subnormal number has too few digits for a phase of size one.
    is_zero = size < jnp.finfo(a.dtype).tiny / jnp.finfo(a.dtype).eps
    safe = jnp.where(is_zero, 1, size)
    phase = jnp.where(is_zero, 1, beside / safe)
    ratio = (second - first) / (2 * safe)
    tangent = jnp.where(ratio < 0, -1, 1) / (jnp.abs(ratio) + jnp.hypot(ratio, 1))
    tangent = jnp.where(is_zero, 0, tangent)
    cosine = 1 / jnp.hypot(tangent, 1)
    return cosine, tangent * cosine, phase.conj()


def _rotate_columns(a, c, s, phase):
    half = c.shape[0]
    first, second = a[:, :half], a[:, half:] * phase
    return jnp.concatenate([c * first - s * second, s * first + c * second], axis=1)
