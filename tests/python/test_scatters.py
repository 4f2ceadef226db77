"""Scatters: what they compute on the way, and what reads the array that they change."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
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


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [(), (1,), (3,), (4,), (1, 8), (16,), (20,), (40,), (2, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "int16", "uint8"])
def test_many_of_one_place_in_a_row(agree, rng, columns, dtype):
    with jax.enable_x64(True):
        lengths = rng.choice([1, 2, 15, 16, 17, 70, 200], 20)
        order = np.repeat(rng.integers(-3, 14, 20), lengths).astype(rng.choice(["int32", "int64"]))
        x = rng.integers(-9, 9, (len(order), *columns)).astype(jnp.dtype(dtype))

        def sums(x, order):
            y = jnp.arange(12, dtype=x.dtype).reshape(12, *[1] * len(columns)) + 0 * x[:12]
            kinds = [y.at[order].add(2 * x), jax.vmap(lambda a: y.at[order].add(a))(jnp.stack([x, x]))]
            if not jnp.iscomplexobj(x):
                kinds += [y.at[order].max(x, mode="drop"), y.at[order].min(x, mode="clip")]
            return [*kinds, y.at[order].multiply(jnp.sign(x)), y.at[order].set(1 + 0 * x)]

        agree(sums, x, order)


@pytest.mark.parametrize("rising", [False, True])
@pytest.mark.parametrize("columns", [64, 100, 260])
def test_updates_that_no_cache_holds(agree, rng, columns, rising):
    count = (9 << 20) // 4 // columns
    places = rng.integers(-200, 500, count).astype(np.int32)
    places[count // 3 : count // 2] = 7
    places = np.sort(places) if rising else places
    updates = rng.integers(-9, 9, (count, columns)).astype(np.float32)

    def program(updates, places):
        y = jnp.ones((300, columns))
        return (y.at[places].add(updates, mode="drop"), jax.ops.segment_max(updates, places, 300),
                jnp.ones((2, 300, columns)).at[1, places].add(updates))

    agree(program, updates, places)


def test_bits_of_one_place_in_a_row(agree, rng):
    order = np.sort(rng.integers(0, 5, 1000)).astype(np.int32)
    bits = rng.integers(0, 2**32, 1000, np.uint32)
    flags = rng.integers(0, 2, 1000).astype(bool)

    def program(bits, flags, order):
        return (jnp.bincount(order, length=5), jax.ops.segment_max(bits, order, 5),
                bits[:5].at[order].apply(lambda v: v | 5),
                flags[:5].at[order].max(flags), jax.ops.segment_min(flags, order, 5))

    agree(program, bits, flags, order)


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


CHANGES = {
    "set": lambda x, i, v: x.at[i].set(v),
    "add": lambda x, i, v: x.at[i].add(v),
    "max": lambda x, i, v: x.at[i].max(v),
    "two": lambda x, i, v: x.at[i].set(x[0]).at[i - 3].set(v),
    "read": lambda x, i, v: (lambda y: y.at[i + 2].set(y[i] + v))(x.at[i].set(v)),
    "rows": lambda x, i, v: x.at[i].set(jnp.full(x.shape[1:], v, x.dtype)),
    "slice": lambda x, i, v: jax.lax.dynamic_update_slice_in_dim(x, x[:3][::-1] * v, i, 0),
    "several": lambda x, i, v: x.at[jnp.stack([i, i + 1, i])].set(jnp.full((3, *x.shape[1:]), v, x.dtype)),
    "filled": lambda x, i, v: jnp.zeros_like(x).at[i].set(v),
    "far": lambda x, i, v: x.at[i + 60].set(v, mode="drop"),
}


# jnp.where(p, x.at[i].set(v), x) writes to x only where p holds.
@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(70,), (40, 6)])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("name", CHANGES)
def test_chosen_changes(agree, rng, name, dtype, shape):
    change, x = CHANGES[name], jnp.array(rng.integers(-9, 9, shape), dtype)
    p, i = jnp.array(rng.random(5) < 0.5), jnp.array(rng.integers(0, 30, 5), "int32")
    v = jnp.array(rng.integers(1, 5, 5), dtype)

    def chosen(x, p, i, v):
        return jnp.where(p, change(x, i, v), x), jnp.where(p, x, change(x, i, v)), jnp.where(
            p, change(x, i, v), x.at[i + 1].set(v))

    agree(chosen, x, p[0], i[0], v[0])
    agree(chosen, x, ~p[0], i[0], v[0])
    agree(jax.vmap(chosen, (None, 0, 0, 0)), x, p, i, v)
    agree(jax.vmap(chosen, (0, 0, None, 0)), jnp.stack([x, -x, x, x + 1, x]), p, i[0], v)
    agree(jax.vmap(chosen), jnp.stack([x, -x, x, x + 1, x]), p, i, v)
    agree(lambda x: jax.lax.scan(lambda x, t: (chosen(x, *t)[0], x[0]), x, (p, i, v)), x)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(3000, 2), (131, 3), (70, 4), (9, 33, 5), (200, 8), (64, 16),
                                   (63, 3)])
def test_columns_of_short_rows_are_set(agree, rng, dtype, shape):
    x = rng.integers(0, 5, shape).astype(dtype)
    y = rng.integers(0, 5, shape[:-1]).astype(dtype)
    last, zero = shape[-1] - 1, np.zeros((), dtype)

    def times(c, i, s, y):
        return lax.fori_loop(0, 5, lambda t, s: jnp.roll(s, 1, c).at[..., i].set(y), s)

    agree(lambda x, y: x.at[..., 1].set(y), x, y)
    agree(lambda x, y: x.at[..., last].set(zero).at[..., 0].set(y).at[..., 1].set(x[..., 0]), x, y)
    agree(lambda x, y: x.at[..., -1].set(x.max(-1)).at[..., 0].min(y) if dtype != "complex64"
          else x.at[..., -1].add(x.sum(-1)), x, y)
    agree(lambda x, y: (times(-1, 0, x, y), times(0, last, x, y)), x, y)
    agree(lambda x, y: lax.fori_loop(0, 5, lambda t, s: s.at[..., 0].set(s[..., last]), x), x, y)
    agree(lambda x, y: jnp.zeros_like(x).at[..., 0].set(y).at[..., last].set(y), x, y)
    agree(jax.vmap(lambda row, v: row.at[..., 1].set(v)), x, y)
    if dtype.startswith("float"):
        agree(jax.grad(lambda x: (x.at[..., 1].set(y) ** 2).sum().astype("float32")), x)

