"""Loops as programs use them: what they carry in registers, update in place, or leave alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("n", [2, 3, 7, 15, 16, 17, 31, 64, 65, 100])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "complex64", "bool"])
def test_vectors_of_all_sizes_carried(agree, rng, n, dtype):
    x = (floats(rng, n) * 3).astype(jnp.dtype(dtype))

    def step(i, state):
        a, b = state
        if dtype == "bool":
            return a ^ b[::-1], jnp.roll(a, 1)
        return b[::-1], (a + jnp.roll(b, 1)).astype(a.dtype)

    agree(lambda v: lax.fori_loop(0, 5, step, (v, v)), x)


@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (4, 4), (7, 3), (5, 16), (9, 17)])
def test_small_matrices_carried(agree, rng, shape):
    def step(i, state):
        a, b = state
        c = a @ b.T * 0.2
        return jnp.tanh(c @ b), b + a.sum(0) * 0.01

    agree(lambda a, b: lax.fori_loop(0, 7, step, (a, b)), floats(rng, *shape),
          floats(rng, *shape))


MATRICES = {
    "row": lambda m, v: m * 0.9 + v,
    "column": lambda m, v: m * 0.9 + v[:, None],
    "outer": lambda m, v: m * 0.9 - jnp.outer(v, v) * 0.1,
    "row_sums": lambda m, v: m * 0.9 + 0.1 * m.sum(1, keepdims=True) + v,
    "column_sums": lambda m, v: m * 0.9 + 0.1 * m.max(0) - v[:, None],
    "product": lambda m, v: m * 0.9 + (m @ v)[:, None] * 0.1,
    "differences": lambda m, v: m * 0.5 + jnp.abs(v[:, None] - v[None]),
    "softmax": lambda m, v: jax.nn.softmax(m + v, axis=1),
    "turned": lambda m, v: m.T * 0.9 + v,
    "two_sums": lambda m, v: (m - m.mean(1, keepdims=True)) * 0.9 + m.sum() * 0.01 * v[:, None],
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("k", [2, 3, 5, 6, 7, 9])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_square_matrices_carried(agree, x64, rng, name, k, dtype):
    step = MATRICES[name]
    m, vs = floats(rng, k, k).astype(dtype), floats(rng, 11, k).astype(dtype)
    agree(lambda m, vs: lax.scan(lambda m, v: (step(m, v), m[0]), m, vs), m, vs)


def in_an_inner_loop(a, b):
    c = a * 0.5 + b
    return lax.fori_loop(0, 3, lambda i, x: x * 0.9 + c, b), c


TURNS = {
    "both_of_both": lambda a, b: (a * b + 1, a - b),
    "crossed": lambda a, b: (b * 0.5, a + 1),
    "one_is_kept": lambda a, b: (b, a * 0.5 + b),
    "read_afterwards": lambda a, b: (a * 0.5 + 1, a[::-1] + lax.optimization_barrier(a * 0.5 + 1)),
    "updated_before": lambda a, b: (lambda u: (u[::-1] * 0.5, b + u))(a.at[1:3].add(b[0])),
    "updated_afterwards": lambda a, b: (lambda u: (u.at[2].set(u[0] + a[1]), b * u))(a * 0.5 + b),
    "by_another_shape": lambda a, b: ((a.reshape(-1, 5) * 0.5 + b.reshape(-1, 5)).reshape(-1), b - a),
    "in_a_branch": lambda a, b: (lax.cond(a[0] > 0, lambda: a * 0.5, lambda: b[::-1]), b * 0.5 + a),
    "in_an_inner_loop": in_an_inner_loop,
    "sums": lambda a, b: (a - a.sum() * 0.01, b * 0.5 + a.max()),
    "types": lambda a, b: (a + (b > a), jnp.where(b > a, b, -a)),
}


@pytest.mark.parametrize("name", TURNS)
@pytest.mark.parametrize("n", [5, 20, 35, 400, 3000])
def test_states_are_made_where_they_were(agree, rng, name, n):
    agree(lambda a, b: lax.fori_loop(0, 5, lambda i, s: TURNS[name](*s), (a, b)),
          floats(rng, n), floats(rng, n))


def test_a_row_is_read_and_updated(agree, rng):
    for shape in ((20, 7), (40, 300)):
        agree(lambda x: lax.fori_loop(0, 20, lambda i, y: lax.dynamic_update_slice(
            y, lax.dynamic_slice(y, (i, 0), (1, shape[1])) * 0.5 + 1, (i, 0)), x),
            floats(rng, *shape))


def test_overlapping_parts_are_read_and_updated(agree, rng):
    for n in (10, 3000):
        agree(lambda x: lax.fori_loop(0, 7, lambda i, y: lax.dynamic_update_slice(
            y, lax.dynamic_slice(y, (i,), (n - 9,)) * 0.5 + y[0], (i + 1,)), x), floats(rng, n))
        agree(lambda x: lax.fori_loop(0, 5, lambda i, y: y.at[1:-1].set(
            0.25 * (y[:-2] + 2 * y[1:-1] + y[2:])), x), floats(rng, n))


PARTS = {
    "added_to": lambda x, y, i: x.at[1:-1].add(y[1:-1] - y[:-2]).at[:, 2:].multiply(y[:, 2:]),
    "at_a_place": lambda x, y, i: lax.dynamic_update_slice(
        x, jnp.tanh(lax.dynamic_slice(x, (i, 0), (3, y.shape[1]))) * y[:3], (i, 0)),
    "of_one_element": lambda x, y, i: x.at[2, 3].add(y[0, 0]).at[i % 4, 1].add(1),
    "read_besides": lambda x, y, i: x.at[1:-1].add(x[1:-1] * x[:-2]),
    "read_afterwards": lambda x, y, i: x.at[1:-1].add(y[1:-1]) + jnp.flip(x, 0),
    "turned": lambda x, y, i: x.at[:4, :4].add(x[:4, :4].T),
    "written_twice": lambda x, y, i: x.at[:5].set(y[:5]).at[3:].set(x[3:] + y[3:]),
    "starts_there": lambda x, y, i: lax.dynamic_update_slice(
        x, lax.dynamic_slice(x, (0, 1), (1, 1)) + 1, (0, x[0, 1].astype(int))),
}


@pytest.mark.parametrize("shape", [(7, 5), (100, 300)])
@pytest.mark.parametrize("name", PARTS)
def test_parts_are_changed_where_they_lie(agree, rng, name, shape):
    part = PARTS[name]
    x, y = floats(rng, *shape), floats(rng, *shape)
    for i in (np.int32(-4), np.int32(2), np.int32(99)):  # clamped
        agree(part, x, y, i)
        agree(lambda x, y: lax.fori_loop(0, 9, lambda k, c: part(c * 0.5, y, k + i), x), x, y)
    given = [jax.jit(part, donate_argnums=0)(jax.device_put(x, d), jax.device_put(y, d), 2)
             for d in (jax.devices("tercel")[0], jax.devices("cpu")[0])]
    np.testing.assert_allclose(*given, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width", [*range(64, 84), 96, 112, 113, 128])
def test_rows_that_begin_within_a_vector(agree, x64, rng, width):
    for first, last, dtype in ((1, 1, "float32"), (3, 0, "int64"), (0, 5, "bfloat16"), (9, 2, "int8")):
        inside = (slice(1, None), slice(first, width - last))
        x = (floats(rng, 11, width) * 9).astype(jnp.dtype(dtype))
        agree(lambda x: x.at[inside].add(x[inside] + x[:-1, inside[1]]), x)
        agree(lambda x, i: lax.dynamic_update_slice(x, x[2:5, inside[1]] + 1, (i, i)), x, 2)


@pytest.mark.parametrize("width", [1, 3, 700])
def test_rows_change_places(agree, rng, width):
    agree(lambda x: lax.fori_loop(0, 12, lambda i, y: y.at[i].set(y[i + 1]).at[i + 1].set(y[i]), x),
          floats(rng, 13, width))


def test_an_old_row_is_needed_after_the_update(agree, rng):
    def step(i, y):
        z = y.at[i].set(y.sum(0))
        return z + y[i] * 0.1, z[i]

    agree(lambda x: lax.scan(lambda y, i: step(i, y), x, jnp.arange(6)), floats(rng, 6, 5))


def test_scatters_in_loops(agree, rng):
    at = rng.integers(-3, 60, 200).astype(np.int32)
    for size in (50, 5000):
        x = floats(rng, size)
        agree(lambda x, at: lax.fori_loop(0, 200, lambda i, y: y.at[at[i]].add(y[0] + i), x), x, at)
        agree(lambda x, at: lax.fori_loop(0, 200, lambda i, y: y.at[at[i]].set(
            y[i % 7] * 0.5, mode="drop"), x), x, at)
        agree(lambda x, at: lax.fori_loop(0, 20, lambda i, y: y.at[at + i].max(1.5), x), x, at)
    agree(lambda h, at: lax.fori_loop(0, 200, lambda i, h: h.at[at[i]].add(1), h),
          np.zeros(64, np.int32), at)


def test_updates_in_branches(agree, rng):
    for n in (20, 4000):
        x = floats(rng, n)

        def bubble(i, y):
            return lax.cond(y[i] > y[i + 1],
                            lambda z: z.at[i].set(z[i + 1]).at[i + 1].set(z[i]), lambda z: z, y)

        agree(lambda x: lax.fori_loop(0, 19, bubble, x), x)
        agree(lambda x: lax.fori_loop(0, 15, lambda i, s: lax.switch(
            i % 3, [lambda a, b: (b, a), lambda a, b: (a.at[i].set(b[0]), b),
                    lambda a, b: (a, b.at[0].set(a[i]))], *s), (x, x + 1)), x)


def test_branches_that_swap_large_arrays(agree, rng):
    x, y = floats(rng, 70, 80), floats(rng, 70, 80)

    def step(i, s):
        a, b = lax.cond(i % 3 == 0, lambda a, b: (b, a), lambda a, b: (a, jnp.sin(b)), *s)
        return a + 1, b

    agree(lambda x, y: lax.fori_loop(0, 7, step, (x, y)), x, y)


@pytest.mark.parametrize("which", [
    [lambda a, d: (d + d.ravel()[4], d), lambda a, d: (d, d + 1), lambda a, d: (a, d)],
    [lambda a, d: (d.ravel()[::-1].reshape(d.shape), d), lambda a, d: (d, a), lambda a, d: (a, d)],
    [lambda a, d: (d.T.ravel().reshape(d.shape), a), lambda a, d: (d.ravel()[:15].reshape(5, 3), d)],
])
def test_branches_read_an_array_by_two_names(agree, which):
    x = np.arange(15, dtype=np.int32).reshape(5, 3)

    def turn(i, s):
        a, d = s
        return lax.switch(d.ravel()[0] % len(which), which, a, d)

    for turns in (1, 2, 5):
        agree(lambda a, d, n=turns: lax.fori_loop(0, n, turn, (a, d)), x, x + 7)


def test_sieve(agree):
    def sieve(n):
        def cross_out(i, s):
            return lax.cond(s[i], lambda s: lax.fori_loop(
                2, (n - 1) // i + 1, lambda k, s: s.at[k * i].set(False), s), lambda s: s, s)
        return lax.fori_loop(2, int(n ** 0.5) + 1, cross_out, jnp.ones(n, bool))

    agree(lambda z: sieve(5000).sum() + z, np.int32(0))


def test_an_inner_loop_updates_what_the_outer_one_carries(agree, rng):
    w = floats(rng, 300, 300) / 17

    def outer(i, y):
        y = jnp.tanh(y @ w)
        return lax.fori_loop(0, 9, lambda j, z: z.at[j, i].set(z[j + 1, i] + y[0, j]), y)

    agree(lambda y: lax.fori_loop(0, 4, outer, y), floats(rng, 300, 300))


def test_known_divisors(agree):
    agree(lambda n: lax.while_loop(
        lambda s: s[0] != 1,
        lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0)),
        np.int32(27))


def test_programs_that_differ_in_a_number(agree):
    for number in (2.0, 3.0):
        agree(lambda x: lax.fori_loop(0, 5, lambda i, v: v * number + 1 / number, x),
              np.float32(1))


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("hidden,batch", [(5, 1), (16, 3), (33, 8)])
def test_recurrent_cells_and_gradients(agree, rng, cell, hidden, batch):
    gates = 4 if cell == "lstm" else 3
    w, u = floats(rng, 7, gates * hidden) / 3, floats(rng, hidden, gates * hidden) / 6

    def step(carry, x):
        h, c = carry
        a, b = jnp.split(x @ w + h @ u, gates, -1), None
        if cell == "lstm":
            i, f, g, o = a
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
        else:
            r, z, n = a
            h = (1 - jax.nn.sigmoid(z)) * jnp.tanh(n * jax.nn.sigmoid(r)) + jax.nn.sigmoid(z) * h
        return (h, c), h

    def loss(u, xs):
        zero = jnp.zeros((batch, hidden))
        return lax.scan(lambda c, x: step(c, x), (zero, zero), xs)[1].sum()

    agree(jax.value_and_grad(loss), u, floats(rng, 9, batch, 7))


def test_vmapped_while(agree, rng):
    agree(jax.vmap(lambda a, b: lax.while_loop(
        lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b))[0]),
        rng.integers(1, 1000, 37).astype(np.int32), rng.integers(1, 1000, 37).astype(np.int32))


def test_random_numbers_in_a_loop(agree):
    def step(i, state):
        key, total = state
        key, sub = jax.random.split(key)
        return key, total + jax.random.normal(sub, (3,))

    agree(lambda x: lax.fori_loop(0, 9, step, (jax.random.PRNGKey(0), x))[1],
          np.zeros(3, np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "bool"])
def test_sorts_and_top_k(agree, rng, dtype):
    x = (floats(rng, 5, 201) * 4).astype(jnp.dtype(dtype))
    if jnp.issubdtype(x.dtype, jnp.floating):
        x[0, :9] = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, np.nan]
    agree(lambda v: (jnp.sort(v), jnp.argsort(v), jnp.sort(v, axis=0, descending=True),
                     jnp.argsort(v, axis=0, descending=True)), x)
    agree(lambda v: lax.top_k(v, 7), x)
    agree(lambda v: jnp.lexsort((v[0], (v[1] > 1))), x)


def test_counters_below_zero(agree):
    """What an unsigned number makes of them is large."""
    def run(x):
        def step(state):
            i, total = state
            unsigned = i.astype(jnp.uint32)
            return i + 1, total + jnp.where(unsigned < 100, 1, 1000) * x

        return lax.while_loop(lambda s: s[0] < 5, step, (jnp.int32(-5), jnp.int32(0)))[1]

    agree(run, np.int32(1))


def neighbours(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u


@pytest.mark.parametrize("turns", [3, 4, 5, 20, 21])
def test_arrays_that_need_other_memory_on_every_turn(agree, rng, turns):
    def wave(u):
        return lax.fori_loop(0, turns, lambda i, s: (s[1], 2 * s[1] - s[0] + 0.1 * neighbours(s[1])),
                             (u, u))

    def react(u, v):
        def step(i, s):
            u, v = s
            return u + 0.1 * neighbours(u) - u * v * v + 0.01 * i, v + 0.05 * neighbours(v) + u * v * v

        return lax.fori_loop(2, 2 + turns, step, (u, v))

    def inside(u):
        def step(u, k):
            mean = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
            return u.at[1:-1, 1:-1].set(mean * k), u[0, :3] + u[5, 5]

        return lax.scan(step, u, jnp.linspace(0.9, 1, turns))

    def around(u, v, w):
        return lax.while_loop(lambda s: s[0] < 3 * turns,
                              lambda s: (s[0] + 3, s[2], s[3][::-1], s[1] + s[2]), (0, u, v, w))

    def nested(u):
        return lax.fori_loop(0, 3, lambda _, u: wave(u)[1] * 0.5, u)

    u, v, w = (floats(rng, 70, 90) for _ in range(3))
    agree(wave, u)
    agree(react, 0.1 * u, 0.1 * v)
    agree(inside, u)
    agree(around, u, v, w)
    agree(nested, 0.01 * u)
    agree(jax.grad(lambda u: (wave(u)[1] ** 2).sum()), 0.1 * u)


def lorenz(s):
    x, y, z = s[..., 0], s[..., 1], s[..., 2]
    return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=-1)


def pendulum(s):
    return jnp.concatenate([s[..., 1:], -jnp.sin(s[..., :1])], axis=-1)


def runge_kutta(field, s, dt):
    a = field(s)
    b = field(s + dt / 2 * a)
    c = field(s + dt / 2 * b)
    return s + dt / 6 * (a + 2 * b + 2 * c + field(s + dt * c))


@pytest.mark.parametrize("field, size", [(lorenz, 3), (pendulum, 2)])
@pytest.mark.parametrize("batch", [(40,), (2000,), (5, 30), ()])
def test_states_of_few_components(agree, rng, field, size, batch):
    x = floats(rng, *batch, size)

    def run(x, keep=False):
        def step(s, t):
            s = runge_kutta(field, s, 0.01)
            return s, (s * t, s[..., 0]) if keep else None

        return lax.scan(step, x, jnp.linspace(0, 1, 30))

    agree(run, x)
    agree(lambda x: run(x, keep=True), x)
    agree(lambda x: lax.while_loop(lambda s: (s[1] < 40) & (jnp.abs(s[0]).max() < 100),
                                   lambda s: (runge_kutta(field, s[0], 0.01), s[1] + 1), (x, 0)), x)
    agree(jax.grad(lambda x: (run(x, keep=True)[1][0] ** 2).sum()), 0.1 * x)
    if batch:
        agree(jax.vmap(run), x)
        agree(jax.vmap(jax.jacfwd(lambda x: run(x)[0])), x.reshape(-1, size)[:20])


def test_components_by_other_ways(agree, rng):
    x, w = floats(rng, 100, 4), 0.2 * floats(rng, 4, 4)
    agree(lambda x: lax.fori_loop(0, 9, lambda i, s: jnp.concatenate(
        [s[:, 2:], jnp.sin(s[:, :2])], 1)[:, ::-1] * 0.9 + i, x), x)
    agree(lambda x, w: lax.fori_loop(0, 9, lambda i, s: jnp.stack(
        [s[:, 3], (s @ w)[:, 1], s[:, 0] + i, jnp.cos(s[:, 2])], 1), x), x, w)
    agree(lambda x: lax.fori_loop(0, 9, lambda i, s: s.at[:, 1].set(s[:, 0] * 0.5).at[:, 3].add(1), x), x)
    agree(lambda x: lax.fori_loop(0, 9, lambda i, s: (
        jnp.stack([s[1][:, 0], s[0][:, 1]], 1), jnp.stack([s[0][:, 1], s[1][:, 1] * 2], 1)),
        (x[:, :2], x[:, 2:])), x)
    agree(lambda x: lax.fori_loop(0, 5, lambda i, s: lax.fori_loop(0, 4, lambda j, u: jnp.stack(
        [u[:, 1], u[:, 0] + j, u[:, 3] * s[:, 2], u[:, 2]], 1), s), x), x)
    agree(lambda x, y: lax.fori_loop(0, 5, lambda i, c: (
        jnp.stack([c[0][:, 1], c[0][:, 0], c[0][:, 3], c[0][:, 2]], 1),
        lax.fori_loop(0, 4, lambda j, u: jnp.stack(
            [u[:, 1], u[:, 0], u[:, 3] * 0.5, u[:, 2]], 1), c[1])), (x, y)), x, x[::-1])
    agree(lambda x: lax.fori_loop(0, 9, lambda i, s: jnp.where(
        s[:, :1] > 0, jnp.stack([s[:, 1], -s[:, 0], s[:, 3], s[:, 2]], 1), s[:, ::-1] + i), x), x)
    agree(lambda x: lax.fori_loop(0, 9, lambda i, s: lax.cond(
        i % 2 == 0, lambda s: jnp.stack([s[:, 1], -s[:, 0], s[:, 3], s[:, 2]], 1), lambda s: s, s), x), x)

    def normed(i, s):
        half = jnp.full_like(s, 0.5)
        y = jnp.stack([s[:, 1], jnp.sin(s[:, 0]), s[:, 3], s[:, 2]], 1) + half
        return y / (1 + jnp.linalg.norm(y * half, axis=1, keepdims=True) + half.sum(1)[:, None])

    agree(lambda x: lax.fori_loop(0, 9, normed, x), x)


# What a loop needs both by components and whole is the same number in both places.
@pytest.mark.parametrize("shape, axis", [((2, 40), 0), ((40, 2), 1), ((40, 3), 1), ((3, 16, 5), 0)])
def test_components_are_those_of_the_whole(tercel, rng, shape, axis):
    def step(c):
        parts = [jnp.take(c, i, axis) for i in range(shape[axis])]
        mixed = [b * 0.3 - a for a, b in zip(parts, parts[1:] + parts[:1], strict=True)]
        return c + 0.05 * jnp.stack(mixed, axis) + 0.21 * c * c

    def greatest(c, _):
        c = step(c)
        return c, (c == c.max(axis, keepdims=True), c)

    def first(c, _):
        c = step(c)
        part = jnp.take(c, jnp.array([0]), axis)
        return c, (c.sum(), lax.index_in_dim(c, 0, axis), (part == c).any(axis), c)

    x = jax.device_put(rng.standard_normal(shape).astype(np.float32), tercel)
    c, (is_greatest, states) = jax.jit(lambda x: lax.scan(greatest, x, None, length=3))(x)
    assert np.asarray(is_greatest).any(axis + 1).all()
    np.testing.assert_array_equal(states[-1], c)
    c, (_, parts, found, states) = jax.jit(lambda x: lax.scan(first, x, None, length=3))(x)
    np.testing.assert_array_equal(parts, np.take(states, [0], axis + 1))
    assert np.asarray(found).all()
    np.testing.assert_array_equal(states[-1], c)


BATCHES = {
    "recurrent": lambda x, w: lax.scan(
        lambda h, v: ((y := jnp.tanh(v @ w + h)), y.sum(-1)), x, jnp.stack([x] * 150))[0:2],
    "stacked": lambda x, w: lax.scan(lambda h, _: ((y := jnp.sin(h @ w)), (y, y[:, :1].T)), x,
                                     None, length=120),
    "second": lambda x, w: lax.fori_loop(0, 200, lambda i, h: jnp.tanh(w.T @ h + 0.01 * i), x.T),
    "split": lambda x, w: lax.fori_loop(
        0, 300, lambda i, h: 0.2 * jnp.cos(h.reshape(-1, 4, 4).sum(1, keepdims=True)
                                           + h.reshape(-1, 4, 4)).reshape(h.shape), x),
    "rows": lambda x, w: lax.fori_loop(
        0, 200, lambda i, h: jax.nn.softmax(h - h[:, ::-1]) + jnp.arange(16.0) * i, x),
    "turned": lambda x, w: lax.fori_loop(0, 200, lambda i, h: jnp.sin(h[..., ::-1].T + w[:, :1]).T, x),
    "several": lambda x, w: lax.fori_loop(
        0, 200, lambda i, s: (s[1] * 0.9 + s[2][:, None], jnp.tanh(s[0] @ w), s[0].max(1)),
        (x, x * 2, x[:, 0])),
    "reads": lambda x, w: lax.fori_loop(
        0, 200, lambda i, h: jnp.tanh(h + x + jnp.linspace(0, 1, x.shape[0])[:, None]), x),
    "updates": lambda x, w: lax.fori_loop(
        0, 16, lambda i, h: h.at[:, i].set(jnp.sin(jnp.exp(-h * h)).sum(1)), jnp.tile(x, (40, 1))),
    "masked": lambda x, w: lax.while_loop(
        lambda s: s[1] < 200,
        lambda s: (jnp.where(s[0] > 0, s[0] - 0.01, jnp.where(x > 0, s[0] * 1.01, x)), s[1] + 1),
        (x, 0))[0],
    "indexed": lambda x, w: lax.fori_loop(
        0, 300, lambda i, h: h + 0.1 * lax.dynamic_slice(w, (i % 16, 0), (1, 16)) * jnp.sin(h), x),
    "looked up": lambda x, w: lax.fori_loop(0, 200, lambda i, h: jnp.tanh(
        0.5 * h + w[(jnp.abs(x[:, 0]) * 50).astype(int) ^ i % 8]), x),
    "looked up beside": lambda x, w: lax.fori_loop(0, 200, lambda i, h: jnp.tanh(
        0.5 * h + jnp.take_along_axis(x, ((x * 50).astype(int) + i) % 16, 1)), x),
    "between rows": lambda x, w: lax.fori_loop(0, 200, lambda i, h: jnp.tanh(h - h.mean(0)), x),
    "counted": lambda x, w: lax.fori_loop(0, 200, lambda i, s: (jnp.sin(s[0]), s[1] + i), (x, 0)),
    "shifted": lambda x, w: lax.fori_loop(0, 200, lambda i, h: jnp.roll(jnp.sin(h), 1, 0), x),
}


@pytest.mark.parametrize("rows", [64, 96, 1000, 61])
@pytest.mark.parametrize("name", BATCHES)
def test_batches_through_a_loop(agree, rng, name, rows):
    """Rows that need nothing of each other go through all turns a slice at a time."""
    agree(BATCHES[name], 0.5 * floats(rng, rows, 16), 0.1 * floats(rng, 16, 16))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "int8", "complex64"])
def test_batches_of_other_types_through_a_loop(agree, rng, dtype):
    x = (3 * floats(rng, 128, 16)).astype(jnp.dtype(dtype))
    w = floats(rng, 16, 16).astype(jnp.dtype(dtype))

    def run(x, w):
        def step(h, i):
            h = ((h @ w) * 0.01).astype(h.dtype) + x
            return h, h[:, 0]

        return lax.scan(step, x, jnp.arange(60))

    if dtype == "float64":
        with jax.enable_x64(True):
            agree(run, x, w)
    else:
        agree(run, x, w)


def test_turns_that_need_nothing_of_each_other(agree, rng):
    """Enough of them to be shared out."""
    x, y = floats(rng, 3000, 24), floats(rng, 3000)
    xs, ys = jnp.asarray(x), jnp.asarray(y)

    def root(a):
        return lax.while_loop(lambda s: jnp.abs(s[0] * s[0] - a) > 1e-3 * a,
                              lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a + 1, 0))

    def filtered(row):
        return lax.scan(lambda c, v: (0.9 * c + v, c), np.float32(0), row)

    def every_third(i, a):
        row = lax.dynamic_slice(a, (3 * i, 0), (3, 24))
        return lax.dynamic_update_slice(a, jnp.tanh(row) + xs[i], (3 * i, 0))

    def by_threes(a):
        def body(state):
            i, a = state
            row = lax.dynamic_slice(a, (i, 0), (3, 24))
            return i + 3, lax.dynamic_update_slice(a, jnp.tanh(row) * ys[i], (i, 0))

        return lax.while_loop(lambda s: s[0] < 3000, body, (0, a))

    agree(lambda v: lax.map(root, v), np.abs(y))
    agree(lambda v: lax.map(filtered, v), x)
    agree(lambda v: lax.map(lambda row: (row @ row, jnp.sort(row)[::-1], jnp.argmax(row)), v), x)
    agree(lambda v: lax.scan(lambda c, row: (c, c * row.sum()), jnp.arange(3.0), v), x)
    agree(lambda v: lax.fori_loop(0, 1000, every_third, v), x)
    agree(by_threes, x)
    # And those that do.
    agree(lambda v: lax.fori_loop(1, 3000, lambda i, a: a.at[i].set(0.5 * a[i - 1] + v[i]), v), y)
    agree(lambda v: lax.fori_loop(0, 2999, lambda i, a: a.at[i].set(a[i + 1] + v[i]), v), y)


ELEMENTWISE_STEPS = {
    "float32": lambda i, z, c: jnp.where(z * z < 4, z * z * 0.5 + c, z - i.astype(z.dtype) * 0.01),
    "float64": lambda i, z, c: jnp.sin(z) + c / (1 + z * z),
    "bfloat16": lambda i, z, c: jnp.maximum(z * jnp.bfloat16(0.75), c),
    "int8": lambda i, z, c: z * 5 + c + i.astype(z.dtype),
    "uint32": lambda i, z, c: (z ^ (z << 13)) + c // (z | 1),
    "complex64": lambda i, z, c: jnp.where(abs(z) < 2, z * (0.5 - 0.6j) + c, z),
    "bool": lambda i, z, c: z ^ (c | (i % 3 == 0)),
}


@pytest.mark.parametrize("shape", [(1009,), (33, 65), (7, 150, 3), (2, 4096), (5, 1, 640)])
@pytest.mark.parametrize("dtype", ELEMENTWISE_STEPS)
def test_elements_that_go_their_own_way(agree, x64, rng, shape, dtype):
    """Such loops keep a few elements at a time in registers, whatever the arrays' dimensions."""
    x, c = ((floats(rng, *shape) * 0.7).astype(jnp.dtype(dtype)) for _ in range(2))
    if dtype == "complex64":
        x, c = x * (1 + 0.5j), c * (0.3 - 0.6j)
    step = ELEMENTWISE_STEPS[dtype]

    def run(x, c):
        def body(i, state):
            z, old, count = state
            moved = abs(z - old) > 0.05 if jnp.issubdtype(z.dtype, jnp.inexact) else z != old
            return step(i, z, c), z, count + moved
        zeros = jnp.zeros(shape, jnp.int32)
        z, _, count = lax.fori_loop(0, 60, body, (x, jnp.zeros_like(x), zeros))
        return z, count

    agree(run, x, c, scale=50)


