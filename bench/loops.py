"""Loops over scalars and small vectors, where calling a kernel for each op would cost most."""

import jax
import jax.numpy as jnp
import numpy as np

from workload import normal, workload


@workload("loops", goal=1)
def fori_scalar_1m():
    return lambda x: jax.lax.fori_loop(0, 1_000_000, lambda i, v: v * 0.999999 + 1e-3, x), (
        np.float32(1),)


@workload("loops", goal=1)
def while_collatz():
    def steps(start):
        def body(state):
            n, count, total = state
            n = jnp.where(n % 2 == 0, n // 2, 3 * n + 1)
            done = n == 1
            return jnp.where(done, start + total, n), count + 1, total + done
        return jax.lax.while_loop(lambda s: s[1] < 200_000, body, (start, 0, 0))

    return steps, (np.int32(27),)


@workload("loops", goal=1)
def scan_scalar_100k():
    return lambda x: jax.lax.scan(lambda c, v: (c * 0.9 + v, c * v), jnp.float32(0), x), (
        normal(100_000),)


def runge_kutta(slope, s, h):
    k1 = slope(s)
    k2 = slope(s + h / 2 * k1)
    k3 = slope(s + h / 2 * k2)
    k4 = slope(s + h * k3)
    return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@workload("loops", goal=1)
def rk4_lorenz_2000():
    def lorenz(s):
        return jnp.array([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1],
                          s[0] * s[1] - 8 / 3 * s[2]])

    def step(s, _):
        s = runge_kutta(lorenz, s, 0.005)
        return s, s

    # Chaotic: only so many steps are alike on two machines, so that few of them are compared.
    return lambda s: jax.lax.scan(step, s, None, length=2000)[1][:200], (
        np.array([1, 1, 1], np.float32),)


@workload("loops", goal=1)
def rk4_cart_pole_2000():
    def cart_pole(s):
        sine, cosine, turn = jnp.sin(s[2]), jnp.cos(s[2]), s[3]
        mass = 1 + 0.1 * sine * sine
        push = 0.1 * sine * (0.5 * turn * turn + 9.8 * cosine)
        fall = -0.05 * turn * turn * cosine * sine - 10.78 * sine
        return jnp.stack([s[1], push / mass, turn, fall / (0.5 * mass)])

    def run(s):
        return jax.lax.fori_loop(0, 2000, lambda _, s: runge_kutta(cart_pole, s, 0.01), s)

    return run, (np.array([0, 0, 0.3, 0], np.float32),)


@workload("loops", goal=1)
def rigid_bodies_64():
    inertia = jnp.array([1.0, 2.0, 3.0])

    def step(_, state):
        place, speed, turn = state
        turn = turn + 0.01 * (0.1 - jnp.cross(turn, inertia * turn)) / inertia
        speed = speed + 0.01 * jnp.array([0, 0, -9.8])
        place = place + 0.01 * speed
        speed = jnp.where(place[2] < 0, speed * jnp.array([1, 1, -0.8]), speed)
        return jnp.where(place[2] < 0, place.at[2].set(0), place), speed, turn

    return jax.vmap(lambda *state: jax.lax.fori_loop(0, 1000, step, state)), tuple(
        normal(64, 3, seed=i) for i in range(3))


@workload("loops", goal=1)
def covariance_5x5_4000():
    def step(state, x):
        mean, covariance = state
        off = x - mean
        mean = mean + 0.02 * off
        covariance = 0.98 * covariance + 0.02 * jnp.outer(off, off)
        return (mean, covariance), covariance.sum(1)

    return lambda x: jax.lax.scan(step, (jnp.zeros(5), jnp.eye(5)), x), (normal(4000, 5),)


@workload("loops", goal=1)
def hash_table_6000():
    places = 16384

    def insert(table, key):
        first = (key * 40503 >> 4) & (places - 1)
        place = jax.lax.while_loop(lambda p: (table[p] != -1) & (table[p] != key),
                                   lambda p: (p + 1) & (places - 1), first)
        return table.at[place].set(key), place

    keys = np.random.default_rng(0).integers(0, 1 << 20, 6000).astype(np.int32)
    return lambda keys: jax.lax.scan(insert, jnp.full(places, -1, jnp.int32), keys), (keys,)


@workload("loops", goal=1)
def pointer_chase_50000():
    follow = np.random.default_rng(0).permutation(2000).astype(np.int32)
    return lambda follow: jax.lax.fori_loop(0, 50000, lambda i, x: follow[x], jnp.int32(0)), (follow,)


@workload("loops", goal=1)
def chosen_updates_4000():
    def step(i, counts):
        return jnp.where(counts[i] > 0, counts.at[i].set(counts[i] + counts[jnp.maximum(i - 3, 0)]), counts)

    return lambda counts: jax.lax.fori_loop(0, 4000, step, counts), (np.ones(4000, np.int32),)


@workload("loops", goal=1)
def solve_in_each_turn_300():
    def filtered(matrix, b):
        def step(x, b):
            x = 0.5 * x + jnp.linalg.solve(matrix, b)
            return x, x.sum()

        return jax.lax.scan(step, b[0], b)

    return filtered, (normal(12, 12) + 9 * np.eye(12, dtype=np.float32), normal(300, 12))


@workload("loops", goal=1)
def lstm_128():
    hidden, batch = 128, 16

    def cell(params, carry, x):
        h, c = carry
        gates = jnp.concatenate([x, h], 1) @ params[0] + params[1]
        i, f, g, o = jnp.split(gates, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def run(params, x):
        zero = jnp.zeros((batch, hidden))
        return jax.lax.scan(lambda c, v: cell(params, c, v), (zero, zero), x)[1]

    params = (normal(2 * hidden, 4 * hidden) / 16, np.zeros(4 * hidden, np.float32))
    return run, (params, normal(128, batch, hidden))


@workload("loops", goal=1)
def hmc_regression():
    x, noise = normal(100, 4), normal(100, seed=1)
    y = x @ np.array([1, -2, 3, 0.5], np.float32) + 0.1 * noise

    def energy(w, x, y):
        return 0.5 * jnp.sum((x @ w - y) ** 2) + 0.5 * jnp.sum(w * w)

    def sample(state, key):
        w, x, y = state
        keys = jax.random.split(key)
        p = jax.random.normal(keys[0], w.shape)
        slope = jax.grad(energy)

        def leap(_, s):
            q, m = s
            m = m - 0.005 * slope(q, x, y)
            q = q + 0.01 * m
            return q, m - 0.005 * slope(q, x, y)

        q, m = jax.lax.fori_loop(0, 10, leap, (w, p))
        change = energy(w, x, y) + 0.5 * p @ p - energy(q, x, y) - 0.5 * m @ m
        accept = jnp.log(jax.random.uniform(keys[1])) < change
        w = jnp.where(accept, q, w)
        return (w, x, y), w

    def run(w, x, y):
        keys = jax.random.split(jax.random.key(0), 500)
        return jax.lax.scan(sample, (w, x, y), keys)[1].mean(0)

    return run, (np.zeros(4, np.float32), x, y)


@workload("loops", goal=1)
def jacobi_200x512x512():
    def sweep(_, u):
        inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u.at[1:-1, 1:-1].set(inner)

    return lambda u: jax.lax.fori_loop(0, 200, sweep, u), (normal(512, 512),)
