"""Donation, deletion, views, transfers, asynchronous errors, threads."""

import concurrent.futures
import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def on_tercel(tercel):
    with jax.default_device(tercel):
        yield


def test_donation_consumes_the_argument():
    step = jax.jit(lambda x, y: (x + y, y * 2), donate_argnums=0)
    x, y = jnp.arange(1000.0), jnp.ones(1000)
    total, double = step(x, y)
    assert x.is_deleted() and not y.is_deleted()
    np.testing.assert_array_equal(total, np.arange(1000.0, dtype=np.float32) + 1)
    np.testing.assert_array_equal(double, np.full(1000, 2, np.float32))
    with pytest.raises((RuntimeError, ValueError), match="deleted"):
        step(x, y)


def test_donation_does_not_write_what_others_hold():
    x = jnp.arange(16.0)
    view = np.asarray(x)
    kept = view.copy()
    jax.jit(lambda v: v * 0, donate_argnums=0)(x).block_until_ready()
    np.testing.assert_array_equal(view, kept)


def test_donating_one_array_twice_is_refused_or_right():
    x = jnp.arange(8.0)
    f = jax.jit(lambda a, b: a + b, donate_argnums=(0, 1))
    try:
        got = f(x, x)
    except (RuntimeError, ValueError) as error:
        assert "donat" in str(error)
    else:
        np.testing.assert_array_equal(got, np.arange(8.0) * 2)


def test_many_steps_of_donated_state():
    step = jax.jit(lambda s: {"a": s["a"] + s["b"], "b": s["b"] * 1.01}, donate_argnums=0)
    state = {"a": jnp.zeros(500), "b": jnp.ones(500)}
    a, b = np.zeros(500), np.ones(500)
    for _ in range(100):
        state = step(state)
        a, b = a + b, b * 1.01
    np.testing.assert_allclose(state["a"], a, rtol=1e-4)


def test_a_result_outlives_its_inputs():
    x = jnp.arange(100.0)
    y = jax.jit(lambda v: (v, v[::-1], v.reshape(10, 10)))(x)
    del x
    gc.collect()
    np.testing.assert_array_equal(y[0], np.arange(100.0))
    np.testing.assert_array_equal(y[2], np.arange(100.0).reshape(10, 10))


def test_an_argument_returned_unchanged_is_not_an_alias_to_write():
    x = jnp.arange(10.0)
    same, more = jax.jit(lambda v: (v, v + 1))(x)
    x.delete()
    np.testing.assert_array_equal(same, np.arange(10.0))
    np.testing.assert_array_equal(more, np.arange(10.0) + 1)


def test_host_arrays_of_any_stride(rng):
    x = rng.normal(size=(6, 8, 4)).astype(np.float32)
    for view in (x, x.T, x[::-1, ::2], x[:, :, 1], np.broadcast_to(x[0, 0], (3, 4)), x[2:2]):
        np.testing.assert_array_equal(jax.jit(lambda v: v * 2)(view), view * 2)


def test_between_the_backends(tercel, cpu):
    x = jax.device_put(np.arange(5.0, dtype=np.float32), tercel)
    y = jax.device_put(x, cpu)
    assert y.devices() == {cpu}
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(jax.device_put(y + 1, tercel), np.arange(5.0) + 1)


def test_threads_that_compile_and_run():
    def work(n):
        f = jax.jit(lambda x: jnp.sum(jnp.sin(x) * n) + n)
        return [float(f(np.full((n + 2, 7), i, np.float32))) for i in range(5)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        got = list(pool.map(work, range(12)))
    for n, values in enumerate(got):
        for i, value in enumerate(values):
            wanted = np.sum(np.sin(np.full((n + 2, 7), i)) * n) + n
            np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-4)


def test_threads_that_run_one_program():
    f = jax.jit(lambda x: jnp.cumsum(jnp.tanh(x))[-1] * 1.5)
    xs = [np.full(1000, i / 10, np.float32) for i in range(20)]
    wanted = [float(f(x)) for x in xs]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert list(pool.map(lambda x: float(f(x)), xs)) == wanted


def test_the_same_bits_each_time(rng):
    x = rng.normal(size=(300, 400)).astype(np.float32)
    f = jax.jit(lambda v: (v @ v.T, v.sum(), jax.nn.softmax(v)))
    first = [np.asarray(leaf) for leaf in f(x)]
    for _ in range(3):
        for again, leaf in zip(f(x), first):
            np.testing.assert_array_equal(again, leaf)


