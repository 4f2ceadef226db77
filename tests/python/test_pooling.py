"""Pooling of images in either layout, and its gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

KINDS = {"max": (-np.inf, jax.lax.max), "sum": (0, jax.lax.add)}


def pooling(kind, dtype, window, strides, padding, first):
    def of_all(list, one):
        return [one, one, *list] if first else [one, *list, one]

    start, combine = KINDS[kind]
    edges = padding if isinstance(padding, str) else of_all(padding, (0, 0))
    return lambda x: jax.lax.reduce_window(
        x, np.array(start, dtype), combine, of_all(window, 1), of_all(strides, 1), edges)


def images(rng, dtype, spatial, first, batch=2, channels=3):
    shape = [batch, channels, *spatial] if first else [batch, *spatial, channels]
    return rng.integers(-9, 10, shape).astype(dtype)  # many are equal


CASES = [
    ([19, 23], [3, 3], [2, 2], "SAME"), ([12, 50], [2, 2], [2, 2], "VALID"),
    ([9, 41], [5, 5], [3, 3], "SAME"), ([7, 90], [1, 7], [2, 4], "VALID"),
    ([5, 6], [3, 3], [1, 1], "SAME"), ([4, 3], [2, 2], [1, 1], "VALID"),
    ([11, 70], [3, 5], [1, 2], [(2, 0), (1, 3)]), ([300], [9], [4], [(4, 4)]),
    ([6, 5, 33], [2, 3, 2], [2, 1, 3], "SAME"), ([16, 16], [16, 16], [1, 1], "SAME"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("spatial, window, strides, padding", CASES)
def test_windows_and_their_gradients(
        agree, rng, x64, spatial, window, strides, padding, dtype, kind, first):
    x = images(rng, dtype, spatial, first)
    pool = pooling(kind, dtype, window, strides, padding, first)
    agree(pool, x)
    y = rng.integers(-4, 5, jax.eval_shape(pool, x).shape).astype(dtype)
    agree(lambda x, y: jax.vjp(pool, x)[1](y)[0], x, y)


@pytest.mark.parametrize("channels", [1, 3, 16])
@pytest.mark.parametrize("first", [False, True])
def test_gradients_where_numbers_are_missing(agree, rng, first, channels):
    x = images(rng, "float32", [13, 37], first, channels=channels)
    x.reshape(-1)[rng.integers(0, x.size, x.size // 9)] = np.nan
    x.reshape(-1)[rng.integers(0, x.size, x.size // 3)] = -np.inf
    pool = pooling("max", "float32", [3, 3], [2, 2], "SAME", first)
    agree(jax.grad(lambda x: jnp.nan_to_num(pool(x), neginf=-3).sum()), x)


def test_images_without_channels(agree, rng):
    x = rng.normal(size=[70]).astype(np.float32)
    agree(jax.grad(lambda x: (jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, [4], [3], "SAME") ** 2).sum()), x)
