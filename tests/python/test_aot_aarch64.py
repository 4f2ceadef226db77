"""Programs saved for aarch64 compute what they do here: linked by a cross compiler, run by qemu."""

import inspect
import pathlib
import re
import shutil
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tercel
from tercel.aot import Program

from conftest import assert_same

COMPILER = shutil.which("aarch64-linux-gnu-gcc")
EMULATOR = shutil.which("qemu-aarch64")
HOST = pathlib.Path(__file__).with_name("aot_host.c")

pytestmark = [pytest.mark.native, pytest.mark.skipif(
    not (COMPILER and EMULATOR), reason="needs aarch64-linux-gnu-gcc and qemu-aarch64")]

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
SMALL = ["float8_e4m3fn", "float8_e5m2", "int4", "uint4"]
MATH = ["exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "sinh", "cosh", "arcsinh",
        "arctan", "sqrt", "cbrt"]

RNG = np.random.default_rng(7)


def values(dtype, *shape):
    dtype = jnp.dtype(dtype)
    if dtype == bool or dtype.kind in "iu":
        return RNG.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)[..., 0] \
            if dtype != bool else RNG.integers(0, 2, shape).astype(bool)
    if dtype.kind == "c":
        return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)
    return RNG.normal(size=shape).astype(dtype)


def special(dtype):
    """Numbers that few functions treat as others, alone in a vector and together."""
    info = jnp.finfo(dtype)
    rare = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, float(info.tiny) / 4, float(info.max),
            1e6, -3e4]
    with np.errstate(over="ignore"):
        rare = np.array(rare).astype(dtype)
    x = values(dtype, 64)
    x[::7] = rare[:10]
    return np.concatenate([x, rare])


CASES = {}


def case(name, *arguments, scale=1.0):
    """The program `name`, of these arguments; `scale` widens what rounding may do."""
    def add(function):
        CASES[name] = function, arguments, scale
        return function
    return add


def integer_arithmetic(a, b):
    divisor = jnp.where(b == 0, jnp.ones_like(b), b)
    by = (b & (a.dtype.itemsize * 8 - 1)).astype(a.dtype)
    return (a + b, a - b, a * b, a & b, a | b, a ^ b, ~a, jnp.minimum(a, b), jnp.maximum(a, b),
            a < b, a >= b, jnp.where(a > b, a, b), jax.lax.div(a, divisor),
            jax.lax.rem(a, divisor), jax.lax.div(a, b * 0), jax.lax.shift_left(a, by),
            jax.lax.shift_right_logical(a, by), jax.lax.shift_right_arithmetic(a, by),
            jax.lax.shift_left(a, b), jax.lax.population_count(a), jax.lax.clz(a), jnp.sign(a))


def float_arithmetic(a, b):
    return (a + b, a - b, a * b, a / b, jnp.minimum(a, b), jnp.maximum(a, b), -a, jnp.abs(a),
            jnp.floor(a), jnp.ceil(a), jnp.round(a), jnp.sign(a), a < b, a != b, jnp.isnan(a),
            jax.lax.rem(a, b), jnp.signbit(a), a * b + a)


def conversions(x):
    return [x.astype(to) for to in INTEGERS + FLOATS + SMALL + ["bool"]]


for kind in INTEGERS:
    case(f"integer_{kind}", values(kind, 67), values(kind, 67))(integer_arithmetic)
for kind in FLOATS:
    case(f"float_{kind}", special(kind), special(kind)[::-1].copy())(float_arithmetic)
for kind in INTEGERS + FLOATS + SMALL + ["bool"]:
    plain = special(kind) if kind in FLOATS else values(kind, 75) if kind not in SMALL else \
        RNG.integers(0, 8, 75).astype(jnp.dtype(kind))
    case(f"convert_{kind}", plain)(conversions)
