"""What programs compute of constants alone: done once, while they are compiled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from tercel import aot, load


def rotated(x):
    length, width = x.shape
    angle = jnp.arange(length)[:, None] * 0.01 / 10000.0 ** (jnp.arange(0, width, 2) / width)
    a, b = x[:, ::2], x[:, 1::2]
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    return jnp.stack([a * cosine - b * sine, a * sine + b * cosine], -1).reshape(x.shape)


def noisy(x):
    return x + jax.random.normal(jax.random.key(7), x.shape)


def dropped(x):
    kept = jax.random.bernoulli(jax.random.key(3), 0.9, x.shape)
    return lax.fori_loop(0, 3, lambda i, y: jnp.where(kept, y * 1.5, i), x)


def powers(x):
    weights = lax.scan(lambda c, t: (c * 0.99 + t, c), 1.0, jnp.arange(2000.0))[1]
    return x * weights[: len(x), None], lax.cond(x[0, 0] > 0, lambda: weights, lambda: -weights)


PROGRAMS = {
    "rotated": rotated,
    "noisy": noisy,
    "dropped": dropped,
    "powers": powers,
    "permuted": lambda x: x[jax.random.permutation(jax.random.key(5), len(x))],
    "inserted": lambda x: (jnp.insert(x, 1, 7.0, axis=0), jnp.insert(x, np.array([0, 9, 40]), 2.0)),
    "deleted": lambda x: jnp.delete(x, np.array([3, 100]), axis=0),
    "transformed": lambda x: x @ jnp.cos(jnp.outer(jnp.arange(64.0), jnp.arange(80) + 0.5)),
    "solved": lambda x: jnp.linalg.solve(jnp.eye(64) * 3 + jnp.tri(64), x.T),
    "sorted": lambda x: x[:, jnp.argsort(jnp.sin(jnp.arange(64.0) * 9))] + jnp.sort(
        jnp.cos(jnp.arange(300.0)))[:, None],
    "alone": lambda x: (jax.random.normal(jax.random.key(7), (1000,)), x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(agree, rng, name):
    agree(PROGRAMS[name], rng.normal(size=(300, 64)).astype(np.float32))


@pytest.mark.native
@pytest.mark.parametrize("name", ["rotated", "noisy", "inserted", "powers"])
def test_saved(rng, tercel, name):
    x = rng.normal(size=(300, 64)).astype(np.float32)
    saved = load(aot.compile(PROGRAMS[name], x, name="saved").to_bytes()).saved
    wanted = jax.jit(PROGRAMS[name])(jax.device_put(x, tercel))
    for got, value in zip(jax.tree.leaves(saved(x)), jax.tree.leaves(wanted), strict=True):
        assert np.array_equal(np.asarray(got), np.asarray(value))
