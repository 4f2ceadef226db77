"""Python functions that compiled programs call."""

import subprocess
import sys
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.errors import JaxRuntimeError
from jax.experimental import checkify, io_callback


def of(function, shape=(), dtype=jnp.float32, **options):
    """A traceable function that calls a Python one."""
    return lambda *a: jax.pure_callback(
        function, jax.ShapeDtypeStruct(shape, dtype), *a, **options)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float16", "bfloat16",
                                   "float32", "complex64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (4, 5, 3)])
def test_pure_callback(agree, rng, dtype, shape):
    x = jnp.asarray(rng.integers(0, 2, shape)).astype(dtype)
    agree(lambda x: (of(lambda x: np.logical_not(x).astype(dtype), shape, dtype)(x), x), x)


def test_several_operands_and_results(agree):
    kinds = (jax.ShapeDtypeStruct((2,), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32))
    agree(lambda a, b: jax.pure_callback(lambda a, b: (a * 2, np.int32(b + 1)), kinds, a, b),
          np.ones(2, np.float32), np.int32(4))
    agree(lambda: jax.pure_callback(lambda: (np.ones(2, np.float32), np.int32(1)), kinds))


def test_nothing_in_and_nothing_out(tercel):
    seen = []
    jax.jit(lambda: jax.debug.callback(lambda: seen.append(1)))()
    jax.jit(lambda: io_callback(lambda: seen.append(2), None, ordered=True))()
    jax.effects_barrier()
    assert sorted(seen) == [1, 2]


def test_control_flow_around_callbacks(agree):
    sine = of(lambda x: np.sin(x).astype(np.float32))
    x = np.float32(0.5)
    agree(lambda x: jax.lax.fori_loop(0, 10, lambda i, v: sine(v) + v, x), x)
    agree(lambda x: jax.lax.scan(lambda c, _: (sine(c), c), x, None, length=7), x)
    agree(lambda x: jax.lax.while_loop(lambda v: v < 3, lambda v: v + sine(v), x), x)
    agree(lambda p, x: jax.lax.cond(p, sine, lambda v: v, x), True, x)
    agree(jax.vmap(of(lambda x: np.sin(x).astype(np.float32), vmap_method="sequential")),
          np.arange(4, dtype=np.float32))
    agree(jax.vmap(lambda x: jax.pure_callback(
        lambda x: np.sin(x), jax.ShapeDtypeStruct((), np.float32), x,
        vmap_method="expand_dims")), np.arange(4, dtype=np.float32))


def test_gradients_through_custom_jvp(agree):
    @jax.custom_jvp
    def sine(x):
        return of(lambda x: np.sin(x).astype(np.float32))(x)
    sine.defjvp(lambda primals, tangents: (sine(*primals), jnp.cos(primals[0]) * tangents[0]))
    agree(jax.grad(lambda x: sine(x) ** 2), np.float32(0.3))


def test_what_a_callback_keeps_stays_as_it_was(tercel):
    kept = []

    def keep(x):
        kept.append(np.asarray(x))
        return np.float32(0)

    def run(x):
        for i in range(4):
            x = x * 2
            jax.debug.callback(lambda v: kept.append(np.asarray(v)), x)
        return x
    jax.jit(run)(jnp.ones(1000)).block_until_ready()
    jax.effects_barrier()
    assert sorted(int(v[0]) for v in kept) == [2, 4, 8, 16]
    assert all((v == v[0]).all() for v in kept)


@pytest.mark.parametrize("error", [ValueError("no such thing"), KeyError("k"), SystemExit(3)])
def test_an_exception_reaches_who_waits(tercel, error):
    def fail(x):
        raise error
    broken = jax.jit(of(fail, (4,)))
    with pytest.raises(jax.errors.JaxRuntimeError, match=type(error).__name__) as caught:
        broken(jnp.ones(4)).block_until_ready()
    assert "CpuCallback error" in str(caught.value) and "test_callbacks.py" in str(caught.value)
    assert jax.jit(of(lambda x: x * 2, (4,)))(jnp.ones(4))[0] == 2


