"""What JAX calls LAPACK for, of one matrix and of many."""

import jax
import jax.numpy as jnp
import numpy as np

from workload import normal, workload

SIZES = (16, 64, 256, 1024)


def symmetric(a):
    return a + a.swapaxes(-1, -2)


def positive(a):
    return (a @ a.swapaxes(-1, -2) + np.eye(a.shape[-1])).astype(np.float32)


def facts(values, *vectors):
    """What no sign and no order of eigenvalues changes."""
    return jnp.sort(jnp.abs(values)), *(jnp.abs(x).sum() for x in vectors)


def svd(a):
    u, values, vh = jnp.linalg.svd(a, full_matrices=False)
    return facts(values, u, vh)


DECOMPOSITIONS = {
    "eigh": (lambda a: facts(*jnp.linalg.eigh(a)), symmetric), "svd": (svd, lambda a: a),
    "eig": (lambda a: facts(*jnp.linalg.eig(a)), lambda a: a), "qr": (jnp.linalg.qr, lambda a: a),
    "cholesky": (jnp.linalg.cholesky, positive), "lu": (jax.lax.linalg.lu, lambda a: a)}


def register(name, function, prepare, *shape):
    called = "x".join(map(str, shape))
    workload("linear_algebra", f"{name}_{called}", goal=1)(
        lambda: (function, (prepare(normal(*shape)),)))


for _name, (_function, _prepare) in DECOMPOSITIONS.items():
    for _size in SIZES:
        register(_name, _function, _prepare, _size, _size)
    register(_name, _function, _prepare, 100, 12, 12)


@workload("linear_algebra", goal=1)
def least_squares_5000x100():
    return lambda a, b: jnp.linalg.lstsq(a, b)[0], (normal(5000, 100), normal(5000, 3, seed=1))


@workload("linear_algebra", goal=1)
def solve_spd_200x20x20():
    def solve(a, b):
        return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b)

    return solve, (positive(normal(200, 20, 20)), normal(200, 20, 4, seed=1))
