"""Gathers at places that follow from the coordinates: slices, turned, repeated, joined, windows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import random_places


@pytest.mark.parametrize("places", [jnp, np], ids=["computed", "constant"])
@pytest.mark.parametrize("seed", range(40))
def test_random_places(agree, seed, places):
    rng = np.random.default_rng(seed)
    program, shape, dtype = random_places.gather(rng, places)
    agree(program, (rng.integers(-9, 9, shape)).astype(jnp.dtype(dtype)))


def test_windows(agree, rng):
    x = rng.normal(size=(3, 400)).astype(np.float32)
    w = rng.normal(size=(16, 9)).astype(np.float32)

    def frames(x):
        return x[:, jnp.arange(0, 380, 5)[:, None] + jnp.arange(16)]

    agree(lambda x, w: (frames(x), frames(x).sum(-1), frames(x) @ w, jnp.fft.rfft(frames(x)),
                        jnp.sort(frames(x), -1)[..., 8], frames(jnp.exp(x)).max(1)), x, w)
    agree(jax.grad(lambda x, w: jnp.sin(frames(x) @ w).sum()), x, w)
    agree(jax.vmap(lambda x, w: frames(x[None])[0] * w, (0, None)), x, w[:, 0])


def test_patches(agree, rng):
    x = rng.normal(size=(4, 21, 34)).astype(np.float32)
    w = rng.normal(size=(9, 5)).astype(np.float32)
    i, j = (jnp.arange(n)[:, None] + jnp.arange(3) for n in (19, 32))

    def patches(x):
        return x[:, i[:, None, :, None], j[None, :, None, :]].reshape(4, 19, 32, 9)

    agree(lambda x, w: (patches(x), patches(x) @ w, patches(x).max(-1)), x, w)


def test_within_a_loop(agree, rng):
    x = rng.normal(size=(64, 48)).astype(np.float32)
    n = jnp.arange(64)
    agree(lambda x: jax.lax.fori_loop(
        0, 7, lambda k, x: x + 0.1 * (x[(n + 1) % 64] - 2 * x + x[(n - 1) % 64]) * k, x), x)
    agree(lambda x: jax.lax.scan(lambda c, r: (c[::-1] + r[n[:48][::-1]], c[n % 48]), x[0], x), x)
