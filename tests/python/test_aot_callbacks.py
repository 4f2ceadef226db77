"""Callbacks of programs that leave Python: custom calls to functions of their names."""

import ctypes
import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tercel as package
from tercel import abi, aot
from tercel.aot import Program

VECTOR = np.arange(3, dtype=np.float32)
KIND = jax.ShapeDtypeStruct((3,), jnp.float32)


class Foreign(Program):
    _sum = np.zeros(3, np.float32)

    def add(self, x=Program.like(np.zeros((2, 3), np.float32))):
        rows, count = jax.ffi.ffi_call("sum_rows", (KIND, jax.ShapeDtypeStruct((), jnp.int32)))(
            2 * x, times=np.int64(3))
        self._sum = self._sum + rows
        return self._sum, count


def test_calls_of_ffi():
    data = Program.get_compiled_artifact(Foreign).to_bytes()
    given = []

    def sum_rows(configuration, x):
        given.append((configuration, x))
        return 3 * x.sum(0), np.int32(len(x))

    loaded = package.load(data, custom_calls={"sum_rows": sum_rows})
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for times in (1, 2):
        result, count = loaded.add(x)
        np.testing.assert_array_equal(result, times * 6 * x.sum(0))
        assert count == 2
    np.testing.assert_array_equal(given[0][1], 2 * x)
    assert "times" in given[0][0]


def test_functions_that_fail():
    data = Program.get_compiled_artifact(Foreign).to_bytes()
    x = np.zeros((2, 3), np.float32)

    def fails(configuration, x):
        raise KeyError("mine")

    for function, kind, message in (
            (fails, KeyError, "mine"),
            (lambda _, x: x, ValueError, "sum_rows gave 1 results in place of 2"),
            (lambda _, x: (x, x), ValueError,
             r"result 0: float32\[2,3\] in place of float32\[3\]")):
        with pytest.raises(kind, match=message):
            package.load(data, custom_calls={"sum_rows": function}).add(x)
    for calls in (None, {"other": fails}):
        with pytest.raises(RuntimeError, match="sum_rows"):
            package.load(data, custom_calls=calls).add(x)


def test_an_instance_is_not_called_by_itself():
    data = Program.get_compiled_artifact(Foreign).to_bytes()
    x = np.ones((2, 3), np.float32)

    def sum_rows(configuration, x):
        use()
        return x.sum(0), np.int32(len(x))

    loaded = package.load(data, custom_calls={"sum_rows": sum_rows})
    for use in (lambda: loaded.add(x), lambda: loaded.globals["sum"]):
        with pytest.raises(RuntimeError, match="foreign: a custom call of an instance cannot use"):
            loaded.add(x)
    use = lambda: None  # noqa: E731
    np.testing.assert_array_equal(loaded.new_instance().add(x)[0], 4 * np.ones(3))


@pytest.mark.native
def test_a_print_changes_nothing_else():
    """Beside it all is lowered as for CPUs, and as in the plugin."""
    def decompose(a):
        choice = jax.lax.platform_dependent(a, cpu=lambda v: v + 1, default=lambda v: v + 2)
        return (choice, jnp.linalg.qr(a), jnp.linalg.svd(a), jnp.linalg.eigvalsh(a @ a.T),
                jnp.linalg.solve(a, a[0]))

    def prints(a):
        def step(carry, i):
            jax.debug.print("step {}", i)
            return jax.lax.cond(i > 0, lambda c: c + 1, lambda c: 2 * c, carry), i

        jax.debug.print("{}", a[0, 0])
        return decompose(a), jax.lax.scan(step, a, jnp.arange(3))

    a = np.random.default_rng(3).normal(size=(5, 5)).astype(np.float32)
    results, (last, _) = package.load(aot.compile(prints, a).to_bytes()).prints(a)
    for given, wanted in zip(jax.tree.leaves(results), jax.tree.leaves(jax.jit(decompose)(a))):
        np.testing.assert_array_equal(given, wanted)
    np.testing.assert_array_equal(last, (2 * a + 1) + 1)