for kind in ["float32", "float64"]:
    case(f"math_{kind}", special(kind))(lambda x: [getattr(jnp, name)(x) for name in MATH])
    case(f"inverse_{kind}", np.tanh(values(kind, 75)))(
        lambda x: (jnp.arcsin(x), jnp.arccos(x), jnp.arctanh(x), jax.scipy.special.erfinv(x)))
    case(f"special_{kind}", np.abs(values(kind, 75)) + 0.5, scale=30)(
        lambda x: (jax.scipy.special.erf(x), jax.scipy.special.gammaln(x), jax.lax.digamma(x),
                   jnp.power(x, 2.5), jnp.arctan2(x, -x), jax.lax.rsqrt(x), jax.nn.gelu(x),
                   jax.scipy.special.i0e(x)))
    case(f"reduce_{kind}", values(kind, 9, 70))(
        lambda x: (x.sum(), x.sum(0), x.mean(1), x.max(1), x.min(), x.argmax(1), x.prod(1),
                   jnp.cumsum(x, 1), x.var(0), jax.nn.softmax(x), jax.nn.logsumexp(x, 0),
                   jax.lax.reduce_window(x, 0.0, jax.lax.add, (2, 3), (1, 2), "SAME")))
case("reduce_int", values("int32", 9, 70), values("int8", 9, 70))(
    lambda x, y: (x.sum(1), y.astype("int32").sum(0), y.max(1), x.min(0), jnp.cumsum(x, 0),
                  (x > 0).any(1), (y > -100).all(0), jnp.argmin(y, 1)))
case("complex", values("complex64", 33), values("complex64", 33), values("complex128", 33))(
    lambda a, b, c: (a * b, a / b, jnp.exp(a), jnp.abs(a), jnp.sqrt(c), jnp.log(c), c ** 2,
                     jnp.tanh(b), jnp.conj(a) + b.imag, jnp.sin(c)))
for kind in ["float32", "bfloat16", "float16", "float64", "complex64", "int8"]:
    wide = "int32" if kind == "int8" else None
    case(f"dot_{kind}", values(kind, 37, 50), values(kind, 50, 29), values(kind, 50), scale=10)(
        lambda a, b, v, wide=wide: (jnp.matmul(a, b, preferred_element_type=wide),
                                    jnp.matmul(a, v, preferred_element_type=wide),
                                    jnp.einsum("ij,kj->ik", a, a, preferred_element_type=wide)))
case("dot_large", values("float32", 130, 257), values("float32", 257, 140), scale=10)(
    lambda a, b: jnp.maximum(a @ b + 1, 0))
case("conv", values("float32", 2, 12, 13, 3), values("float32", 3, 3, 3, 8),
     values("int8", 1, 9, 4), values("int8", 3, 4, 5), scale=10)(
    lambda x, w, i, j: (
        jax.lax.conv_general_dilated(x, w, (1, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", rhs_dilation=(2, 2),
                                     dimension_numbers=("NHWC", "HWIO", "NHWC")),
        jax.lax.conv_general_dilated(i, j, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"),
                                     preferred_element_type="int32")))
case("indexing", values("float32", 20, 6), RNG.integers(-20, 20, (11,)).astype("int32"),
     values("float32", 11, 6), np.int32(17))(
    lambda x, i, u, s: (x[i], x.at[i].add(u), x.at[i % 3].max(u), jnp.take(x, i, axis=0),
                        jax.lax.dynamic_slice(x, (s, s // 9), (5, 3)),
                        jax.lax.dynamic_update_slice(x, u[:4], (s, s * 0)),
                        x.T, jnp.flip(x, 1), jnp.pad(x, ((1, 2), (0, 3))), x[::3, 1:],
                        jnp.concatenate([x, u]), jnp.roll(x, 3, 0), jnp.tile(x, (2, 1)),
                        jax.ops.segment_sum(u, jnp.abs(i) % 4, 4)))
case("sort", values("float32", 5, 40), values("int16", 90), values("uint64", 33))(
    lambda x, i, u: (jnp.sort(x), jnp.argsort(x, 0), jax.lax.top_k(x, 5), jnp.sort(i),
                     jnp.sort(u)[::-1], jax.lax.sort((i, jnp.arange(90)), num_keys=1),
                     jnp.median(x, 1)))
case("loops", values("float32", 16), np.int32(9))(
    lambda x, n: (jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.sin(c[1]) + c[0]),
                                     (0, x))[1],
                  jax.lax.scan(lambda c, y: (c * 0.9 + y, c), jnp.float32(0), x),
                  jax.lax.fori_loop(0, n, lambda i, c: c.at[i].set(c[i - 1] * 2), x),
                  jax.lax.cond(n > 5, jnp.cos, jnp.exp, x),
                  jax.lax.switch(n % 3, [jnp.sin, jnp.cos, jnp.tanh], x)))
case("random", np.uint32([1, 2]))(
    lambda key: (jax.random.bits(key, (101,)), jax.random.uniform(key, (33,)),
                 jax.random.normal(key, (64,)), jax.random.permutation(key, 20),
                 jax.random.randint(key, (9,), 0, 1000)))
case("fft", values("complex64", 3, 64), values("float32", 4, 60), values("complex128", 2, 17),
     values("float64", 8, 12), scale=10)(
    lambda c, r, p, d: (jnp.fft.fft(c), jnp.fft.ifft(c), jnp.fft.rfft(r),
                        jnp.fft.irfft(jnp.fft.rfft(r)), jnp.fft.fft(p), jnp.fft.fft2(d),
                        jnp.fft.irfft2(jnp.fft.rfft2(d))))
for kind in ["float32", "float64", "complex64"]:
    square = values(kind, 12, 12) + 4 * np.eye(12, dtype=kind)
    case(f"linalg_{kind}", square, values(kind, 12, 3), scale=30)(
        lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a),
                      jnp.linalg.cholesky(a @ a.conj().T), jnp.abs(jnp.linalg.qr(a)[1]),
                      jnp.linalg.svd(a, compute_uv=False), jnp.linalg.eigvalsh(a + a.conj().T),
                      jax.scipy.linalg.solve_triangular(a, b, lower=True)))


