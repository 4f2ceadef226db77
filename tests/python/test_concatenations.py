"""Concatenations of many operands, as ravel_pytree writes them: pieces of one memory, rows side by side"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

pytestmark = pytest.mark.lesser_cpus

SIZES = (1000, 24, 0, 16, 1, 777, 64, 3, 2048, 5)


def operands(rng, shapes, dtype="float32"):
    return [jnp.asarray((rng.random(shape) * 4).astype(np.float32)).astype(dtype)
            for shape in shapes]


@pytest.mark.parametrize("dtype", ["float32", "bool", "int8", "bfloat16", "complex64", "int4"])
def test_of_arguments_and_of_what_is_made(agree, rng, dtype):
    arrays = operands(rng, SIZES, dtype)
    agree(lambda *a: jnp.concatenate(a), *arrays)
    agree(lambda *a: jnp.concatenate([x if dtype == "bool" else x + x for x in a]), *arrays)


@pytest.mark.parametrize("widths", [(1,) * 40, (3, 0, 16, 1, 2, 8, 4, 31), (64, 128, 32, 7, 5)])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex64"])
def test_rows_side_by_side(agree, rng, widths, dtype):
    arrays = operands(rng, [(300, w) for w in widths], dtype)
    agree(lambda *a: jnp.concatenate(a, axis=1), *arrays)
    agree(lambda *a: jnp.concatenate([x * x for x in a], axis=1).sum(0, dtype=dtype), *arrays)


@pytest.mark.parametrize("widths", [
    (3, 4, 3, 3), (3,) * 6, (2,) * 8, (1, 16, 1, 16, 1), (7, 7, 3, 4, 1, 1), (40, 33, 5), (31, 1)])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "bfloat16", "float64", "bool"])
def test_lines_side_by_side(agree, rng, x64, widths, dtype):
    arrays = operands(rng, [(131, w) for w in widths], dtype)

    def run(*a):
        made = [x if dtype == "bool" else x * 2 + x for x in a]
        parts = [x[:, 1:] for x in a[:-1]] + [jnp.ones((131, 2), a[0].dtype), a[-1]]
        return (jnp.concatenate(a, 1), jnp.concatenate(made, 1), jnp.concatenate(parts, 1),
                jnp.concatenate([x.reshape(131, -1, 1) for x in a], 1) == 0)

    agree(run, *arrays)
    planes = [jnp.stack([x, x[::-1]], 1) for x in arrays]
    agree(lambda *a: jnp.concatenate(a, -1), *planes)
    agree(jax.jit(lambda a: jnp.concatenate([a[0], *a], 1), donate_argnums=0), arrays)


@pytest.mark.parametrize("widths", [(1, 1), (3, 1), (2, 2, 2, 2), (1, 0, 3, 2)])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "bool", "complex64"])
def test_thin_rows_side_by_side(agree, rng, widths, dtype):
    def run(*a):
        joined = jnp.concatenate(a, axis=1)
        made = jnp.concatenate([x[::-1] if dtype == "bool" else x * x for x in a], axis=1)
        repeated = jnp.concatenate([jnp.broadcast_to(a[0][:1], a[0].shape), *a[1:]], axis=1)
        return joined, made, joined[:, ::-1], repeated

    agree(run, *operands(rng, [(301, w) for w in widths], dtype))


def test_operands_that_are_used_elsewhere(agree, rng):
    def run(*a):
        made = [jnp.sin(x) for x in a]
        return jnp.concatenate(made + made[:2]), made[0], made[3] * 2

    agree(run, *operands(rng, SIZES))


def test_concatenations_of_concatenations(agree, rng):
    def run(*a):
        inner = jnp.concatenate([jnp.cos(x) for x in a])
        outer = jnp.concatenate([inner * 2, inner[:64], *[jnp.sin(x) for x in a], inner])
        return outer.at[7].set(3.0), outer[::-1]

    agree(run, *operands(rng, SIZES))


def parameters(rng, layers):
    return {f"{name}{i}": rng.standard_normal(shape).astype(np.float32) / 8
            for i in range(layers) for name, shape in (("w", (64, 64)), ("b", (64,)))}


def loss(params, x):
    for i in range(len(params) // 2):
        x = jnp.tanh(x @ params[f"w{i}"] + params[f"b{i}"])
    return (x * x).mean()


@pytest.mark.parametrize("layers", [3, 12])
def test_training_on_a_flat_vector(agree, rng, layers):
    flat, unravel = ravel_pytree(parameters(rng, layers))
    x = rng.standard_normal((32, 64)).astype(np.float32)

    def step(flat, x):
        gradient = jax.grad(lambda p: loss(p, x))(unravel(flat))
        return flat - ravel_pytree(gradient)[0]

    def steps(flat, x):
        return jax.lax.fori_loop(0, 5, lambda _, f: step(f, x), flat)

    flat = np.asarray(flat)
    agree(step, flat, x)
    agree(step, flat, x, donate_argnums=0)
    agree(steps, flat, x)


def test_pieces_of_a_donated_argument_change_places(agree, rng):
    def run(x):
        pieces = jnp.split(x, 8)
        return jnp.concatenate([jnp.sin(p) for p in pieces[::-1]])

    agree(run, rng.random(8 * 512).astype(np.float32), donate_argnums=0)


def test_in_branches_and_loops(agree, rng):
    def run(k, *a):
        def joined(scale):
            return jnp.concatenate([jnp.exp(-x) * scale for x in a])

        chosen = jax.lax.switch(k, [lambda: joined(2.0), lambda: joined(3.0)[::-1]])
        return jax.lax.fori_loop(
            0, 3, lambda i, c: jnp.concatenate([p * (i + 1) for p in jnp.split(c, 6)[::-1]]),
            chosen[:3600])

    arrays = operands(rng, SIZES)
    for k in (0, 1):
        agree(run, np.int32(k), *arrays)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int16, np.float32])
@pytest.mark.parametrize("columns", [5, 12, 31, 32])
def test_neighbours_of_short_rows(agree, rng, dtype, columns):
    def run(grid):
        def turn(_, grid):
            moved = [jnp.roll(grid, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-2, 0, 1)]
            return sum(m.astype(jnp.int8) for m in moved).astype(dtype)

        return jax.lax.fori_loop(0, 3, turn, grid)

    agree(run, rng.integers(0, 2, (33, columns)).astype(dtype))


@pytest.mark.parametrize("mode", ["reflect", "wrap", "edge", "symmetric"])
@pytest.mark.parametrize("columns", [7, 50])
def test_margins_around_a_flat_array(agree, rng, mode, columns):
    def run(x):
        return jnp.pad(x.reshape(-1, columns), ((3, 2), (5, 4)), mode=mode)

    agree(run, rng.standard_normal(columns * 90).astype(np.float32))


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32])
@pytest.mark.parametrize("width", [5, 21, 32, 64, 100])
def test_pixels_of_small_images_change_places(agree, rng, dtype, width):
    def run(x):
        return (x[:, ::-1], jnp.rot90(x), jnp.rot90(x, 2), jnp.roll(x, 3, 1), x[:, ::2],
                jnp.pad(x, ((0, 0), (2, 1), (0, 0))), x[:, :, ::-1])

    agree(run, rng.integers(0, 256, (12, width, 3)).astype(dtype))


# Rows cut by what is beside them, too: of few elements, of some vectors, and of several dimensions.
PADDED = [((17, 10, 10, 6), [(2, 2)] * 4), ((3, 12, 22, 41), [(2, 1)] * 4),
          ((2, 9, 11, 8, 5), [(1, 1)] * 5), ((4, 14, 14, 24), [(0, 0), (1, 2), (3, 1), (0, 0)]),
          ((5, 6, 14, 14), [(0, 0), (0, 0), (1, 1), (2, 2)]), ((900, 5), [(2, 2), (2, 2)]),
          ((1, 70, 53), [(4, 0), (0, 3), (0, 1)]), ((40, 1, 30), [(1, 1), (2, 2), (0, 5)])]


@pytest.mark.parametrize("shape, edges", PADDED)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64"])
def test_padding_on_all_sides(agree, rng, shape, edges, dtype):
    x = rng.integers(0, 9, shape).astype(dtype)
    agree(lambda v: (jnp.pad(v, edges, constant_values=1), jnp.pad(v, edges)[:, 1:]), x)
    if dtype != "bool":
        agree(lambda v: jnp.pad(v * 2, edges) + jnp.pad(v, [(b, a) for a, b in edges]), x)


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("sizes", [(3, 2), (5, 20), (37, 21, 1), (16, 48)])
def test_concatenated_rows(agree, rng, axis, sizes):
    shapes = [tuple(n if d == axis else (30, 7, 9)[d] for d in range(3)) for n in sizes]
    parts = [rng.integers(0, 9, s).astype(np.float32) for s in shapes]
    agree(lambda *v: jnp.concatenate(v, axis), *parts)
    agree(lambda *v: jnp.concatenate([v[0], *(w * 2 + 1 for w in v[1:])], axis), *parts)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "uint8", "bool"])
@pytest.mark.parametrize("count", [2, 3, 4, 6, 9, 17])
def test_rows_of_single_elements(agree, rng, x64, count, dtype):
    """As jnp.stack along the last dimension makes them, each element in its own way."""
    x = jnp.asarray(rng.integers(0, 50, (5, 133, 3))).astype(dtype)
    y = jnp.asarray(rng.integers(1, 50, (5, 133))).astype(dtype)

    def ways(x, y):
        first = [x[..., 0] * y, x[..., 1] + y, jnp.maximum(x[..., 2], y), y, x[..., 1]]
        return [first[i % 5] if i < 5 else jnp.where(x[..., i % 3] > i, first[i % 5], y)
                for i in range(count)]

    agree(lambda x, y: jnp.stack(ways(x, y), -1), x, y)
    agree(lambda x, y: jnp.moveaxis(jnp.stack(ways(x, y)), 0, -1), x, y)
    agree(lambda x, y: jnp.stack(ways(x, y), -1).sum(-1), x, y)
    agree(lambda x, y: jnp.stack([jnp.stack((ways(x, y) * 2)[:3], -1), x], -2) + y[..., None, None], x, y)
    agree(lambda x, y: jnp.concatenate([x] + [w[..., None] for w in ways(x, y)], -1), x, y)


def test_rows_of_what_is_costly(agree, rng):
    a, b = (jnp.asarray(rng.normal(size=(40, 77)), jnp.float32) for _ in range(2))
    agree(lambda a, b: jnp.stack([jnp.exp(a), jnp.sin(b), jnp.tanh(a * b), a / b, b ** 2], -1), a, b)
    agree(lambda a, b: jnp.stack([jnp.stack([jnp.cos(a), -jnp.sin(a)], -1),
                                  jnp.stack([jnp.sin(a), jnp.cos(a)], -1)], -2) @ b[0, :2], a, b)
    agree(lambda a, b: jnp.cross(jnp.stack([a, b, a], -1), jnp.stack([b, b * a, a], -1)), a, b)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_padded_by_more_than_a_vector(agree, dtype):
    x = jnp.arange(15).astype(dtype)
    for shift, high in ((1, 5), (2, 3), (-3, 40)):
        agree(lambda x: jnp.pad(jnp.roll(x, shift) + 1, (0, high)), x)
        agree(lambda x: jnp.pad(jnp.roll(x, shift)[:13] + 1, (high, 1)), x)


def stacked(xp, parts):
    return xp.stack(parts, 1)


def padded(xp, parts):
    return xp.pad(xp.stack(parts, 1)[:, 1:], ((0, 0), (0, 1)))


def turned(xp, parts):
    return xp.roll(xp.stack(parts, 1), 1, 1)


@pytest.mark.parametrize("made", [stacked, padded, turned])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "complex64"])
def test_what_is_joined_is_spread_over_short_rows(tercel, rng, x64, made, dtype):
    for columns in (2, 3, 4, 5, 6, 8, 12, 16):
        for length in (1, 2, 3, 4, 5, 8, 16):
            parts = [rng.integers(1, 9, 3).astype(dtype) for _ in range(columns)]
            row = rng.integers(1, 9, (3, length)).astype(dtype)
            program = jax.jit(lambda row, *parts: made(jnp, parts)[:, :, None] * row[:, None, :])
            with jax.default_device(tercel):
                got = program(row, *parts)
            np.testing.assert_array_equal(got, made(np, parts)[:, :, None] * row[:, None, :])


@pytest.mark.parametrize("begin, end", [(0, 90), (3, 88), (7, 9), (10, 20), (5, 25), (29, 31)])
def test_parts_of_copies_end_to_end(agree, rng, begin, end):
    x = rng.normal(size=(10, 6)).astype(np.float32)
    agree(lambda x: (jnp.tile(x, (9, 1))[begin:end] * 2, jnp.tile(x[:, 0], 9)[begin:end],
                     jnp.tile(x, (9, 2))[begin:end, 1:9:2], jnp.resize(x, (end, 7)),
                     jnp.broadcast_to(x.T[None], (15, 6, 10)).reshape(90, 10)[begin:end]), x)
    agree(jax.grad(lambda x: (jnp.tile(x, (9, 1))[begin:end] ** 2).sum()), x)


@pytest.mark.parametrize("dtype", ["float32", "bool", "int8", "bfloat16", "complex64"])
@pytest.mark.parametrize("shape", [(20000,), (70, 150), (9, 30, 64)])
def test_updates_that_arithmetic_reads(agree, rng, dtype, shape):
    x, y = operands(rng, (shape, shape), dtype)
    inside, first = (slice(1, -1),) * len(shape), (slice(0, 1),)
    last = (slice(None),) * (len(shape) - 1) + (slice(-3, None),)

    def program(x, y):
        z = x.at[inside].set(y[inside])
        walls = z.at[first].set(jnp.ones((), x.dtype)).at[last].set(x[last])
        return (jnp.where(walls == y, x, walls), y.at[first].set(x[first]) != x,
                (z.at[last].set(y[last]) == y).sum())

    agree(program, x, y)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("parts", [2, 5, 9, 33])
def test_stacks_are_reduced(agree, rng, x64, dtype, parts):
    x = (rng.normal(size=(24, 61, 3)) * 9).astype(jnp.dtype(dtype))

    def program(x, axis):
        y = jnp.stack([x[i % 3:i % 3 + 20, i // 3:i // 3 + 50] for i in range(parts)], axis)
        wide = y.astype(jnp.int32) if dtype in ("uint8", "bool") else y
        results = [wide.sum(axis), jnp.moveaxis(y, axis, 0), jnp.moveaxis(y, axis, -1), y]
        if dtype != "complex64":
            results += [y.max(axis), y.argmin(axis), (wide - wide.mean(axis, keepdims=True)).sum(axis)]
        return results

    for axis in (0, 1, -1):
        agree(lambda x: program(x, axis), x, scale=200)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 9, 13, 20, 40, 200])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_many_narrow_operands_side_by_side(agree, rng, dtype, width):
    arrays = [(rng.normal(size=(700, width + i % 2)) * 9).astype(dtype) for i in range(7)]
    agree(lambda *a: (jnp.concatenate(a, 1), jnp.concatenate([v + v for v in a], 1)), *arrays)


@pytest.mark.parametrize("shape", [(20, 21, 3), (16, 9, 7, 2), (4000, 3)])
def test_differences_of_all_axes_stacked(agree, rng, shape):
    x = rng.normal(size=shape).astype(np.float32)
    axes = range(len(shape) - 1)
    agree(lambda x: (jnp.stack([jnp.roll(x, -1, a) - jnp.roll(x, 1, a) for a in axes], -1),
                     jnp.stack(jnp.gradient(x, axis=tuple(axes))[:] if len(axes) > 1 else [x], -2),
                     jnp.concatenate([jnp.roll(x, s, a) for a in axes for s in (1, -1)], -1)), x)
