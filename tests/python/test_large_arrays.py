"""Arrays of more than 2^31 elements."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

pytestmark = [pytest.mark.long, pytest.mark.native]
COUNT = 2**31 + 1000
PLACES = np.array([0, 1, 2**31 - 1, 2**31, 2**31 + 1, COUNT - 1])
MEMORY = 12 << 30  # bytes that the tests take at most


def available():
    """Bytes that processes may have, the system's cache of files among them."""
    lines = pathlib.Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) << 10


@pytest.fixture(scope="module")
def x(tercel):
    if available() < MEMORY:
        pytest.skip("too little memory is free")
    with jax.enable_x64(True), jax.default_device(tercel):
        made = jax.jit(lambda: (lax.iota(np.uint32, COUNT) * np.uint32(7) >> 3).astype(np.uint8))()
        ends = np.concatenate([np.arange(5000), np.arange(COUNT - 5000, COUNT)])
        wanted = ((ends * 7 & 0xFFFFFFFF) >> 3).astype(np.uint8)
        np.testing.assert_array_equal(np.asarray(made)[ends], wanted)
        yield made


def on(function, *arguments):
    with jax.enable_x64(True):
        return np.asarray(jax.jit(function)(*arguments))


def test_elementwise(x):
    h = np.asarray(x)
    np.testing.assert_array_equal(on(lambda x: x + np.uint8(3), x)[PLACES], h[PLACES] + np.uint8(3))
    larger = on(lambda x: x > np.uint8(100), x)
    np.testing.assert_array_equal(larger[PLACES], h[PLACES] > 100)
    assert on(lambda p: jnp.sum(p, dtype=np.int64), larger) == np.count_nonzero(larger)


def test_reductions(x):
    h = np.asarray(x)
    rows = h.reshape(8, -1)
    assert on(lambda x: jnp.sum(x, dtype=np.uint64), x) == h.sum(dtype=np.uint64)
    assert on(jnp.max, x) == 255
    np.testing.assert_array_equal(
        on(lambda x: jnp.sum(x.reshape(8, -1), 1, dtype=np.uint64), x), rows.sum(1, dtype=np.uint64))
    by_column = on(lambda x: jnp.sum(x.reshape(8, -1), 0, dtype=np.uint8), x)
    np.testing.assert_array_equal(by_column[-1000:], rows[:, -1000:].sum(0, dtype=np.uint8))
    sums = on(lambda x: jnp.cumsum(x, dtype=np.uint8), x)
    assert sums[2**31] == h[:2**31 + 1].sum(dtype=np.uint8) and sums[-1] == h.sum(dtype=np.uint8)
    assert on(lambda x: jnp.argmax(x.at[2**31 + 5].set(0) < x), x) == 2**31 + 5


def test_parts(x):
    h = np.asarray(x)
    start = 2**31 + 3
    np.testing.assert_array_equal(on(lambda x: x[start:start + 9], x), h[start:start + 9])
    np.testing.assert_array_equal(on(lambda x: x[5::2**29 + 3], x), h[5::2**29 + 3])
    for at, clamped in ((start, start), (2**40, COUNT - 9), (-9, COUNT - 9)):
        part = on(lambda x, i: lax.dynamic_slice(x, (i,), (9,)), x, np.int64(at))
        np.testing.assert_array_equal(part, h[clamped:clamped + 9])
    for indices in (PLACES, np.uint32([2**31, 2**31 + 5, 3])):
        np.testing.assert_array_equal(on(lambda x, i: x[i], x, indices), h[indices])
    changed = on(lambda x, i: x.at[i].set(77), x, PLACES)
    assert (changed[PLACES] == 77).all() and changed[start] == h[start]
    five = np.full(5, 66, np.uint8)
    changed = on(lambda x, i: lax.dynamic_update_slice(x, five, (i,)), x, np.int64(start))
    assert (changed[start:start + 5] == 66).all() and changed[start + 5] == h[start + 5]


def test_movement(x):
    h = np.asarray(x)
    np.testing.assert_array_equal(on(lambda x: x[::-1], x)[PLACES], h[COUNT - 1 - PLACES])
    joined = on(lambda x: jnp.concatenate([x[:2**31 - 10], x[:2000]]), x)
    np.testing.assert_array_equal(joined[:2**31 - 10:99991], h[:2**31 - 10:99991])
    np.testing.assert_array_equal(joined[2**31 - 10:], h[:2000])
    padded = on(lambda x: jnp.pad(x, (3, 4), constant_values=9), x)
    np.testing.assert_array_equal(padded[3:-4][PLACES], h[PLACES])
    assert (padded[-4:] == 9).all()
    turned = on(lambda x: x.reshape(8, -1).T, x)
    np.testing.assert_array_equal(turned[-2000:], h.reshape(8, -1)[:, -2000:].T)
