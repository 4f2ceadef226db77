"""Arrays of few components that are put together and taken apart again"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax


def vectors(rng, *shape, dtype="float32"):
    return jnp.asarray(rng.integers(-3, 4, shape)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
def test_cross_products(agree, rng, dtype):
    a, b = vectors(rng, 50, 3, dtype=dtype), vectors(rng, 50, 3, dtype=dtype)
    agree(lambda a, b: jnp.cross(jnp.cross(a, b) + a, b), a, b)
    agree(lambda a, b: (jnp.cross(a, b) ** 2).sum(1, dtype=dtype), a, b)
    agree(lambda a, b: jnp.cross(a, b).max(1) - jnp.cross(b, a).prod(-1, dtype=dtype), a, b)


def test_gradient_of_a_cross_product(agree, rng):
    a, b = vectors(rng, 50, 3), vectors(rng, 50, 3)
    agree(jax.grad(lambda a, b: (jnp.cross(a, b) ** 2).sum(), argnums=(0, 1)), a, b)


@pytest.mark.parametrize("length", [2, 3, 5, 8, 9])
@pytest.mark.parametrize("scan", [jnp.cumprod, lax.cummax, jnp.cumsum])
def test_gradients_of_short_scans(agree, rng, scan, length):
    x = vectors(rng, 40, length) + jnp.arange(length, dtype=jnp.float32) / 8
    agree(jax.grad(lambda x: (scan(x, 1) * x).sum()), x)
    agree(lambda x: scan(jnp.flip(jnp.roll(x, 1, 1), 1), 1)[:, ::2], x)


def test_matrices_of_columns(agree, rng):
    def inverse(m):
        r = [m[:, i] for i in range(3)]
        columns = [jnp.cross(r[i], r[i - 2]) for i in (1, 2, 0)]
        return jnp.stack(columns, -1) / ((r[0] * columns[0]).sum(-1)[:, None, None] + 100)

    agree(inverse, vectors(rng, 30, 3, 3))


def test_updates_and_padding_of_components(agree, rng):
    def run(x, y):
        z = x.at[:, 1].set(y[:, 0]).at[:, 2:].multiply(2)
        wide = jnp.pad(z, ((0, 0), (1, 2)), constant_values=3)
        return wide[:, 1:] * wide[:, :-1], z[::-1] + jnp.pad(z[:1], ((0, 19), (0, 0))), z.sum(0)

    agree(run, vectors(rng, 20, 4), vectors(rng, 20, 4))


def test_what_a_loop_inside_reads(agree, rng):
    def run(a, b):
        c = jnp.cross(a, b)
        return lax.fori_loop(0, 3, lambda _, x: x + c * jnp.cross(x, c)[:, :1], a), c[:, 0] * c[:, 2]

    agree(run, vectors(rng, 25, 3), vectors(rng, 25, 3), scale=1e6)


@pytest.mark.parametrize("shape", [(40, 4), (16, 3, 8), (33, 2)], ids=str)
def test_all_turned(agree, rng, shape):
    x = rng.normal(size=shape).astype(np.float32)

    def turned(x):
        y = jnp.flip(x)
        return y + jnp.roll(y, 1, -1), jnp.flip(x, (0, -1)) - jnp.roll(jnp.flip(x, (0, -1)), 1, 0)

    agree(turned, x)