def test_particles_on_their_ways(agree, rng):
    def speed(p):
        x, y, z = p
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def turn(i, p):
        return p + 0.002 * speed(p + 0.001 * speed(p))

    agree(jax.vmap(lambda p: lax.fori_loop(0, 40, turn, p)), floats(rng, 1000, 3), scale=1000)


@pytest.mark.parametrize("donated", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("make", [
    lambda i, a, b: jnp.concatenate([jnp.full_like(a[:128], i), b[128:] + i]),
    lambda i, a, b: a.at[3].set(i),
], ids=["in_pieces", "updated"])
def test_donated_state_that_changes_places(agree, rng, make, donated):
    """A turn makes nothing where the last one's state lies that is still to be copied."""
    x, y = rng.integers(-99, 99, (2, 256, 200), dtype=np.int32)

    def run(x, y, turns):
        return lax.fori_loop(0, turns, lambda i, s: (make(i, *s), s[0]), (~x, y + 1))

    agree(run, x, y, 7, donate_argnums=donated)


def test_a_result_that_could_not_be_made_at_home_is_not_written_over(agree):
    def first(i, s):
        a, b, c, d = s
        top = lax.dynamic_slice(c, (jnp.max(c) % 50,), (1,))
        c = jnp.where(top > a[i], c.at[7].set(a[1]), c)
        return b.at[i].set(3), c, d, a.at[2 * i].multiply(3)

    def second(i, s):
        e, f = s
        other = f.at[jnp.max(f) % 40].set(e[i])
        return e.at[i].add(f[3]), jnp.where(e[1] > f[2], other, f + 1)

    def turn(k, s):  # what the first loop gives goes on as another part of the state
        a, b, c, d = lax.fori_loop(0, 2, first, s)
        e, f = lax.fori_loop(0, k % 3 + 1, second, (a, d))
        return b, f, c, e

    agree(lambda *s: [x[::-1] for x in lax.fori_loop(0, 3, turn, s)],
          *(np.arange(n, n + 5000, dtype=np.int32) % 91 for n in range(4)))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (0, 8, 1), (0, 8, 2), (3, 0, 1)])