def cnn_loss(weights, images, labels):
    x = jax.lax.conv_general_dilated(images, weights["conv"], (1, 1), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
                              "VALID")
    logits = x.reshape(x.shape[0], -1) @ weights["dense"] + weights["bias"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))


@case("training", values("float32", 8, 8, 8, 1), RNG.integers(0, 10, 8).astype("int32"), scale=10)
def training(images, labels):
    weights = {"conv": jnp.full((3, 3, 1, 4), 0.1) * jnp.arange(4), "bias": jnp.zeros(10),
               "dense": jnp.sin(jnp.arange(640.0)).reshape(64, 10)}
    weights = jax.tree.map(lambda w: w.astype(jnp.float32), weights)

    def step(weights, _):
        loss, gradient = jax.value_and_grad(cnn_loss)(weights, images, labels)
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradient), loss
    return jax.lax.scan(step, weights, None, length=5)


def procedure(function, arguments):
    """A method whose parameters are like the arguments."""
    def method(self, *args):
        return function(*args)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    method.__signature__ = inspect.Signature(
        [inspect.Parameter("self", kind)] +
        [inspect.Parameter(f"x{i}", kind, default=Program.like(argument))
         for i, argument in enumerate(arguments)])
    return method


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def emulated(*command):
    return run(EMULATOR, "-L", "/usr/aarch64-linux-gnu", *command)


@pytest.fixture(scope="module")
def cases():
    with jax.enable_x64(True):
        yield type("Cases", (Program,), {name: procedure(function, arguments)
                                         for name, (function, arguments, _) in CASES.items()})


@pytest.fixture(scope="module")
def folder(cases, tmp_path_factory):
    """A library with all programs, and two executables with it."""
    folder = tmp_path_factory.mktemp("aarch64")
    Program.get_compiled_artifact(cases, targets="aarch64").save_library(folder)
    for name, library in (("shared", ["cases.so", "-Wl,-rpath,$ORIGIN"]),
                          ("static", ["cases.a", "-lm", "-lpthread", "-ldl"])):
        run(COMPILER, "-std=c11", "-Wall", "-Werror", HOST, "-I.", "-o", name, *library, cwd=folder)
    (folder / "in").write_bytes(b"".join(np.ascontiguousarray(x).tobytes()
                                         for _, arguments, _ in CASES.values()
                                         for x in arguments))
    return folder


def outputs(folder, executable, threads):
    """What the programs give, as bytes."""
    out = folder / f"{executable}.{threads}"
    assert emulated(folder / executable, folder / "in", out, str(threads)) == "aarch64\n"
    return out.read_bytes()


@pytest.fixture(scope="module")
def got(folder):
    data, at, results = outputs(folder, "shared", 1), 0, {}

    def read(kind):
        nonlocal at
        value = np.frombuffer(data, kind.dtype, kind.size, at).reshape(kind.shape)
        at += value.nbytes
        return value

    for name, (function, arguments, _) in CASES.items():
        results[name] = jax.tree.map(read, jax.eval_shape(function, *arguments))
    assert at == len(data)
    return results