def test_a_wrong_result_is_named(tercel):
    with pytest.raises(jax.errors.JaxRuntimeError, match="Incorrect output shape"):
        jax.jit(of(lambda x: np.ones(3, np.float32), (4,)))(jnp.ones(4)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="Incorrect output dtype"):
        jax.jit(of(lambda x: np.ones(4, np.int32), (4,)))(jnp.ones(4)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="number of outputs|tree structure"):
        jax.jit(of(lambda x: (x, x), (4,)))(jnp.ones(4)).block_until_ready()


def test_ordered_effects_keep_their_order(tercel):
    seen = []

    @jax.jit
    def run(x):
        io_callback(lambda v: seen.append(("a", int(v))), None, x, ordered=True)
        y = io_callback(lambda v: v + 1, jax.ShapeDtypeStruct((), jnp.int32), x, ordered=True)

        def body(i, c):
            io_callback(lambda v: seen.append(("b", int(v))), None, i, ordered=True)
            return c + i
        z = jax.lax.fori_loop(0, 4, body, y)
        jax.debug.callback(lambda v: seen.append(("c", int(v))), z, ordered=True)
        return z
    for n in range(3):
        seen.clear()
        assert run(jnp.int32(n)) == n + 1 + 6
        jax.effects_barrier()
        assert seen == [("a", n)] + [("b", i) for i in range(4)] + [("c", n + 7)]


def test_effects_of_branches_without_results(tercel):
    seen = []

    def tell(word, x):
        jax.debug.callback(lambda x: seen.append((word, int(x))), x)

    @jax.jit
    def run(xs):
        def step(c, x):
            jax.lax.cond(x > 0, lambda: tell("positive", x), lambda: None)
            jax.lax.switch(x, [lambda: None, lambda: tell("one", x), lambda: tell("more", x)])
            return jax.lax.cond(x == 1, lambda: (tell("same", x), c)[1], lambda: c) + x, None
        jax.lax.cond(xs[0] == 0, lambda: tell("first", xs[0]), lambda: None)
        jax.lax.while_loop(lambda c: (tell("asked", c), c > 9)[1], lambda c: c + 1, 0)
        return jax.lax.scan(step, 0, xs)[0]

    assert run(jnp.arange(3)) == 3
    jax.effects_barrier()
    assert sorted(seen) == sorted([
        ("first", 0), ("asked", 0), ("positive", 1), ("one", 1), ("same", 1),
        ("positive", 2), ("more", 2)])


def test_debug_print(tercel, capsys):
    @jax.jit
    def run(x):
        jax.debug.print("x is {x}, {y:.2f}", x=x, y=x / 3)
        jax.debug.print("ordered {}", x, ordered=True)
        return x
    run(jnp.float32(1))
    jax.effects_barrier()
    lines = sorted(capsys.readouterr().out.splitlines())
    assert lines == ["ordered 1.0", "x is 1.0, 0.33"]


def test_checkify(agree):
    def checked(x):
        checkify.check(jnp.all(x > 0), "not positive: {}", x[0])
        return jnp.log(x)
    error, _ = jax.jit(checkify.checkify(checked))(-jnp.ones(3))
    with pytest.raises(checkify.JaxRuntimeError, match="not positive: -1.0"):
        error.throw()
    error, value = jax.jit(checkify.checkify(checked, errors=checkify.all_checks))(jnp.ones(3))
    error.throw()
    assert (value == 0).all()


def test_a_callback_may_use_jax(tercel, cpu):
    def inner(x):
        on_cpu = jax.jit(lambda v: v * 2)(jax.device_put(np.asarray(x), cpu))
        on_tercel = jax.jit(lambda v: v * 3)(jax.device_put(np.asarray(x), tercel))
        return np.asarray(on_cpu) + np.asarray(on_tercel)
    run = jax.jit(lambda x: of(inner, (5,))(x) + 1)
    assert run(jnp.ones(5))[0] == 6
    large = jax.jit(lambda x: of(inner, (500, 500))(x @ x)[0, 0])
    assert large(jnp.eye(500)) == 5


