"""Scatters: what they compute on the way, and what reads the array that they change."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_scatters import Program

PROGRAMS = int(os.environ.get("TERCEL_EXAMPLES", 25))


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_scatters(tercel, cpu, seed, large):
    assert not Program(seed, large).disagreements(tercel, cpu)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 16, 17, 40, 130, 300])
def test_messages_along_edges(agree, rng, columns):
    nodes, edges = 50, 400
    x = rng.normal(size=(nodes, columns)).astype(np.float32)
    weights = rng.normal(size=edges).astype(np.float32)
    source, target = rng.integers(-nodes, nodes, (2, edges)).astype(np.int32)

    def messages(x, weights):
        sums = jnp.zeros_like(x).at[target].add(x[source] * weights[:, None])
        tops = jax.ops.segment_max(jnp.maximum(x[source], 0), target, nodes)
        return sums, tops, x.at[target].add(x[source] - x[target])

    agree(messages, x, weights)
    agree(jax.grad(lambda *a: (messages(*a)[0] ** 2).sum(), (0, 1)), x, weights)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "bfloat16", "float64", "complex64", "bool"])
def test_lines_of_every_width(agree, rng, dtype):
    with jax.enable_x64(True):
        x = rng.integers(0, 2, (40, 21)).astype(jnp.dtype(dtype))
        i = rng.permutation(40)[:25].astype(np.int32)

        def lines(x, i):
            y = jnp.where(x[i] == x[0], x[i], x[:25])
            return x.at[i].set(y), x.at[i, 3:].max(y[:, 3:]) if dtype != "complex64" else y

        agree(lines, x, i)


def test_bodies_that_read_what_stands_around(agree, rng):
    x = rng.normal(size=(30, 12)).astype(np.float32)
    i = rng.integers(0, 30, 20).astype(np.int32)

    def program(x, i):
        return x.at[i].apply(lambda v: v * 2 + x.shape[0]), x.at[i].power(x[i] > 0)

    agree(program, x, i)


@pytest.mark.parametrize("shape", [(3, 3), (2, 7, 3), (1, 5), (31, 33), (4, 130)])
@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64"])
def test_windows_of_several_dimensions(agree, rng, shape, dtype):
    x = rng.integers(-9, 9, (40, *shape)).astype(dtype)
    y = rng.integers(-9, 9, (12, *shape)).astype(dtype)
    i = rng.integers(-12, 14, 40).astype(np.int32)

    def program(y, x, i):
        return (y.at[i].add(x), y.at[i, 0].multiply(x[:, 0]), y.at[i, ..., 1:].set(y[0, ..., 1:]),
                jax.ops.segment_sum(x, i, 12))

    agree(program, y, x, i)