def test_no_elements_carried(agree, shape):
    def turn(state):
        return jnp.ones(shape, jnp.int32), state[1] + 1

    agree(lambda x: lax.while_loop(lambda s: s[1] < 9, turn, (x, 0)), np.zeros(shape, np.int32))


def turned(q, w):
    a, b = q, jnp.concatenate([jnp.zeros(1), w])
    return jnp.stack([a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
                      a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                      a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
                      a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]])


def fallen(state):
    place, speed, q, w = state
    w = w + 0.1 * (jnp.array([0.1, 0, 0.05]) - jnp.cross(w, jnp.array([1.0, 2, 3]) * w))
    q = q + 0.05 * turned(q, w)
    speed = speed + 0.1 * jnp.array([0, 0, -9.8])
    place = place + 0.1 * speed
    speed = jnp.where(place[2] < 0, speed * jnp.array([1, 1, -0.8]), speed)
    return jnp.where(place[2] < 0, place.at[2].set(0), place), speed, q / jnp.linalg.norm(q), w


@pytest.mark.parametrize("batch", [None, 5, 64])
def test_states_of_short_vectors(agree, rng, batch):
    def run(*state):
        last, places = lax.scan(lambda s, _: (fallen(s), s[0]), state, None, length=12)
        return *last, places

    states = [floats(rng, *([batch] if batch else []), n) + 1 for n in (3, 3, 4, 3)]
    run = jax.vmap(run) if batch else run
    agree(run, *states)
    agree(jax.grad(lambda *s: sum((x ** 2).sum() for x in run(*s)), (0, 1, 2, 3)), *states)


