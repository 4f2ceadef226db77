"""Hypothesis: programs over random shapes."""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import assert_same
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# `./dev test --long` asks for more.
EXAMPLES = int(os.environ.get("TERCEL_EXAMPLES", 25))
SETTINGS = settings(max_examples=EXAMPLES, deadline=None, derandomize=True,
                    suppress_health_check=[HealthCheck.function_scoped_fixture,
                                           HealthCheck.too_slow])
EXTENT = st.integers(0, 19)


def both(tercel, cpu, function, *arguments, scale=1.0):
    results = []
    for device in (tercel, cpu):
        with jax.default_device(device):
            results.append(jax.jit(function)(*arguments))
    assert_same(*results, scale=scale)


def numbers(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@SETTINGS
@given(shape=st.lists(EXTENT, max_size=4), data=st.data())
def test_transposes(tercel, cpu, shape, data):
    order = data.draw(st.permutations(range(len(shape))))
    both(tercel, cpu, lambda x: jnp.transpose(x, order) * 2, numbers(shape))


@SETTINGS
@given(shape=st.lists(st.integers(1, 19), min_size=1, max_size=4), data=st.data())
def test_reductions(tercel, cpu, shape, data):
    axes = tuple(data.draw(st.sets(st.integers(0, len(shape) - 1))))
    both(tercel, cpu, lambda x: (x.sum(axes), x.max(axes), (x - x.mean(axes, keepdims=True))),
         numbers(shape), scale=5)


@SETTINGS
@given(m=EXTENT, k=EXTENT, n=EXTENT, batch=st.lists(st.integers(0, 4), max_size=2))
def test_products(tercel, cpu, m, k, n, batch):
    both(tercel, cpu, jnp.matmul, numbers((*batch, m, k)), numbers((*batch, k, n), 1), scale=5)


@SETTINGS
@given(shape=st.lists(st.integers(1, 12), min_size=1, max_size=3), data=st.data())
def test_slices_and_pads(tercel, cpu, shape, data):
    slices, pads = [], []
    for extent in shape:
        start = data.draw(st.integers(0, extent))
        slices.append(slice(start, data.draw(st.integers(start, extent)),
                            data.draw(st.integers(1, 3))))
        pads.append((data.draw(st.integers(-1, 3)), data.draw(st.integers(0, 3)),
                     data.draw(st.integers(0, 2))))

    def run(x):
        return x[tuple(slices)], jax.lax.pad(x, jnp.float32(7), pads), jnp.flip(x)

    both(tercel, cpu, run, numbers(shape))


@SETTINGS
@given(left=st.lists(st.integers(1, 5), max_size=3), data=st.data())
def test_broadcasting(tercel, cpu, left, data):
    right = [data.draw(st.sampled_from([1, extent])) for extent in left]
    both(tercel, cpu, lambda a, b: (a + b, a * b - a, jnp.maximum(a, b)), numbers(left),
         numbers(right, 1))


@SETTINGS
@given(size=st.integers(1, 40), count=st.integers(0, 30), seed=st.integers(0, 99))
def test_gather_and_scatter(tercel, cpu, size, count, seed):
    index = np.random.default_rng(seed).integers(-size, 2 * size, count).astype(np.int32)
    both(tercel, cpu, lambda x, i: (x[i], x.at[i].add(2.0), x.at[i].max(0.5)), numbers(size),
         index)


@SETTINGS
@given(size=st.integers(0, 70), rows=st.integers(1, 4), seed=st.integers(0, 99))
def test_sorting(tercel, cpu, size, rows, seed):
    x = np.random.default_rng(seed).integers(0, 9, (rows, size)).astype(np.float32)
    both(tercel, cpu, lambda v: (jnp.sort(v), jnp.argsort(v), jnp.sort(v, 0)), x)


@SETTINGS
@given(extent=st.integers(3, 12), channels=st.integers(1, 5), kernel=st.integers(1, 3),
       stride=st.integers(1, 3), padding=st.sampled_from(["SAME", "VALID"]))
def test_convolutions(tercel, cpu, extent, channels, kernel, stride, padding):
    both(tercel, cpu, lambda x, w: jax.lax.conv_general_dilated(
        x, w, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC")),
         numbers((2, extent, extent + 1, channels)), numbers((kernel, kernel, channels, 6), 1),
         scale=10)


def test_assert_same_can_fail():
    with pytest.raises(AssertionError):
        assert_same(jnp.float32(1), jnp.float32(1.01))


@SETTINGS
@given(outer=st.integers(1, 40), sizes=st.lists(st.integers(0, 300), min_size=1, max_size=4),
       last=st.booleans(), kind=st.sampled_from(["float32", "float16", "complex64", "bool", "int8"]))
def test_pieces_side_by_side(tercel, cpu, outer, sizes, last, kind):
    parts = [numbers((outer, size) if last else (size, outer), seed).astype(kind)
             for seed, size in enumerate(sizes)]
    both(tercel, cpu, lambda *p: jnp.concatenate(p, int(last)), *parts)
    both(tercel, cpu, lambda *p: jnp.stack([p[0], p[0][::-1], p[0]], -1), *parts)


@SETTINGS
@given(shape=st.tuples(st.integers(4, 40), st.integers(4, 70)),
       by=st.tuples(st.integers(-50, 50), st.integers(-80, 80)),
       edges=st.lists(st.tuples(st.integers(-2, 20), st.integers(-2, 20), st.integers(0, 2)),
                      min_size=2, max_size=2))
def test_rolls_and_pads(tercel, cpu, shape, by, edges):
    x = numbers(shape)
    both(tercel, cpu, lambda v: jnp.roll(v, by, (0, 1)) - v, x)
    both(tercel, cpu, lambda v: jax.lax.pad(v, 7.0, edges) * 2, x)
    both(tercel, cpu, lambda v: jnp.diff(v, axis=1, prepend=1.0, append=v[:, :1]), x)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int16, np.complex64])
@pytest.mark.parametrize("columns", [31, 100, 301])
def test_gaps(agree, rng, columns, dtype):
    x = rng.integers(-9, 9, (7, columns)).astype(dtype)

    def padded(low, high, gap):
        edges = [(0, 0, 0), (low, high, gap)]
        return lambda x: jax.lax.pad(x * x.dtype.type(3), x.dtype.type(1), edges)

    for edges in [(1, 0, 1), (0, 0, 3), (-3, 2, 1), (2, -5, 4), (-1, -1, 2), (5, 1, 7)]:
        agree(padded(*edges), x)
    twice = functools.partial(jnp.repeat, repeats=2, axis=1)
    agree(lambda x: (jnp.repeat(x, 4, 1), twice(x)[:, 1:] + twice(x)[:, :-1]), x)


@pytest.mark.parametrize("step", [2, 3, 4, 8])
@pytest.mark.parametrize("columns", [30, 301])
def test_gradients_of_strides(agree, rng, columns, step):
    x = rng.normal(size=(9, columns)).astype(np.float32)

    def parts(x):
        even, odd = x[:, ::step], x[:, 1::step][:, : x[:, ::step].shape[1]]
        return (even ** 2).sum() + jnp.sin(even[:, : odd.shape[1]] - odd).sum()

    agree(jax.grad(parts), x)
