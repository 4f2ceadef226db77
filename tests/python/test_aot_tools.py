"""tercel-aot and tercel-run: from StableHLO to a library and a call, without Python."""

import ctypes
import itertools
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tercel
from tercel import aot
from tercel.aot import Program
from tercel.library import library_path

FOLDER = pathlib.Path(library_path()).resolve().parent
AOT = FOLDER / "aot" / "tercel-aot"
RUN = next((path for path in (FOLDER.parent / "tools" / "tercel-run", FOLDER / "aot" / "tercel-run")
            if path.is_file()), None)

pytestmark = [pytest.mark.native,
              pytest.mark.skipif(not AOT.is_file(), reason="the tools were not built")]


def tool(*words, fails=False):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env={},
                          timeout=120)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def function(x, y):
    return jnp.tanh(x) @ y, x.sum(axis=0)


X = np.linspace(-2, 2, 20, dtype=np.float32).reshape(4, 5)
Y = np.linspace(1, 3, 15, dtype=np.float32).reshape(5, 3)


def exported(*platforms, function=function):
    return jax.export.export(jax.jit(function), platforms=platforms or ["cpu"])(X, Y)


@pytest.mark.parametrize("kind", ["export", "stablehlo"])
def test_a_library_of_a_file(tmp_path, kind):
    data = exported()
    path = tmp_path / "model.file"
    path.write_bytes(data.serialize() if kind == "export" else data.mlir_module_serialized)
    tool(AOT, path, "-o", tmp_path / "out", "--targets=x86-64-v2,native", "--procedure", "go")
    library = ctypes.CDLL(str(tmp_path / "out" / "model.so"))
    instance = ctypes.c_void_p()
    assert library.model_create(None, ctypes.byref(instance)) == 0
    product, total = np.zeros((4, 3), np.float32), np.zeros(5, np.float32)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (X, Y, product, total)]
    assert library.model_go(instance, *pointers) == 0
    library.model_destroy(instance)
    wanted = jax.jit(function)(X, Y)
    np.testing.assert_array_equal(product, wanted[0])
    np.testing.assert_array_equal(total, wanted[1])


