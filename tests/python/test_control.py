"""Loops, conditionals and calls."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def test_fori_loop_over_scalars(agree):
    agree(lambda x: jax.lax.fori_loop(0, 1000, lambda i, v: v * 0.99 + i, x), np.float32(1))


def test_fori_loop_over_vectors(agree, rng):
    agree(lambda x: jax.lax.fori_loop(0, 50, lambda i, v: jnp.cos(v) * 0.5 + 0.4 * v[::-1], x),
          rng.normal(size=33).astype(np.float32))


def test_while_with_a_data_dependent_end(agree):
    agree(lambda x: jax.lax.while_loop(lambda s: s[0] < 1e6, lambda s: (s[0] * s[0] + 1, s[1] + 1),
                                       (x, 0)), np.float32(1.5))


def test_a_loop_that_never_runs(agree):
    agree(lambda x: jax.lax.while_loop(lambda v: v < 0, lambda v: v * 2, x), np.float32(1))


def test_nested_loops(agree):
    def run(x):
        return jax.lax.fori_loop(
            0, 10, lambda i, v: jax.lax.fori_loop(0, i, lambda j, w: w + i * j, v), x)
    agree(run, np.int32(0))


def test_scan_with_results(agree, rng):
    agree(lambda xs: jax.lax.scan(lambda c, x: (c * 0.9 + x, jnp.outer(c, x)),
                                  jnp.zeros(4), xs), rng.normal(size=(30, 4)).astype(np.float32))


def test_reversed_scan_of_a_tree(agree, rng):
    xs = {"a": rng.normal(size=(8, 3)).astype(np.float32), "b": np.arange(8, dtype=np.int32)}
    agree(lambda t: jax.lax.scan(lambda c, x: (c + x["a"] * x["b"], c.sum()), jnp.zeros(3), t,
                                 reverse=True), xs)


@pytest.mark.parametrize("which", [-1, 0, 1, 2, 7])
def test_switch(agree, which):
    agree(lambda i, x: jax.lax.switch(i, [jnp.sin, jnp.cos, lambda v: v * 3], x),
          np.int32(which), np.float32(0.7))


@pytest.mark.parametrize("yes", [True, False])
def test_cond(agree, rng, yes):
    x = rng.normal(size=(5, 6)).astype(np.float32)
    agree(lambda p, v: jax.lax.cond(p, lambda a: (a.T @ a, a.sum()),
                                    lambda a: (jnp.zeros((6, 6)), a[0, 0]), v), yes, x)


def test_cond_in_a_loop(agree):
    agree(lambda x: jax.lax.fori_loop(
        0, 100, lambda i, v: jax.lax.cond(i % 3 == 0, lambda a: a * 2, lambda a: a - 1, v), x),
        np.int32(1))


def test_gradient_through_scan(agree, rng):
    def loss(w, xs):
        def cell(h, x):
            h = jnp.tanh(h @ w + x)
            return h, h
        return jax.lax.scan(cell, jnp.zeros(5), xs)[1].sum()
    agree(jax.grad(loss), rng.normal(size=(5, 5)).astype(np.float32) / 3,
          rng.normal(size=(12, 5)).astype(np.float32))


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_sums_of_products_over_turns(agree, rng, batch, dtype):
    """Gradients of weights, which a loop adds up: one product after it."""
    def cell(c, x):
        h, w, v = c
        return (jnp.roll(h, 1) + x, w + x.T @ h, v + (h.T @ x).T), h.sum()
    h, xs = rng.normal(size=(batch, 48)) * 3, rng.normal(size=(9, batch, 48)) * 3
    w, v = rng.normal(size=(2, 48, 48)) * 3
    agree(lambda h, w, v, xs: jax.lax.scan(cell, (h, w, v), xs),
          *(a.astype(dtype) for a in (h, w, v, xs)), scale=100)


def test_gradient_of_a_recurrent_network(agree, rng):
    def loss(w, u, xs):
        def cell(h, x):
            h = jnp.tanh(x @ w + h @ u)
            return h, h
        return (jax.lax.scan(cell, jnp.zeros((2, 64)), xs, reverse=True)[1] ** 2).sum()
    w, u = rng.normal(size=(48, 64)) / 8, rng.normal(size=(64, 64)) / 8
    xs = rng.normal(size=(11, 2, 48))
    agree(jax.grad(loss, (0, 1)), *(a.astype(np.float32) for a in (w, u, xs)), scale=10)


def test_map_and_vmap_of_while(agree):
    def steps(x):
        return jax.lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] / 2, s[1] + 1), (x, 0))[1]
    x = np.array([1, 2, 30, 400, 5000], np.float32)
    agree(lambda v: (jax.vmap(steps)(v), jax.lax.map(steps, v)), x)


def test_checkpoint_and_custom_gradient(agree, rng):
    @jax.custom_vjp
    def half(x):
        return x * x
    half.defvjp(lambda x: (half(x), x), lambda x, g: (g * x,))
    x = rng.normal(size=10).astype(np.float32)
    agree(lambda v: (jax.grad(lambda a: half(a).sum())(v),
                     jax.grad(lambda a: jax.checkpoint(lambda b: jnp.sin(b) ** 2)(a).sum())(v)), x)


def test_associative_scan(agree, rng):
    agree(lambda x: jax.lax.associative_scan(jnp.add, x), rng.normal(size=37).astype(np.float32))


def test_a_wish_for_an_order_changes_nothing(tercel):
    def program(a, b):
        first, second = a * 2, b + 1
        jax.ffi.ffi_call("control_dep", (), has_side_effect=True)(second, first)
        return first + second

    with jax.default_device(tercel):
        assert jax.jit(program)(3.0, 4.0) == 11
