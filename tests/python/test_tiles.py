"""Products whose results are too large for the cache, as in attention: a tile at a time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

pytestmark = pytest.mark.native  # scores of megabytes


def heads_first(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


def heads_inside(q, k, v):
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def keys_first(q, k, v):
    """Scores stand as [keys, queries], and the sums are over the first."""
    scores = jnp.einsum("bhkd,bhqd->bhkq", k, q) / 8
    return jnp.einsum("bhkq,bhkd->bdhq", jax.nn.softmax(scores, 2), v)


def with_scores(q, k, v):
    """Of the scores themselves something is wanted, and what is wanted of that needs all of it."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
    weights = jnp.exp(scores - scores.max(-1, keepdims=True))
    total = weights.sum(-1)
    out = jnp.einsum("bhqk,bhkd->bhqd", weights / total[..., None], v)
    return out, total, scores[:, :, ::7, ::5], out - out.mean()


def biased(q, k, v):
    places = jnp.arange(q.shape[2])[:, None] - jnp.arange(k.shape[2])
    slopes = 2.0 ** -jnp.arange(1, q.shape[1] + 1, dtype=q.dtype)
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
    scores += slopes[:, None, None] * -abs(places).astype(q.dtype)
    scores = jnp.where(places >= 0, jnp.tanh(scores / 20) * 20, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


def shared_keys(q, k, v):
    """Several heads look at the same keys."""
    k, v = (jnp.repeat(x[:, :2], q.shape[1] // 2, 1) for x in (k, v))
    return heads_first(q, k, v)


def layers(q, k, v):
    """In a loop that carries the queries."""
    def layer(x, scale):
        return jnp.tanh(heads_first(x * scale, k, v)) + x, x.sum()
    return lax.scan(layer, q, jnp.arange(1.0, 4.0, dtype=q.dtype))


def chosen(q, k, v):
    return lax.cond(q[0, 0, 0, 0] > 0, heads_first, keys_first_like, q, k, v)


def keys_first_like(q, k, v):
    return keys_first(q, k, v).transpose(0, 2, 3, 1)


FUNCTIONS = [heads_first, heads_inside, keys_first, with_scores, biased, shared_keys, layers,
             chosen]
SHAPES = [(4, 8, 256, 256, 32), (1, 2, 1536, 1536, 16), (1, 4, 520, 1000, 24),
          (3, 1, 1000, 1000, 8)]


def inputs(rng, shape, dtype=np.float32):
    b, h, queries, keys, d = shape
    return [rng.normal(size=(b, h, n, d)).astype(dtype) for n in (queries, keys, keys)]


def gradients(f):
    def loss(*args):
        return sum((leaf ** 2).mean() for leaf in jax.tree.leaves(f(*args)))
    return jax.value_and_grad(loss, (0, 1, 2))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_values(agree, rng, f, shape):
    agree(f, *inputs(rng, shape), scale=4)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(agree, rng, f):
    agree(gradients(f), *inputs(rng, SHAPES[0]), scale=4)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_narrow_types(agree, rng, dtype):
    agree(heads_first, *inputs(rng, (2, 8, 512, 512, 32), dtype), scale=2)


def test_double(agree, rng, x64):
    agree(gradients(biased), *inputs(rng, (2, 8, 512, 512, 16), np.float64))


def test_donated(agree, rng):
    agree(heads_first, *inputs(rng, SHAPES[0]), donate_argnums=0)


def test_the_same_bits_each_time(rng):
    f, args = jax.jit(gradients(heads_inside)), inputs(rng, SHAPES[0])
    first = jax.tree.leaves(f(*args))
    for _ in range(5):
        for a, b in zip(first, jax.tree.leaves(f(*args)), strict=True):
            np.testing.assert_array_equal(a, b)