def test_a_call_that_fails_changes_no_global():
    def refuses(x):
        if x[0] > 5:
            raise ValueError("too much")
        return x

    class Counts(Program):
        _count = np.zeros(3, np.float32)

        def add(self, x=Program.like(VECTOR)):
            self._count = self._count + 1
            return jax.pure_callback(refuses, KIND, x)

    program = Counts()
    program.add(VECTOR)
    with pytest.raises(Exception, match="too much"):
        program.add(VECTOR + 9)
    np.testing.assert_array_equal(program._count, np.ones(3))
    program.add(VECTOR)
    np.testing.assert_array_equal(program._count, 2 * np.ones(3))


def triple(x):
    return np.asarray(3 * x)


def scale(x, by=1):
    return np.asarray(by * x)


def adds(number):
    def look_up(x):
        return np.asarray(x + number)
    return look_up


FIRST, SECOND = adds(1), adds(2)


def test_callbacks_keep_their_names():
    seen = []

    def notes(x):
        seen.append(np.asarray(x))
        return np.asarray(x)

    def f(x):
        def step(carry, _):
            return carry + jax.experimental.io_callback(notes, KIND, carry), None

        y = jax.pure_callback(functools.partial(triple), KIND, x)
        return jax.lax.scan(step, y, None, length=2)[0]

    data = aot.compile(f, VECTOR).to_bytes()
    loaded = package.load(data, custom_calls={
        "triple": lambda _, x: triple(x), "notes": lambda _, x: notes(x)})
    np.testing.assert_array_equal(loaded.f(VECTOR), 12 * VECTOR)
    np.testing.assert_array_equal(seen, [3 * VECTOR, 6 * VECTOR])


def test_one_name_is_one_function_in_all_procedures():
    class Tables(Program):
        def first(self, x=Program.like(VECTOR)):
            return jax.pure_callback(FIRST, KIND, x) + jax.pure_callback(FIRST, KIND, 2 * x)

        def second(self, x=Program.like(VECTOR)):
            return jax.pure_callback(SECOND, KIND, x)

    message = "second: cannot leave Python: .* of look_up, by which name Tables.first calls another"
    with pytest.raises(NotImplementedError, match=message):
        Program.get_compiled_artifact(Tables)


