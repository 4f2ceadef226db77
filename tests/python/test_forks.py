"""Chains of small ops on a batch, whose rows take turns on several threads without each other."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

STEPS = 12


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def recurrent(x, w, xs):
    for t in range(STEPS):
        x = jnp.tanh(xs[t] @ w + x @ w.T)
    return x


def batch_last(x, w, xs):
    h = jnp.tile(x, (8, 1)).T
    for t in range(STEPS):
        h = jnp.sin(w @ h + 0.1 * t)
    return h


def attention(x, w, xs):
    for t in range(STEPS):
        q, k = (x @ w).reshape(-1, 4, 24), (x @ w.T).reshape(-1, 4, 24)
        weights = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) / 5)
        x = jnp.tanh(x + jnp.einsum("bqk,bkd->bqd", weights, q).reshape(x.shape))
    return x


def normalised(x, w, xs):
    for t in range(STEPS):
        y = jax.nn.relu(x @ w + jnp.arange(96.0) * 0.01)
        x = x + (y - y.mean(1, keepdims=True)) * lax.rsqrt(y.var(1, keepdims=True) + 1e-3)
    return x


def mixing(x, w, xs):
    """Rows meet in the middle."""
    for t in range(STEPS):
        x = jnp.tanh(x @ w) - (x.mean(0) if t == STEPS // 2 else 0)
    return x


def several(x, w, xs):
    """Of every step something is wanted: rows, columns, sums."""
    sums, firsts = [], []
    for t in range(STEPS):
        x = jnp.tanh(x @ w + xs[t, ::-1])
        sums.append(x.sum(0))
        firsts.append(x[:, :3].T)
    return x, jnp.stack(sums), firsts, (x * x).sum(), x.T @ x


def counted(x, w, xs):
    numbers = jnp.arange(x.shape[0])
    for t in range(STEPS):
        x = jnp.cos(x @ w) * numbers[:, None] * 0.01
        numbers = numbers + (x[:, 0] > 0)
    return x, numbers


PROGRAMS = [recurrent, batch_last, attention, normalised, mixing, several, counted]


@pytest.mark.parametrize("rows", [16, 48, 100, 33, 61])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_chains(agree, rng, program, rows):
    agree(program, floats(rng, rows, 96), 0.1 * floats(rng, 96, 96),
          floats(rng, STEPS, rows, 96), scale=4)


@pytest.mark.parametrize("rows", [16, 48, 100])
@pytest.mark.parametrize("program", [recurrent, batch_last, attention, normalised, mixing],
                         ids=lambda f: f.__name__)
def test_gradients(agree, rng, program, rows):
    agree(jax.grad(lambda *a: (program(*a) ** 2).mean(), (0, 1, 2)), floats(rng, rows, 96),
          0.1 * floats(rng, 96, 96), floats(rng, STEPS, rows, 96), scale=4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float64", "complex64", "int32"])
def test_other_types(agree, rng, dtype):
    x, w = (3 * floats(rng, 32, 64)).astype(dtype), (3 * floats(rng, 64, 64)).astype(dtype)

    def run(x, w):
        for _ in range(STEPS):
            x = ((x @ w) * 0.02).astype(x.dtype) + x
        return x, x.sum(0), x.T @ x

    with jax.enable_x64(dtype == "float64"):
        agree(run, x, w, scale=4)


def test_donated(agree, rng):
    agree(recurrent, floats(rng, 64, 96), 0.1 * floats(rng, 96, 96), floats(rng, STEPS, 64, 96),
          donate_argnums=(0, 2), scale=4)


BITS = """
import sys
sys.path.insert(0, sys.argv[1])
import hashlib, jax, numpy as np, test_forks
rng = np.random.default_rng(5)
arguments = [test_forks.floats(rng, 48, 96), 0.1 * test_forks.floats(rng, 96, 96),
             test_forks.floats(rng, test_forks.STEPS, 48, 96)]
loss = lambda *a: (test_forks.recurrent(*a) ** 2).mean()
results = jax.jit(jax.grad(loss, (0, 1, 2)))(*arguments)
print(hashlib.sha256(b"".join(np.asarray(r).tobytes() for r in results)).hexdigest())
"""


def test_the_number_of_threads_changes_no_bit():
    here = os.path.dirname(__file__)
    bits = {subprocess.run([sys.executable, "-c", BITS, here], text=True, check=True,
                           capture_output=True,
                           env={**os.environ, "JAX_PLATFORMS": "tercel",
                                "TERCEL_NUM_THREADS": threads}).stdout.split()[-1]
            for threads in ("1", "2", "5")}
    assert len(bits) == 1