@pytest.mark.native
def test_a_callback_may_wait_for_a_later_program(tercel):
    given, later = threading.Event(), []

    def wait(x):
        assert given.wait(60)
        return np.asarray(later[0]) + np.asarray(x)
    slow = jax.jit(lambda x: of(wait, (300, 300))(x @ x))
    first = slow(jnp.eye(300))
    later.append(jax.jit(lambda x: x @ x @ x)(jnp.full((300, 300), 0.5)))
    given.set()
    assert first[0, 0] == 1 + 0.125 * 300 * 300


@pytest.mark.parametrize("ordered", [False, True])
def test_what_python_is_told_has_been_when_the_call_returns(tercel, ordered):
    seen = []

    def slow(x):
        time.sleep(0.05)
        seen.append(float(x))

    @jax.jit
    def run(x):
        jax.debug.callback(slow, (x @ x)[0, 0], ordered=ordered)
        return x + 1
    for n in (2, 500):
        ones = jnp.ones((n, n))
        run(ones)
        assert seen[-1:] == [n]
        run(jax.jit(lambda x: 2 * (x @ x))(ones))  # which may still run
        assert seen[-1:] == [4 * n ** 3]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("n", [2, 500])
def test_a_callback_that_fails_spoils_nothing_after_it(tercel, ordered, n):
    def fail(x):
        raise ValueError("it rains")
    ones = jnp.ones((n, n))
    for results in (None, ones):
        run = jax.jit(lambda x: io_callback(fail, results, x @ x, ordered=ordered))
        with pytest.raises(JaxRuntimeError, match="it rains"):
            run(ones)
        jax.effects_barrier()
    kept = jax.jit(lambda x: io_callback(lambda v: np.asarray(v), ones, x, ordered=True))(ones)
    np.testing.assert_array_equal(kept, ones)
    jax.effects_barrier()


def test_many_threads(tercel):
    run = jax.jit(lambda x: jax.lax.fori_loop(
        0, 20, lambda i, v: of(lambda a: a + 1, (3,))(v), x))
    results = [None] * 8

    def work(k):
        for _ in range(5):
            results[k] = np.asarray(run(jnp.full(3, float(k))))
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert all((results[k] == k + 20).all() for k in range(8))


def test_buffer_callback(agree):
    from jax.experimental.buffer_callback import buffer_callback

    def double(context, out, x):
        assert out.writeable and not x.writeable and x.shape == (2, 3)
        np.asarray(out)[...] = 2 * np.asarray(x)
    run = buffer_callback(double, jax.ShapeDtypeStruct((2, 3), jnp.float32))
    agree(lambda x: run(x) + 1, np.arange(6, dtype=np.float32).reshape(2, 3))


def test_leaving_without_waiting():
    program = (
        "import jax, jax.numpy as jnp, numpy as np, time\n"
        "def slow(x):\n"
        "    time.sleep(0.3)\n"
        "    return np.asarray(x)\n"
        "f = jax.jit(lambda x: jax.pure_callback(slow, x, x @ x))\n"
        "f(jnp.ones((300, 300)))\n"
        "jax.debug.callback(lambda v: print('seen', v), 4)\n"
        "jax.jit(lambda x: jax.debug.print('printed {}', x))(5)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    assert "seen 4" in done.stdout and "printed 5" in done.stdout


def test_leaving_while_callbacks_run():
    """A callback takes the interpreter's lock again and again, as long as there is one."""
    program = (
        "import jax, jax.numpy as jnp, numpy as np, time\n"
        "def slow(x):\n"
        "    for _ in range(500):\n"
        "        time.sleep(0.001)\n"
        "    print('slow done', flush=True)\n"
        "    return np.asarray(x)\n"
        "f = jax.jit(lambda x: jnp.cos(jax.pure_callback(slow, x, x @ x)))\n"
        "kept = f(jnp.ones((300, 300)))\n"
        "jax.jit(lambda x: jax.debug.print('printed {}', x))(5)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    assert "slow done" in done.stdout and "printed 5" in done.stdout
