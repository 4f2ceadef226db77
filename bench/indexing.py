"""Sorting, gathering, scanning and random numbers."""

import jax
import jax.numpy as jnp
import numpy as np

from workload import normal, workload

KEY = np.array([0, 42], np.uint32)


@workload("indexing", goal=1)
def sort_1m():
    return jnp.sort, (normal(1 << 20),)


@workload("indexing", goal=1)
def argsort_256k():
    return jnp.argsort, (normal(1 << 18),)


@workload("indexing", goal=1)
def gather_100k_rows():
    rows = np.random.default_rng(0).integers(0, 50_000, 100_000, np.int32)
    return lambda x, i: x[i], (normal(50_000, 128), rows)


@workload("indexing", goal=1)
def scatter_add_100k_rows():
    rows = np.random.default_rng(0).integers(0, 10_000, 100_000, np.int32)
    return lambda x, i, v: x.at[i].add(v), (normal(10_000, 32), rows, normal(100_000, 32))


@workload("indexing", goal=1)
def cumsum_1m():
    return jnp.cumsum, (normal(1 << 20) / 1000,)


@workload("indexing", goal=1)
def random_normal_4m():
    return lambda key: jax.random.normal(key, (1 << 22,)), (KEY,)


@workload("indexing", goal=1)
def max_pool_gradient_8x112x112x64():
    def loss(x):
        pooled = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
                                       "VALID")
        return (pooled * pooled).sum()

    return jax.grad(loss), (normal(8, 112, 112, 64),)


@workload("indexing", goal=1)
def pairwise_forces_1024():
    def forces(x):
        delta = x[:, None] - x[None]
        distance = (delta * delta).sum(-1) + 1e-2
        return (delta * (distance ** -1.5)[..., None]).sum(1)

    return forces, (normal(1024, 3),)


@workload("indexing", goal=1, donated=1)
def set_row_in_place():
    return lambda x, i, row: (x.at[i].set(row), row.sum()), (normal(4000, 1000), np.int32(7),
                                                              normal(1000))


@workload("indexing", goal=1, donated=2)
def attention_with_cache_step():
    def step(keys, values, query, key, value, i):
        keys = jax.lax.dynamic_update_slice(keys, key[:, :, None], (0, 0, i, 0))
        values = jax.lax.dynamic_update_slice(values, value[:, :, None], (0, 0, i, 0))
        scores = jnp.einsum("bhd,bhtd->bht", query, keys) / 8
        scores = jnp.where(jnp.arange(1024) <= i, scores, -1e9)
        return keys, values, jnp.einsum("bht,bhtd->bhd", jax.nn.softmax(scores), values)

    cache = normal(4, 8, 1024, 64)
    now = [normal(4, 8, 64, seed=seed) for seed in range(3)]
    return step, (cache, cache + 1, *now, np.int32(500))