def widened(x):
    """NumPy takes no NaN of these types for another."""
    return np.asarray(x).astype(np.float32) if x.dtype.name in SMALL else x


@pytest.mark.parametrize("name", CASES)
def test_the_same_results_as_here(got, tercel, name):
    function, arguments, scale = CASES[name]
    with jax.default_device(tercel):
        wanted = jax.jit(function)(*arguments)
    assert_same(*jax.tree.map(widened, (got[name], wanted)), scale)


def test_threads_and_static_libraries_give_the_same_bits(folder, got):
    assert outputs(folder, "static", 4) == (folder / "shared.1").read_bytes()


class Counter(Program):
    _total = jnp.zeros(3, jnp.float32)

    def add(self, x=Program.like(jnp.zeros(3, jnp.float32))):
        self._total = self._total + x
        return self._total


def test_one_file_for_both_architectures(tmp_path):
    both = Program.get_compiled_artifact(Counter, targets="x86-64-v2,aarch64")
    here = tercel.load(both.to_bytes())
    here.add(np.float32([1, 2, 3]))
    np.testing.assert_array_equal(here.add(np.float32([1, 1, 1])), [2, 3, 4])
    with pytest.raises(ValueError, match="for one architecture.*code for x86-64 and aarch64"):
        both.save_library(tmp_path)
    assert not list(tmp_path.iterdir())
    both.save_library(tmp_path, targets="x86-64-v2,x86-64-v3")
    both.save_library(tmp_path, targets="aarch64")
    assert {path.name for path in tmp_path.iterdir()} == {
        "counter.so", "counter.a", "counter.h", "counter.hpp", "counter.cmake", "tercel_program.h"}


def test_other_machines_refuse_it():
    artifact = Program.get_compiled_artifact(Counter, targets="aarch64")
    with pytest.raises(Exception, match="compiled for aarch64, and this machine is x86-64"):
        tercel.load(artifact.to_bytes())


def test_x86_code_is_refused_there(folder, tmp_path):
    """By the engine in the library, which opens any file."""
    source = tmp_path / "open.c"
    source.write_text("""
        #include <stdio.h>
        #include "cases.h"
        int main(int count, char** words) {
          tercel_program* program;
          const int code = cases_api()->program_open(words[1], NULL, &program);
          return printf("%d %s", code, code ? cases_error_message() : ""), 0;
        }""")
    run(COMPILER, source, f"-I{folder}", "-o", tmp_path / "open", folder / "cases.so",
        f"-Wl,-rpath,{folder}")
    path = tmp_path / "counter.tercel"
    Program.get_compiled_artifact(Counter, targets="x86-64-v2").save(path)
    code, message = emulated(tmp_path / "open", path).split(" ", 1)
    assert int(code) == 9 and "compiled for x86-64, and this machine is aarch64" in message
    Program.get_compiled_artifact(Counter, targets="x86-64-v2,aarch64").save(path)
    assert emulated(tmp_path / "open", path) == "0 "


def test_a_library_in_cpp_with_its_values_beside_it(tmp_path):
    compiler = shutil.which("aarch64-linux-gnu-g++")
    Program.get_compiled_artifact(Counter, targets="aarch64").save_library(tmp_path, side_file=True)
    (tmp_path / "main.cpp").write_text("""
        #include <cstdio>
        #include <vector>
        #include "counter.hpp"
        int main() {
          counter_program::Instance counter;
          std::vector<float> x = {1, 2, 3}, total(3);
          for (int i = 0; i < 4; ++i) counter.add(x, total);
          std::printf("%g %g %g", total[0], total[1], total[2]);
        }""")
    run(compiler, "-std=c++17", "main.cpp", "-o", "main", "counter.so", "-Wl,-rpath,$ORIGIN",
        cwd=tmp_path)
    assert emulated(tmp_path / "main") == "4 8 12"


def test_only_the_c_library_is_needed(folder):
    needed = run("aarch64-linux-gnu-readelf", "-dW", "--version-info", folder / "cases.so")
    libraries = set(re.findall(r"Shared library: \[(.*)\]", needed))
    assert libraries <= {"libc.so.6", "libm.so.6"}
    versions = {tuple(map(int, version.split(".")))
                for version in re.findall(r"GLIBC_([0-9.]+)", needed)}
    assert max(versions) <= (2, 35)  # as docs/aot.md says