def test_functions_that_a_procedure_defines():
    """They are others each time that it is traced."""
    def doubled(x):
        def double(x):
            return np.asarray(factor * x)
        return jax.pure_callback(double, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    factor = 2
    made = aot.compile(doubled, Program.like(VECTOR, "n", n=(1, 3)))
    loaded = package.load(made.to_bytes(), custom_calls={"double": lambda _, x: 2 * x})
    np.testing.assert_array_equal(loaded.doubled(VECTOR), 2 * VECTOR)


@pytest.mark.parametrize("code, kind", [(7, 7), (99, 2), (-1, 2)])
def test_codes_of_hosts(code, kind):
    data, program = Program.get_compiled_artifact(Foreign).to_bytes(), ctypes.c_void_p()
    library, instance = abi.library(), ctypes.c_void_p()
    abi.check(library.tercel_program_load(data, len(data), None, ctypes.byref(program)))
    options = abi.InstanceOptions(custom_call=abi.CustomCallFunction(lambda *_: code))
    abi.check(library.tercel_instance_create(program, ctypes.byref(options),
                                             ctypes.byref(instance)))
    arrays = np.zeros((2, 3), "f"), np.zeros(3, "f"), np.zeros((), "i")
    buffers = [abi.Buffer(array.ctypes.data, array.nbytes) for array in arrays]
    results = (abi.Buffer * 2)(*buffers[1:])
    call = library.tercel_instance_call
    assert call(instance, 0, ctypes.byref(buffers[0]), 1, results, 2) == kind
    assert f"failed with code {code}" in library.tercel_error_message().decode()
    library.tercel_instance_destroy(instance)
    library.tercel_program_destroy(program)


PRINTS = """
import sys, jax, numpy as np, tercel
from tercel import aot
def f(x, y):
    jax.debug.print("x = {}, half {h:.2f} {{}} {w}", x, h=y / 2, w={"a": y})
    jax.lax.fori_loop(0, 2, lambda i, c: (jax.debug.print("at {}", i), c)[1], 0)
    return x
x = np.arange(4, dtype=np.float32).reshape(2, 2)
calls = {"unused": print} if "hook" in sys.argv else None
tercel.load(aot.compile(f, x, 1.5).to_bytes(), custom_calls=calls).f(x, 1.5)
"""


@pytest.mark.parametrize("hook", ["", "hook"])
def test_prints_go_to_stderr(hook):
    done = subprocess.run([sys.executable, "-c", PRINTS, hook], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "x = [[0. 1.]\n [2. 3.]], half 0.75 {} {'a': 1.5}\nat 0\nat 1\n" in done.stderr


SPECS = """
import sys, jax, jax.numpy as jnp, numpy as np, tercel
from tercel import aot
values = {"f": np.float32(-2.25), "b": jnp.bfloat16(3), "i": np.int32(-7), "u": np.uint8(200),
          "c": np.complex64(1 - 2j)}
specs = {"f": ["+8.2f", "08.3e", " .4g", "G", "12.0f", "e"], "b": [".2f"], "c": [".2f", ".3g"],
         "i": ["5d", "05d", " d", "+d"], "u": ["d", "+06d"]}
@jax.jit
def f(x):
    for name, listed in specs.items():
        for spec in listed:
            jax.debug.print(f"{name}:{spec} {{:{spec}}}", x[name])
    return x["f"]
tercel.load(aot.compile(f, values, name="f").to_bytes()).f(values)
f(values)
jax.effects_barrier()
"""


def test_format_specs_are_pythons():
    done = subprocess.run([sys.executable, "-c", SPECS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = sorted(done.stdout.splitlines())
    assert len(wanted) == 15
    assert [line for line in sorted(done.stderr.splitlines()) if line in wanted] == wanted


def test_prints_may_go_elsewhere():
    lines = []

    def f(x):
        jax.debug.print("{} and {}", x[0], "text")
        return x

    def keep(configuration, *operands):
        lines.append((configuration, *map(float, operands)))
        return ()

    package.load(aot.compile(f, VECTOR).to_bytes(),
                 custom_calls={"tercel_debug_print": keep}).f(VECTOR)
    assert lines == [('{format = "{0} and text"}', 0.0)]


@pytest.mark.parametrize("function, message", [
    (lambda x: jax.pure_callback(lambda y: y, KIND, x), "jax.pure_callback of a function without"),
    (lambda x: jax.pure_callback(functools.partial(scale, by=2), KIND, x),
     "jax.pure_callback of a functools.partial of scale, which binds arguments"),
    (lambda x: jax.pure_callback(FIRST, KIND, jax.pure_callback(SECOND, KIND, x)),
     "jax.pure_callback of look_up, by which name Calls.run calls another function"),
    (lambda x: jax.experimental.io_callback(triple, KIND, x, ordered=True),
     "an ordered jax.experimental.io_callback"),
    (lambda x: (jax.debug.print("{}", x, ordered=True), x)[1], "an ordered jax.debug.print"),
    (lambda x: (jax.debug.callback(triple, x), x)[1], "jax.debug.callback"),
    (lambda x: (jax.debug.print("x {:x}", jnp.int32(x[0])), x)[1],
     r"jax.debug.print of 'x {:x}': no {:x} for int32\[\]"),
    (lambda x: (jax.debug.print("{:>8.2f}", x[0]), x)[1], "jax.debug.print of .*: no {:>8.2f} for"),
    (lambda x: (jax.debug.print("{:.2f}", x[0] > 1), x)[1], "jax.debug.print of .*: no {:.2f} for"),
    (lambda x: (jax.debug.print("{:.999f}", x[0]), x)[1], "jax.debug.print of .*: no {:.999f} for"),
    (lambda x: (jax.debug.print("{x.shape}", x=x), x)[1],
     "jax.debug.print of '{x.shape}': .*shape"),
    (lambda x: jax.lax.cond(x[0] > 0, jax.jit(lambda y: (jax.debug.callback(triple, y), y)[1]),
                            lambda y: y, x), "jax.debug.callback"),
])
def test_what_cannot_leave_python_is_named(function, message):
    class Calls(Program):
        def run(self, x=Program.like(VECTOR)):
            return function(x)

    with pytest.raises(NotImplementedError,
                       match=f"Calls.run: cannot leave Python: {message}"):
        Program.get_compiled_artifact(Calls)
    np.asarray(Calls().run(VECTOR))  # in this process it works