def test_wrong_arguments_of_a_compiled_program():
    compiled = jax.jit(lambda x: x + 1).lower(jnp.ones(4)).compile()
    with pytest.raises(TypeError):
        compiled(jnp.ones(5))
    np.testing.assert_array_equal(compiled(jnp.ones(4)), np.full(4, 2))


def test_export_and_serialization():
    from jax import export

    f = jax.jit(lambda x: jnp.tanh(x) @ x.T)
    exported = export.export(f, platforms=["cpu"])(jax.ShapeDtypeStruct((4, 5), np.float32))
    again = export.deserialize(bytearray(exported.serialize()))
    x = np.arange(20, dtype=np.float32).reshape(4, 5) / 10
    np.testing.assert_allclose(again.call(x), np.tanh(x) @ x.T, rtol=1e-5)


@pytest.mark.native  # the evaluator has no steps that cost
def test_costs_and_memory_of_a_program():
    compiled = jax.jit(lambda a, b: a @ b).lower(jnp.ones((8, 16)), jnp.ones((16, 4))).compile()
    assert compiled.memory_analysis().argument_size_in_bytes == (8 * 16 + 16 * 4) * 4
    assert compiled.cost_analysis()["flops"] == 2 * 8 * 16 * 4
    assert compiled.cost_analysis()["bytes accessed"] == (8 * 16 + 16 * 4 + 8 * 4) * 4

    def loop(x):
        step = lambda c, _: (jnp.where(c.sum() > 0, jnp.tanh(c * 2 + 1), c), None)
        return jax.lax.scan(step, x, None, length=10)[0]

    cost = jax.jit(loop).lower(jnp.ones(100)).compile().cost_analysis()
    assert cost["flops"] == 10 * (99 + 2 * 100)


def test_a_token_has_no_value():
    x, token = jax.jit(lambda x, token: (x + 1, token))(jnp.ones(3), jax.lax.create_token())
    assert token.block_until_ready() is None and x.tolist() == [2, 2, 2]
    with pytest.raises(jax.errors.JaxRuntimeError, match="token-shape buffer"):
        token._buf._value


def test_mutable_arrays():
    start = jnp.arange(4.0)
    ref = jax.new_ref(start)
    before = ref[...]

    @jax.jit
    def add(ref, x):
        ref[...] += x
        ref[1] = 9.0

    add(ref, jnp.ones(4))
    add(ref, jnp.ones(4))
    assert ref[...].tolist() == [2, 9, 4, 5]
    assert start.tolist() == before.tolist() == [0, 1, 2, 3]

    @jax.jit
    def count(counts, places):
        def one(i, _):
            counts[places[i]] += 1
        jax.lax.fori_loop(0, len(places), one, None)

    counts = jax.new_ref(jnp.zeros(3, jnp.int32))
    for _ in range(2):
        count(counts, jnp.array([0, 2, 2, 2]))
    assert counts[...].tolist() == [2, 0, 6]


def test_mutable_arrays_that_swap_and_branch():
    @jax.jit
    def run(a, b, swap):
        def exchange():
            a[...], b[...] = b[...], a[...]
        jax.lax.cond(swap, exchange, lambda: a.__setitem__(0, 5.0))

    a, b = jax.new_ref(jnp.ones(3)), jax.new_ref(jnp.zeros(3))
    run(a, b, True)
    run(a, b, False)
    assert a[...].tolist() == [5, 0, 0] and b[...].tolist() == [1, 1, 1]


def test_donated_buffers_that_change_places():
    swap = jax.jit(lambda a, b: (b, a + 1), donate_argnums=(0, 1))
    a, b = jnp.zeros(1000), jnp.ones(1000)
    for _ in range(5):
        a, b = swap(a, b)
    assert a[7] == 3 and b[7] == 3
    turn = jax.jit(lambda x: (x[::-1], jnp.roll(x, 3)), donate_argnums=0)
    x = jnp.arange(6.0)
    part, host = x[2:4], np.asarray(x)
    back, rolled = turn(x)
    assert back.tolist() == [5, 4, 3, 2, 1, 0] and rolled.tolist() == [3, 4, 5, 0, 1, 2]
    assert part.tolist() == [2, 3] and host.tolist() == [0, 1, 2, 3, 4, 5]
