"""Permutations of dimensions, elements that lie apart: short lines, words of several elements"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

CASES = [((8, 3971), (1, 0)), ((397, 13), (1, 0)), ((30, 7, 129), (0, 2, 1)),
         ((30, 129, 5), (0, 2, 1)), ((4, 28, 30, 3), (0, 3, 1, 2)), ((4, 3, 28, 30), (0, 2, 3, 1)),
         ((22, 3, 57, 9, 2), (3, 0, 1, 2, 4)), ((211, 14, 3), (1, 0, 2)), ((33, 24, 10, 4), (2, 1, 0, 3)),
         ((2, 39, 20, 5, 5), (4, 1, 2, 0, 3)), ((7, 5, 224, 4), (3, 1, 2, 0)), ((200, 5, 7), (0, 2, 1)),
         ((29, 2, 55, 75), (0, 3, 1, 2)), ((63, 316), (1, 0)), ((9, 101, 19, 3), (2, 1, 3, 0))]
TYPES = ["float32", "float16", "bfloat16", "int32", "uint8", "bool", "complex64"]


def values(rng, shape, dtype):
    return jnp.asarray(rng.integers(0, 100, shape)).astype(dtype)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, order", CASES)
def test_moved_and_computed_with(agree, rng, shape, order, dtype):
    x = values(rng, shape, dtype)
    other = values(rng, np.array(shape)[list(order)], dtype)
    agree(lambda x: x.transpose(order), x)
    if dtype != "bool":
        agree(lambda x: x.transpose(order) * 2 + 1, x)
        agree(lambda x, y: ((x + x).transpose(order) - y).reshape(-1), x, other)
    agree(lambda x: x.astype("float32" if dtype != "complex64" else dtype).transpose(order), x)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, order", CASES)
def test_made_of_several_and_moved(agree, rng, shape, order, dtype):
    x, y, line = (values(rng, s, dtype) for s in (shape, shape, shape[-1:]))
    after = values(rng, np.array(shape)[list(order)], dtype)
    agree(lambda x, y: (x != y).transpose(order), x, y)
    agree(lambda x, y: jnp.concatenate([x[..., 1:], y], -1).transpose(order), x, y)
    agree(lambda x: jnp.pad(x, 1).transpose(order), x)
    if dtype != "bool":
        agree(lambda x, y, after: (x * y + x).transpose(order) - after, x, y, after)
        agree(lambda x, line: (x * line).transpose(order), x, line)
        agree(lambda x: (x - jnp.roll(x, 1, 0)).transpose(order), x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8", "bool"])
@pytest.mark.parametrize("step", [-1, -2, -3, 5])
def test_every_so_many(agree, rng, step, dtype):
    """Of rows that do not end where vectors do; under masks where something else is beside them."""
    x = values(rng, (3, 533), dtype)
    y = jnp.where(x[:, ::step] == values(rng, (3, 1), dtype), x[:, ::step], x[:, :1])
    agree(lambda x: (x[:, ::step], x[::-1, 5:-3:abs(step)], x[:, 500::-abs(step)]), x)
    agree(lambda x, y: jnp.where(x[:, ::step] == y, x[:, :1], x[:, ::step]), x, y)
    agree(lambda x: jnp.concatenate([x[:, ::step], x[:, 3::-abs(step)], x[:, 9::abs(step)]], 1), x)
    agree(lambda x: jnp.pad(x[:, ::step], ((0, 0), (5, 6))), x)
    agree(lambda x: x.reshape(-1, 3)[:, ::-1].T, x)
    agree(lambda x: x.reshape(1, 533, 3)[:, ::step].transpose(0, 2, 1), x)


@settings(max_examples=40, deadline=None)
@given(shape=st.lists(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 40]), min_size=2, max_size=5),
       dtype=st.sampled_from(TYPES[:5]), data=st.data())
def test_any(tercel, shape, dtype, data):
    order = data.draw(st.permutations(range(len(shape))))
    x = np.arange(np.prod(shape)).reshape(shape) % 113
    with jax.default_device(tercel):
        moved, made = jax.jit(lambda x: (x.transpose(order), (x * 2).transpose(order) + 1))(
            jnp.asarray(x).astype(dtype))
    assert np.array_equal(np.asarray(moved).astype(int), x.transpose(order))
    assert np.array_equal(np.asarray(made).astype(int), x.transpose(order) * 2 + 1)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(300, 4, 4), (300, 5, 5), (70, 9, 9), (70, 12, 12), (20, 33, 33),
                                   (50, 6, 3, 6), (101, 101)])
def test_with_the_transpose(agree, rng, shape, dtype):
    """What is read as it lies and turned."""
    order = (1, 0) if len(shape) == 2 else (0, *range(len(shape) - 1, 0, -1))
    x = values(rng, shape, dtype)
    agree(lambda x: jnp.where(x == x.transpose(order), x, 0 * x), x)
    agree(lambda x: x + x.transpose(order), x)
    agree(lambda x: (x.transpose(order) + x[::-1]) * x, x)


@pytest.mark.thorough
@pytest.mark.parametrize("to", ["float32", "uint8", "float16"])
@pytest.mark.parametrize("channels", [2, 3, 4, 5, 8, 12, 16, 20])
def test_planes_to_pixels(agree, rng, channels, to):
    """With numbers for each channel, and for each channel of an image."""
    planes = rng.integers(0, 50, (3, channels, 20, 31)).astype(np.float32)
    mean, scale = (rng.integers(1, 9, n).astype(np.float32) for n in (channels, 3 * channels))
    agree(lambda x, m: ((x - m[:, None, None]).astype(to)).transpose(0, 2, 3, 1), planes, mean)
    agree(lambda x, m: (x.transpose(0, 2, 3, 1) * m + 1).astype(to), planes, mean)
    agree(lambda x, s: x.transpose(0, 2, 3, 1) * s.reshape(3, 1, 1, channels), planes, scale)
    agree(lambda x, m: x.transpose(0, 2, 3, 1) - m * m[::-1], planes, mean)
    agree(lambda x: x[..., ::-1, 3:].transpose(0, 2, 3, 1).astype(to), planes)
    table, first = rng.integers(1, 99, 30).astype(np.float32), np.int32(channels // 2)
    agree(lambda x, t, k: x.transpose(0, 2, 3, 1) - jax.lax.dynamic_slice(t, (k,), (channels,)),
          planes, table, first)
    agree(lambda x, t: x.transpose(0, 2, 3, 1) + jnp.pad(t[:channels - 1], (1, 0)), planes, table)
    agree(lambda x, m: x.transpose(0, 2, 3, 1) + jnp.concatenate([m[1:], m[:1]]), planes, mean)
    agree(lambda x, m: x.transpose(0, 2, 3, 1) + m[jnp.arange(channels) * 7 % channels], planes, mean)


def tree(rng, arrays, depth):
    """Elementwise work on transposes of arrays of one shape, and on those."""
    x = arrays[rng.integers(len(arrays))] if depth == 0 else tree(rng, arrays, depth - 1)
    match rng.integers(0, 6):
        case 0: return jnp.sin(x)
        case 1: return x + tree(rng, arrays, max(depth - 1, 0))
        case 2: return jnp.where(x > 0, x, tree(rng, arrays, max(depth - 1, 0)))
        case 3: return x * jnp.float32(0.5) - x
        case _: return x.transpose(*rng.permutation(3))


@pytest.mark.parametrize("seed", range(40))
def test_transposes_among_elementwise_work(agree, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([3, 8, 17]))
    arrays = [rng.normal(size=(n, n, n)).astype(np.float32) for _ in range(3)]

    def program(*arrays):
        again = np.random.default_rng(seed)
        return tree(again, arrays, 4), tree(again, arrays, 3).sum(1)

    agree(program, *arrays)