def sized(x, y):
    """What sizes are computed with, in loops, branches and functions that are called."""
    n = x.shape[0]
    pairs = jnp.concatenate([x, x[::-1]])
    total = jax.lax.fori_loop(0, n, lambda i, s: s + x[i].sum(), 0.0)
    key = jax.random.key(7)
    return (jax.nn.softmax(pairs @ y), jnp.sort(x.reshape(-1)[:n // 2 + 1]), total,
            jnp.pad(x, ((1, n), (0, 0))).cumsum(0), jnp.arange(2 * n) % 3,
            jax.random.uniform(key, (n, 3)), jax.lax.top_k(x.T, n - 1),
            jnp.linalg.cholesky(jnp.eye(n) * 4 + 1), jnp.where(jnp.asarray(n) > 4, x, -x),
            jax.image.resize(x, (n, 8), "linear"), jax.scipy.special.erf(x),
            jax.lax.dynamic_slice(pairs, (y[0, 0].astype(int), 1), (n, 2)))


def of_its_platform(x, key):
    own = jax.lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x * 2)
    return own + jax.random.normal(key, (5,))


def test_files_for_several_platforms_and_with_keys(tmp_path):
    x = jax.ShapeDtypeStruct(jax.export.symbolic_shape("n, 5"), np.float32)
    key = jax.random.key(3)
    data = jax.export.export(jax.jit(of_its_platform), platforms=["tpu", "cpu", "cuda"])(x, key)
    path, file = tmp_path / "some.export", tmp_path / "some.tercel"
    path.write_bytes(data.serialize())
    tool(AOT, path, f"--artifact={file}", "--size=n=1,4")
    tool(AOT, file, f"--artifact={file}2", "--targets=x86-64-v2")  # compiled once more
    for made in (file, f"{file}2"):
        loaded = tercel.load(made)
        for batch in (X, X[:1]):
            np.testing.assert_allclose(loaded.run(batch, np.asarray(jax.random.key_data(key))),
                                       jax.jit(of_its_platform)(batch, key), rtol=1e-6)
    assert "agree on 1 results" in tool(RUN, path, "--size=n=3")
    path.write_bytes(exported("cpu", "tpu").serialize())
    assert "agree on 2 results" in tool(RUN, path)
    path.write_bytes(exported("tpu", "cuda").serialize())
    assert "exported for tpu, cuda; export it for cpu, too" in tool(RUN, path, fails=True)


def test_what_the_evaluator_does_not_know_is_not_compared(tmp_path):
    path = tmp_path / "eigh.export"
    path.write_bytes(exported(function=lambda x, y: jnp.linalg.eigvalsh(x.T @ x + y[0, 0])).serialize())
    assert "not compared with the evaluator: " in tool(RUN, path)
    assert "lapack" in tool(RUN, path, "--eval", fails=True)


def symbolic(function=sized, sizes="n, 5", **options):
    x = jax.ShapeDtypeStruct(jax.export.symbolic_shape(sizes, **options), np.float32)
    return jax.export.export(jax.jit(function), platforms=["cpu"])(x, Y)


def test_symbolic_sizes(tmp_path):
    made = symbolic()
    files = tmp_path / "sized.export", tmp_path / "sized.mlirbc"
    files[0].write_bytes(made.serialize())
    files[1].write_bytes(made.mlir_module_serialized)
    flags = ["--size=n=4,6", "--shape=argument0=4x5,6x5"]
    for path, flag in zip(files, flags):
        tool(AOT, path, f"--artifact={tmp_path / 'made'}", flag)
        loaded = tercel.load(tmp_path / "made")
        for n in (4, 6):
            x = np.linspace(-1, 1, 5 * n, dtype=np.float32).reshape(n, 5)
            wanted = jax.tree.leaves(jax.jit(sized)(x, Y))
            for got, want in zip(loaded.run(x, Y), wanted, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    tool(AOT, files[0], "-o", tmp_path / "out", "--size", "n=4,6")
    header = (tmp_path / "out" / "sized.h").read_text()
    assert "sized_run_n4(" in header and "argument0 /* f32[6,5] */" in header
    if RUN is not None:
        assert "result 12: f32[4,2]" in tool(RUN, files[0], "--native", "--size=n=4")


def test_sizes_are_asked_for_and_checked(tmp_path):
    path, out = tmp_path / "model", tmp_path / "out"

    def refused(data, *flags):
        path.write_bytes(data)
        return tool(AOT, path, "-o", out, *flags, fails=True)

    made = symbolic(lambda x, y: x.sum() + y, "n, 2*m + 1")
    data = made.serialize()
    message = refused(data)
    assert "argument0[n, 2*m + 1]: n has no size: --size=n=8" in message
    assert "cannot be f32[3,6]" in refused(symbolic().serialize(), "--shape=argument0=3x6")
    assert "n>=3" in refused(symbolic(constraints=["n>=3"]).serialize(), "--size=n=2")
    assert "procedure run_n2" in refused(symbolic(constraints=["n>=3"]).serialize(), "--size=n=3,2")
    message = refused(made.mlir_module_serialized)
    assert "argument0 of main is tensor<?x?xf32>" in message and "--shape=argument0=" in message
    assert "no argument has a dimension with b" in refused(data, "--size=b=2")
    assert "'two' is no size" in refused(data, "--size=n=two")
    assert "stands twice" in refused(data, "--size=n=2", "--size=n=3")
    assert "argument0, argument1" in refused(data, "--shape=x=2x5")
    assert "use --shape" in refused(made.mlir_module_serialized, "--size=n=2")
    assert "where main has 2" in refused(exported().serialize(), "--shape=argument7=2x5")
    assert not out.exists()


def test_bad_files_are_refused(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(exported("cuda").serialize())
    assert "exported for cuda" in tool(AOT, path, "-o", tmp_path / "out", fails=True)
    whole = exported().serialize()
    path.write_bytes(whole)
    assert "unknown target vax" in tool(AOT, path, "-o", tmp_path / "out", "--targets=vax",
                                        fails=True)
    assert "--targets= names none" in tool(AOT, path, "-o", tmp_path / "out", "--targets=",
                                           fails=True)
    assert "is a folder" in tool(AOT, tmp_path, "-o", tmp_path / "out", fails=True)
    assert "--wat" in tool(AOT, path, "-o", tmp_path / "out", "--wat", fails=True)
    end = whole.index(b"ML\xefR") + len(exported().mlir_module_serialized)
    for size in range(0, end, 1 + end // 40):
        path.write_bytes(whole[:size])
        tool(AOT, path, "-o", tmp_path / "out", fails=True)
    assert not (tmp_path / "out").exists()


def test_commands_of_the_package(tmp_path):
    for name, path in (("aot", AOT), ("run", FOLDER / "aot" / "tercel-run")):
        call = [sys.executable, "-c", f"from tercel.tools import {name}; {name}()", "--help"]
        done = subprocess.run(call, capture_output=True, text=True)
        if path.is_file():
            assert done.stdout == tool(path, "--help")
        else:
            assert done.returncode == 1 and f"{path} is missing" in done.stderr


def test_threads(tmp_path):
    path, made = tmp_path / "model.mlirbc", tmp_path / "made"
    path.write_bytes(exported().mlir_module_serialized)
    tool(AOT, path, f"--artifact={made}")
    assert "and has 1 thread\n" in tool(RUN, made)
    tool(AOT, path, f"--artifact={made}", "--num-threads=2")
    assert "and has 2 threads\n" in tool(RUN, made)
    tool(AOT, made, f"--artifact={tmp_path / 'same'}")
    assert "and has 2 threads\n" in tool(RUN, tmp_path / "same")
    tool(AOT, made, f"--artifact={tmp_path / 'more'}", "--num-threads=3")
    assert "and has 3 threads\n" in tool(RUN, tmp_path / "more")
    for number in (0, -1, 2**32 + 1):
        assert "is to be 1 to 1024" in tool(AOT, path, f"--artifact={tmp_path / 'bad'}",
                                            f"--num-threads={number}", fails=True)
    assert not (tmp_path / "bad").exists()


def test_optimization_levels(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(exported(function=lambda x, y: (x.T @ x).sum() / 3).serialize())
    files = []
    for level in (0, 2):
        tool(AOT, path, f"--artifact={tmp_path / 'made'}", f"--optimization-level={level}")
        files.append((tmp_path / "made").read_bytes())
    tool(AOT, path, f"--artifact={tmp_path / 'made'}")
    assert files[0] != files[1] == (tmp_path / "made").read_bytes()
    assert "not 7" in tool(AOT, path, "-o", tmp_path / "out", "--optimization-level=7", fails=True)
    assert "name the --targets" in tool(AOT, tmp_path / "made", "-o", tmp_path / "out",
                                        "--optimization-level=1", fails=True)
    assert not (tmp_path / "out").exists()


def test_a_name_that_the_library_has_itself(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(exported().serialize())
    message = tool(AOT, path, "-o", tmp_path / "out", "--procedure=create", fails=True)
    assert "model_create" in message
    assert not (tmp_path / "out").exists()


class Counter(Program):
    _count = jnp.float32(3)

    def add(self, x=Program.like(np.zeros(4, np.float32))):
        self._count = self._count + 1
        return x * self._count


@pytest.mark.skipif(RUN is None, reason="tercel-run was not built")
def test_an_artifact_is_listed_run_and_compared(tmp_path):
    path = tmp_path / "counter.tercel"
    Program.get_compiled_artifact(Counter()).save(path)
    listed = tool(RUN, path)
    for line in ("global count: f32[], mutable", "procedure add", "argument x: f32[4]"):
        assert line in listed
    x = np.array([1, 2, 3, 4], np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "wanted.npy", x * 4)
    words = [RUN, path, "--procedure", "add", "--input", f"x={tmp_path / 'x.npy'}", "--expect",
             f"result={tmp_path / 'wanted.npy'}"]
    assert "4 8 12 16" in tool(*words)
    assert "is not that of" in tool(*words, "--repeat=2", fails=True)
    assert "--repeat takes a number of at least 1" in tool(*words, "--repeat=0", fails=True)
    assert "no procedure sub" in tool(RUN, path, "--procedure=sub", fails=True)
    assert "no argument y" in tool(RUN, path, "--procedure=add", "--input=y=z", fails=True)


@pytest.mark.skipif(RUN is None, reason="tercel-run was not built")
@pytest.mark.parametrize("given, word", [
    (np.ones(4, np.int32), "elements <i4 in the shape (4,); f32[4] is <f4 in (4,)"),
    (np.ones(4, ">f4"), "elements >f4"), (np.ones(2, np.float64), "elements <f8"),
    (np.ones((4, 1), np.float32), "in the shape (4, 1)"),
    (np.ones((2, 2), np.float32), "in the shape (2, 2)"), (np.ones(4, "V4"), "elements |V4")])
def test_arrays_of_other_types_and_shapes_are_refused(tmp_path, given, word):
    Program.get_compiled_artifact(Counter()).save(tmp_path / "counter.tercel")
    np.save(tmp_path / "x.npy", given)
    assert word in tool(RUN, tmp_path / "counter.tercel", "--procedure=add",
                        f"--input=x={tmp_path / 'x.npy'}", fails=True)


@pytest.mark.skipif(RUN is None, reason="tercel-run was not built")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float8_e4m3fn",
                                   "int4", "complex64"])
def test_arrays_of_every_type_are_read(tmp_path, dtype):
    x = np.array([[1, 0, 1]]).astype(jnp.dtype(dtype))
    with jax.enable_x64(True):
        aot.compile(lambda x: x, x, name="same").save(tmp_path / "same.tercel")
    np.save(tmp_path / "x.npy", x)
    told = tool(RUN, tmp_path / "same.tercel", "--procedure=same",
                f"--input=x={tmp_path / 'x.npy'}", f"--expect=result={tmp_path / 'x.npy'}")
    assert "result: agrees with" in told and ("[1,3] 1 0 1" in told or dtype == "float8_e4m3fn")


@pytest.mark.skipif(RUN is None, reason="tercel-run was not built")
@pytest.mark.parametrize("got, wanted", [
    (np.float32([0, 1]), np.float32([np.inf, 1])), (np.float32([np.inf]), np.float32([1])),
    (np.float32([np.nan]), np.float32([1])), (np.complex64([1 + 2j]), np.complex64([1 + 3j])),
    (np.int32([100_000_000]), np.int32([100_000_001]))])
def test_results_that_differ_are_seen(tmp_path, got, wanted):
    aot.compile(lambda x: x, got, name="same").save(tmp_path / "same.tercel")
    np.save(tmp_path / "got.npy", got)
    np.save(tmp_path / "wanted.npy", wanted)
    assert "is not that of" in tool(
        RUN, tmp_path / "same.tercel", "--procedure=same", f"--input=x={tmp_path / 'got.npy'}",
        f"--expect=result={tmp_path / 'wanted.npy'}", fails=True)


@pytest.mark.skipif(RUN is None, reason="tercel-run was not built")
def test_a_saved_program_may_have_any_bytes_in_it(tmp_path):
    words = np.frombuffer(b"module @" * 64, np.uint8)
    data = jax.export.export(jax.jit(lambda x: x + words))(np.zeros(512, np.uint8))
    (tmp_path / "words.mlirbc").write_bytes(data.mlir_module_serialized)
    tool(RUN, tmp_path / "words.mlirbc", f"--save={tmp_path / 'words.tercel'}")
    assert b"module @" in (tmp_path / "words.tercel").read_bytes()
    assert "native:" in tool(RUN, tmp_path / "words.tercel")


def test_altered_exported_files_are_refused(tmp_path):
    file = exported().serialize()
    for at, by in itertools.product(range(80), (0x80, 0xf4)):
        changed = bytearray(file)
        changed[at] ^= by
        (tmp_path / "changed.export").write_bytes(changed)
        done = subprocess.run([AOT, tmp_path / "changed.export", f"--artifact={tmp_path / 'out'}"],
                              capture_output=True, text=True)
        assert done.returncode in (0, 1), (at, done)


def test_an_artifact_has_its_names(tmp_path):
    path = tmp_path / "f.tercel"
    aot.compile(lambda x: x, np.float32(1), name="f").save(path)
    for flag in ("--name=g", "--procedure=g"):
        assert "an artifact has its names" in tool(AOT, path, "-o", tmp_path, flag, fails=True)


def test_an_artifact_whose_weights_lie_apart(tmp_path):
    path, weights = tmp_path / "f.tercel", tmp_path / "f.weights"

    class Scaled(Program):
        _w = jnp.arange(1000.0)

        def run(self, x=Program.like(np.float32(1))):
            return self._w * x

    Program.get_compiled_artifact(Scaled).save(path, weights_path=weights)
    assert "--weights" in tool(AOT, path, "-o", tmp_path, fails=True)
    tool(AOT, path, "-o", tmp_path, f"--weights={weights}", f"--artifact={tmp_path / 'whole'}")
    np.testing.assert_array_equal(tercel.load(tmp_path / "whole").run(np.float32(2)),
                                  2 * np.arange(1000.0, dtype=np.float32))


def test_the_library_of_an_artifact_for_other_cpus(tmp_path):
    path = tmp_path / "f.tercel"
    aot.compile(function, X, Y).save(path)
    tool(AOT, path, "-o", tmp_path / "out", "--targets=x86-64-v3,x86-64-v2", "--side-file")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "function.so", "function.a", "function.h", "function.hpp", "function.cmake",
        "function.weights", "tercel_program.h"}