@pytest.mark.parametrize("n", [2, 3, 5, 16, 17])
def test_numbers_of_a_vector(agree, rng, n):
    def turn(i, x):
        y = jnp.array([jnp.sin(x[k - 1]) + x[k] * 0.5 for k in range(n)])
        z = x.at[0].set(y[1]).at[n - 1].add(x.sum())
        return jnp.where(x[0] > y[0], y[::-1] * 0.5, jnp.concatenate([z[1:], z[:1]]) * 0.3)

    agree(lambda x: lax.fori_loop(0, 9, turn, x), floats(rng, n))
    agree(lambda x: lax.while_loop(lambda s: (s[0][0] < 30) & (s[1] < 9),
                                   lambda s: (turn(0, s[0]) + 3, s[1] + 1), (x, 0)), floats(rng, n))


WRITTEN = {
    "swapped": lambda i, f, g: (f.at[0].set(f[-1]).at[-1].set(f[0]), g),
    "one": lambda i, f, g: (f.at[1].set(g[0]), g.at[-1].set(f[0])),
    "ends": lambda i, f, g: (f.at[:2].set(g[-2:]), g[::-1]),
    "turned": lambda i, f, g: (jnp.roll(f, 1), jnp.concatenate([g[2:], g[:2]])),
    "sorted": lambda i, f, g: (jnp.sort(f), g.at[0].set(f.max())),
    "branch": lambda i, f, g: (lax.cond(i % 2 == 0, lambda f: f.at[0].set(g[1]),
                                        lambda f: f[::-1], f), g.at[1].set(f[0])),
    "inner": lambda i, f, g: (lax.fori_loop(0, 3, lambda j, f: f.at[j % 2].set(f[-1]).at[-1].set(
        f[0]), f), g),
    "found": lambda i, f, g: (f.at[i % f.size].set(g[(i + 1) % g.size]), g[::-1]),
    "columns": lambda i, f, g: (f, (f[::-1][:16].reshape(4, 4).T.reshape(-1)
                                    if f.size >= 16 else jnp.where(f[0] > g, g, f[1]))),
}


# What loops write and read in parts is carried in registers where it is small.
@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
@pytest.mark.parametrize("name", WRITTEN)
def test_arrays_written_in_parts(agree, rng, name, dtype):
    for sizes in ((3, 5), (16, 8), (17, 16)):
        f, g = (jnp.array(rng.integers(0, 50, n) % (2 if dtype == "bool" else 99), dtype)
                for n in sizes)
        g = f[:16] if name == "columns" else g

        def turn(i, c):
            return WRITTEN[name](i, *c)

        agree(lambda f, g: lax.fori_loop(0, 5, turn, (f, g)), f, g)
        agree(lambda f, g: lax.while_loop(
            lambda c: (c[0] < 6) & (c[1][0].astype("float32").sum() < 1e5),
            lambda c: (c[0] + 1, turn(c[0], c[1])), (jnp.int32(0), (f, g)))[1], f, g)
        agree(lambda f, g: lax.scan(lambda c, i: (turn(i, c), c[0]), (f, g), jnp.arange(4)), f, g)


PLACES = {
    "masked": lambda p, n: (p * 7 + 3) & (n - 1),
    "remainder": lambda p, n: (p * 5 + 1) % n,
    "below_zero": lambda p, n: -((p * 3 + 1) % n) - 1,
    "outside": lambda p, n: p * 11 - 40,
    "halved": lambda p, n: jnp.where(p & 1, 3 * p + 1, p >> 1),
    "unsigned": lambda p, n: (p.astype(jnp.uint32) * np.uint32(2654435761) >> 28).astype(p.dtype),
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("dtype", ["int32", "int64", "int8"])
def test_tables_are_read_along_a_chain(agree, x64, rng, name, dtype):
    n = 16
    table = rng.integers(-20, 20, n).astype(dtype)

    def turn(p, table):
        q = PLACES[name](p, n)
        return (table[q] ^ (q >> 1)).astype(dtype)

    def probe(key, table):
        return lax.while_loop(lambda p: table[p & (n - 1)] > 0, lambda p: (p + 1) & (n - 1),
                              (key * 5) & (n - 1))

    def run(first, table):
        return (lax.fori_loop(0, 40, lambda i, p: turn(p, table), first),
                lax.map(lambda key: probe(key, table), jnp.arange(20, dtype=dtype)))

    agree(run, np.asarray(3, dtype), np.where(np.arange(n) == 5, -1, table).astype(dtype))


@pytest.mark.parametrize("factor", [3, 5, 9])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_small_multiples_wrap(agree, x64, factor, dtype):
    def turn(i, x):
        return x * factor + 1, x * factor - 7

    agree(lambda x: lax.fori_loop(0, 70, lambda i, s: turn(i, s[0] ^ s[1]), (x, x)),
          np.asarray(12345, dtype))


FUNCTIONS = {
    "sin": (jnp.sin, np.sin), "cos": (jnp.cos, np.cos), "tan": (jnp.tan, np.tan),
    "fmod": (lambda x: jnp.fmod(x, 2.5), lambda x: np.fmod(x, 2.5)),
    "mod": (lambda x: jnp.fmod(5.5, x), lambda x: np.fmod(5.5, x)),
    "power": (lambda x: jnp.abs(x) ** 1.25, lambda x: np.abs(x) ** 1.25),
    "powers": (lambda x: jnp.power(1.75, x), lambda x: np.power(x.dtype.type(1.75), x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_one_number(tercel, x64, rng, name, dtype):
    ours, wanted = FUNCTIONS[name]
    special = [0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny, 5e-324, 1, -1, np.pi / 2,
               -np.pi / 2, np.pi / 4, 2.5, -2.5, 1e5, 1e9, np.finfo(dtype).max]
    x = np.concatenate([special, rng.uniform(-9, 9, 3000), rng.normal(size=500) * 1e4]).astype(dtype)

    def step(i, state):  # each turn waits for the one before it
        last, out = state
        y = ours(jnp.where(last == 12345, 0, x_[i]).astype(dtype))
        return y, out.at[i].set(y)

    with jax.default_device(tercel):
        x_ = jnp.asarray(x)
        got = np.asarray(jax.jit(lambda: lax.fori_loop(
            0, len(x), step, (jnp.zeros((), dtype), jnp.zeros(len(x), dtype))))()[1])
    with np.errstate(all="ignore"):
        exact = wanted(x.astype(np.longdouble)).astype(dtype)
        ulps = np.abs(got.astype(np.longdouble) - exact) / np.spacing(np.abs(exact))
    same = (got == exact) | (np.isnan(got) & np.isnan(exact))
    assert np.all(same | (ulps <= 4)), x[~same & ~(ulps <= 4)]
    assert np.array_equal(np.signbit(got)[exact == 0], np.signbit(exact)[exact == 0])


INVARIANT = {
    "sort": lambda a, x, i: jnp.sort(a[:, 0]) * x,
    "rank": lambda a, x, i: x + jnp.argsort(a[0])[i % 4],
    "cholesky": lambda a, x, i: jnp.linalg.cholesky(a @ a.T + 4 * jnp.eye(8)) @ x,
    "solve": lambda a, x, i: jnp.linalg.solve(a + 9 * jnp.eye(8), x) + i,
    "singular": lambda a, x, i: x / jnp.linalg.svd(a, compute_uv=False).max(),
    "loop": lambda a, x, i: x + lax.fori_loop(0, 5, lambda j, y: jnp.sin(y) + j, a)[0],
    "found": lambda a, x, i: x + lax.while_loop(lambda y: y < 50, lambda y: y * 1.5, jnp.abs(a).sum() + 1),
    "interpolated": lambda a, x, i: jnp.interp(x, jnp.sort(a[0]), a[1]) + i,
    "branch": lambda a, x, i: x * 0.9 + lax.cond(a[0, 0] > 0, jnp.sin, jnp.cos, a)[1],
    "carried": lambda a, x, i: x * 0.5 + lax.scan(lambda c, r: (c + r, c.sum()), a[0], a)[0],
}


@pytest.mark.parametrize("name", INVARIANT)
def test_what_turns_have_in_common(agree, rng, name):
    a, x, body = floats(rng, 8, 8), floats(rng, 8), INVARIANT[name]
    agree(lambda a, x: lax.fori_loop(0, 6, lambda i, x: body(a, x, i), x), a, x)
    for turns in (0, 1, 5):
        agree(lambda a, x, n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, body(a, c[1], c[0])),
                                             (jnp.int32(0), x))[1], a, x, np.int32(turns))
    agree(lambda a, x: lax.map(lambda row: body(a, row, 1), jnp.stack([x, -x, x + 1])), a, x)
    agree(lambda a, x: lax.fori_loop(0, 3, lambda i, x: lax.fori_loop(
        0, 2, lambda j, x: body(a, x, j) * 0.5, x) + i, x), a, x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int32", "int8",
                                   "complex64"])
@pytest.mark.parametrize("rows, width", [(3, 9), (20, 10), (9, 15), (3, 20), (20, 33), (7, 63),
                                         (30, 100)])
def test_states_with_rows_of_any_width(agree, rng, x64, dtype, rows, width):
    """Made in place, row by row: the last vector of a row lies over the one before."""
    a = rng.integers(0, 2, (rows, width)).astype(dtype)
    v = rng.integers(0, 2, width).astype(dtype)
    is_integer = np.dtype(dtype).kind == "i"

    def halved(x):
        return x ^ (x > 0) if is_integer else x / 2

    def f(a, v):
        def turn(i, s):
            a, b, c = s
            a = halved(a) + v
            b = b.at[:, 1:-1].add(v[1:-1] * a[:, 2:])
            b = b.at[1:, :-2].set(halved(b[:-1, 2:]))
            return a, b, c.at[:, :-1].set(halved(c[:, 1:]) + v[1:])
        return lax.fori_loop(0, 5, turn, (a, a, a))
    agree(f, a, v)
    agree(lambda a, v: halved(a) + v, a, v, donate_argnums=0)


@pytest.mark.parametrize("n", [1, 3, 8, 16, 20, 33, 100, 3001])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_states(agree, rng, x64, n, dtype):
    """Their parts lie apart in a loop's memory, in pairs outside."""
    z = ((rng.integers(-2, 3, n) + 1j * rng.integers(-2, 3, n)) / 4).astype(dtype)

    def step(i, state):
        z, w = state
        w = w.at[i % n].set(z[0]) * 0.5
        return z[::-1] * z + jnp.abs(w), jnp.roll(jnp.conj(w), 1) + z.sum() * 0.25

    agree(lambda z: lax.fori_loop(0, 3, step, (z, z)), z)
    agree(lambda z: lax.scan(lambda c, i: (step(i, c), c[1].real), (z, z * 2), jnp.arange(3)), z)
    agree(lambda z: lax.fori_loop(0, 4, lambda i, c: lax.cond(i % 2, lambda c: step(i, c),
                                                              lambda c: c[::-1], c), (z, z)), z)


@pytest.mark.parametrize("shape", [(300,), (5, 201), (9, 130)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_lines_of_many_parts(agree, rng, shape, dtype):
    """Cut where what is read comes from somewhere else."""
    x = rng.integers(0, 9, shape).astype(dtype)

    def shifted(v, taps, mode):
        n = v.shape[-1]
        pads = [(0, 0)] * (v.ndim - 1) + [(taps // 2, taps // 2)]
        wide = jnp.pad(v, pads, mode=mode)
        return sum(wide[..., i:i + n] * np.asarray(i + 1, v.dtype) for i in range(taps))

    def level(v):
        taps = [jnp.roll(v, -k, -1)[..., ::2] for k in range(4)]
        return taps[0] + taps[1] * 2 + taps[2] - taps[3], taps[3] - taps[1] + taps[0] * 3

    def wavelet(v):
        low, high = level(v[..., :v.shape[-1] // 4 * 4])
        return jnp.concatenate([*level(low), high], -1)

    for mode in ("reflect", "symmetric", "edge", "wrap", "constant"):
        agree(lambda v: shifted(v, 7, mode), x)
    agree(wavelet, x)
    agree(lambda v: lax.fori_loop(0, 5, lambda i, u: u - jnp.where(
        u > 3, u * (u - jnp.roll(u, 1, -1)), jnp.roll(u, -1, -1) - u) + jnp.roll(u, 2, -1), v), x)


def outputs(s, e, x):
    return s, jnp.exp(-s), jnp.log1p(jnp.exp(e) + s * s) * x, s > 0, jnp.stack([jnp.sin(s), s])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 4), (9,), (2, 5)])
@pytest.mark.parametrize("turns", [31, 32, 77])
def test_work_of_all_turns_at_once(agree, rng, turns, shape, reverse):
    def step(state, z):
        s, e, before = state
        x, y, i = z
        s = s * 0.5 + jnp.exp(x) * jnp.tanh(y) + jnp.sin(0.1 * i) - before * 0.1
        e = e * 0.9 + jnp.log1p(jnp.exp(s.sum()))
        return (s, e, jnp.sqrt(jnp.abs(x)) ** 0.3), outputs(s, e, x)

    start = jnp.zeros(shape), jnp.float32(0), jnp.zeros(shape)
    agree(lambda x, y: lax.scan(step, start, (x, y, jnp.arange(turns)), reverse=reverse),
          floats(rng, turns, *shape), floats(rng, turns, *shape), scale=10)


@pytest.mark.parametrize("first, step", [(0, 1), (1, 1), (5, 3)])
def test_counts_that_turns_compute_with(agree, rng, first, step):
    turns = 40
    last = first + step * (turns - 1)

    def body(s):
        i, y, kept = s
        t = (i - first) // step
        far, near = jnp.exp(x_of[last - i]), jnp.exp(x_of[i]) + jnp.cos(i * 0.25)
        y = y * 0.5 + far - near
        return i + step, y, kept.at[t].set(jnp.exp(y))

    x_of = jnp.asarray(floats(rng, last + 1))
    agree(lambda y: lax.while_loop(lambda s: s[0] <= last, body,
                                   (jnp.int32(first), y, jnp.zeros(turns))), np.float32(1))


@pytest.mark.parametrize("table", [(7,), (7, 3), (3, 7)])
def test_tables_read_where_turns_say(agree, rng, table):
    places = rng.integers(-3, 9, 50).astype(np.int32)  # outside, too

    def step(s, i):
        t = jnp.abs(values_of) + 0.5
        row = lax.dynamic_slice(t, [i] + [i] * (t.ndim - 1), (1,) + (2,) * (t.ndim - 1))
        return s * 0.5 + jnp.log(t[(0,) * (t.ndim - 1) + (i,)]) + jnp.exp(row).sum(), s

    values_of = jnp.asarray(floats(rng, *table))
    agree(lambda i: lax.scan(step, jnp.float32(0), i), places)


@pytest.mark.parametrize("shape", [(), (4,), (12,)])
def test_keys_that_run_ahead(agree, shape):
    def step(state, _):
        x, key, tries = state
        key, a, b = jax.random.split(key, 3)
        proposed = x + 0.3 * jax.random.normal(a, shape)
        change = (x * x).sum() - (proposed * proposed).sum()
        accepts = jnp.log(jax.random.uniform(b)) < change
        x = jnp.where(accepts, proposed, x)
        tries = tries * 5 + 1
        return (x, key, tries), (x, accepts, tries, jax.random.bits(b, (2,)))

    start = jnp.zeros(shape), jax.random.PRNGKey(3), jnp.uint32(1)
    agree(lambda s: lax.scan(step, s, None, length=60), start, scale=10)


@pytest.mark.parametrize("columns", [2, 3, 5, 6, 7, 8, 12])
def test_much_arithmetic_on_short_rows(agree, rng, columns):
    def long_one(x, by_row, by_column):
        y = x
        for i in range(24):
            y = (y * by_row[:, None] + by_column) * (x - 0.1 * i) if i % 2 else jnp.maximum(
                y - by_column, by_row[:, None] * x)
        return y

    for rows in (1, 3, 17, 300):
        agree(long_one, floats(rng, rows, columns) * 0.5, floats(rng, rows) * 0.5,
              floats(rng, columns) * 0.5, scale=100)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16", "int8"])
@pytest.mark.parametrize("rows, width", [(33, 3), (1, 3), (17, 5), (33, 2), (50, 7), (16, 12), (5, 17)])
def test_short_rows_that_a_loop_updates(agree, rng, rows, width, dtype):
    x = rng.integers(0, 9, (3, rows, width)).astype(dtype)
    each = {"max": lambda v: v - v.max(-1, keepdims=True),
            "where": lambda v: jnp.where(v > v.min(-1, keepdims=True), v, 0).astype(v.dtype),
            "sum": lambda v: v * v.sum(0, keepdims=True).astype(v.dtype),
            "mean": lambda v: jnp.where(v.astype("float32").mean(-1, keepdims=True) > 3.9, v, 1),
            "turn": lambda v: jnp.flip(v, -1)}
    for f in each.values():
        agree(lambda x: jax.lax.fori_loop(0, 3, lambda i, a: a.at[i].set(f(a[i])), x), x)
        agree(lambda x: jax.lax.map(f, x), x)
        agree(lambda x: jax.lax.scan(lambda c, v: (c + v, f(c)), x[0], x), x)
        agree(lambda x: x.at[1].set(f(x[1])).at[:, :, 1:].set(x[:, :, :-1]), x)


@pytest.mark.parametrize("shape", [(7,), (16, 11), (5, 4, 9)], ids=str)
def test_tables_filled_line_by_line(agree, rng, shape):
    """Lines of a table that are made of lines before; of any rank, in branches, and of all of it."""
    w = rng.normal(size=shape).astype(np.float32)
    table = jnp.zeros((60, *shape))

    def filled(line):
        return lambda w: lax.fori_loop(0, 50, lambda i, t: t.at[i + 1].set(line(t, i, w)), table)

    def in_branches(w):
        def turn(i, t):
            return lax.cond(i % 3 == 0, lambda t: t.at[i + 1].set(t[i] * 0.5 + w), lambda t: t, t)
        return lax.fori_loop(0, 50, turn, table)

    agree(filled(lambda t, i, w: t[i] * 0.5 + w), w)
    agree(filled(lambda t, i, w: jnp.maximum(t[i], jnp.roll(t[i], 1, -1)) + w), w)
    agree(filled(lambda t, i, w: t[i].max(-1, keepdims=True) * 0.3 + w), w)
    agree(filled(lambda t, i, w: t.sum(0) * 0.1 + w), w)
    agree(lambda w: lax.fori_loop(2, 50, lambda i, t: t.at[i].set(t[i - 1] + t[i - 2] * w), table), w)
    agree(in_branches, w)


@pytest.mark.parametrize("length", [1, 30])
def test_parts_added_to_what_is_carried(tercel, rng, length):
    """As additions of whole arrays: +0 takes the sign of all zeros that are not in every part."""
    x = np.where(rng.random((300, 2)) < 0.5, np.float32(-0.0), rng.normal(size=(300, 2)))
    x = x.astype(np.float32)
    at = rng.integers(40, 44, length).astype(np.int32)
    part = np.array([[-0.0, 2], [-0.0, -0.0], [1, -0.0]], np.float32)

    def added(x, at, part):
        def turn(x, i):
            whole = lax.dynamic_update_slice(jnp.zeros_like(x), part, (i, 0))
            return x + whole, None
        return lax.scan(turn, x, at)[0]

    wanted = x.copy()
    for i in at:
        whole = np.zeros_like(x)
        whole[i : i + 3] = part
        wanted += whole
    got = jax.jit(added)(*jax.device_put((x, at, part), tercel))
    assert np.array_equal(np.asarray(got).view(np.uint32), wanted.view(np.uint32))


def test_gradients_of_what_a_loop_reads_of_its_state(agree, rng):
    x = rng.normal(size=(400, 3)).astype(np.float32)
    at = rng.integers(0, 400, 40).astype(np.int32)

    def total(x, at):
        def turn(carry, i):
            x, e = carry
            x = lax.cond(i % 2 == 0, lambda x: x.at[i].multiply(0.9), lambda x: x, x)
            return (x.at[i].add(0.1), e + x[i].sum() * x[(i + 7) % 400, 1]), None
        x, e = lax.scan(turn, (x, 0.0), at)[0]
        return jnp.tanh(x).sum() + e

    agree(jax.grad(total), x, at)
