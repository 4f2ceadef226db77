"""Libraries have the runtime's kernels for the levels that they were saved for, and no others."""

import ctypes
import os
import shutil
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tercel
from tercel import aot

pytestmark = pytest.mark.native
FLAGS = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512bw"}


def everything(x, a):
    """What the runtime has kernels for: a transform, a sort, a selection, systems alone and many."""
    small = a[:5, :5] + jnp.arange(8, dtype=a.dtype)[:, None, None]
    return (jnp.fft.rfft(x), jnp.sort(x), jax.lax.top_k(x, 3)[0], jnp.linalg.solve(a, x),
            jnp.linalg.solve(small + 9 * jnp.eye(5, dtype=a.dtype), small))


def operands():
    rng = np.random.default_rng(3)
    return (rng.normal(size=24).astype(np.float32),
            (rng.normal(size=(24, 24)) + 9 * np.eye(24)).astype(np.float32))


def available(levels):
    with open("/proc/cpuinfo") as lines:
        flags = next(line for line in lines if line.startswith("flags")).split()
    return [level for level in levels if FLAGS[level] in flags]


def save(folder, name, levels, function=everything):
    aot.compile(function, *operands(), name=name, targets=",".join(levels)).save_library(folder)
    return (folder / f"{name}.so").stat().st_size


def call(folder, name, shapes):
    library = ctypes.CDLL(str(folder / f"{name}.so"))
    instance, results = ctypes.c_void_p(), [np.zeros(s.shape, s.dtype) for s in shapes]
    assert getattr(library, f"{name}_create")(None, ctypes.byref(instance)) == 0
    arrays = (*operands(), *results)
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in arrays)
    assert getattr(library, f"{name}_{name}")(instance, *pointers) == 0
    getattr(library, f"{name}_destroy")(instance)
    return results


PLUGINS = """
import sys, jax, numpy as np
sys.path.insert(0, sys.argv[1])
from test_aot_isas import everything, operands
np.savez(sys.argv[2], *jax.jit(everything)(*operands()))
"""


def test_a_level_has_its_own_kernels(tmp_path):
    """And gives what the plugin gives there."""
    shapes = jax.eval_shape(everything, *operands())
    levels = available(FLAGS)
    several = save(tmp_path, "several", levels)
    together = call(tmp_path, "several", shapes)
    for level in levels:
        name = "alone" + level[-1]
        assert save(tmp_path, name, [level]) < several - 50_000 or len(levels) == 1
        got = call(tmp_path, name, shapes)
        environment = {**os.environ, "TERCEL_CPU": level, "TERCEL_LINEAR_ALGEBRA": "own"}
        subprocess.run([sys.executable, "-c", PLUGINS, os.path.dirname(__file__),
                        tmp_path / "plugin"], check=True, env=environment)
        wanted = np.load(tmp_path / "plugin.npz")
        for i, array in enumerate(got):
            assert array.tobytes() == wanted[f"arr_{i}"].tobytes(), (level, i)
    assert [a.tobytes() for a in got] == [a.tobytes() for a in together]


def test_a_level_between_two_takes_the_lower(tmp_path):
    """Its kernels are those of the code that runs, not the best of the machine."""
    levels = available(["x86-64-v2", "x86-64-v3"])
    shapes = jax.eval_shape(everything, *operands())
    save(tmp_path, "lower", levels)
    save(tmp_path, "last", levels[-1:])
    for one, other in zip(call(tmp_path, "lower", shapes), call(tmp_path, "last", shapes)):
        assert one.tobytes() == other.tobytes()


MAIN = """
#include <stdio.h>
#include "one.h"
#include "two.h"
int main(void) {
  float x[24], y[24], a[576] = {0};
  for (int i = 0; i < 24; ++i) x[i] = (float)((7 * i) % 24);
  one* first;
  two* second;
  if (one_create(NULL, &first) || one_one(first, x, a, y)) return 1;
  printf("%g %g ", y[0], y[23]);
  if (two_create(NULL, &second) || two_two(second, x, a, y)) return 2;
  printf("%g %g", y[0], y[23]);
  one_destroy(first);
  two_destroy(second);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_static_libraries_for_different_levels_in_one_program(tmp_path):
    levels = available(FLAGS)
    save(tmp_path, "one", levels[:1], lambda x, a: jnp.sort(x))
    save(tmp_path, "two", levels[-1:], lambda x, a: -jnp.sort(-x))
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run(["cc", "main.c", "one.a", "two.a", "-o", "main", "-lm", "-lpthread", "-ldl"],
                   cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=True, capture_output=True,
                          text=True).stdout == "0 23 23 0"


# Without linear algebra first: the other's calls for more of the runtime than is there already.
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_static_libraries_with_other_parts_in_one_program(tmp_path, order):
    level = available(FLAGS)[:1]
    save(tmp_path, "one", level, lambda x, a: x + 0)
    save(tmp_path, "two", level, lambda x, a: jnp.linalg.eigvalsh(a + 1) * 0 + jnp.sort(x))
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run(["cc", "main.c", *(f"{name}.a" for name in order), "-o", "main", "-lm",
                    "-lpthread", "-ldl"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=True, capture_output=True,
                          text=True).stdout == "0 17 0 23"


def test_loaded_programs_take_the_kernels_of_their_level(tmp_path, rng):
    a = rng.standard_normal((24, 24)).astype(np.float32)

    def function(a):
        return jnp.linalg.qr(a)[0], jnp.linalg.eigvalsh(a + a.T), jnp.fft.fft(a).real

    for level in available(FLAGS):
        artifact = aot.compile(function, a, name="part", targets=level)
        artifact.save_library(tmp_path / level)
        library = ctypes.CDLL(str(tmp_path / level / "part.so"))
        instance = ctypes.c_void_p()
        assert library.part_create(None, ctypes.byref(instance)) == 0
        wanted = [np.zeros((24, 24), np.float32), np.zeros(24, np.float32),
                  np.zeros((24, 24), np.float32)]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, *wanted)]
        assert library.part_part(instance, *pointers) == 0
        library.part_destroy(instance)
        for got, bits in zip(tercel.load(artifact.to_bytes()).part(a), wanted):
            np.testing.assert_array_equal(got, bits)


@pytest.mark.parametrize("function", [lambda x, a: jnp.fft.fft(x), lambda x, a: jnp.sort(x),
                                      lambda x, a: jnp.linalg.solve(a, x)])
def test_a_part_is_small(tmp_path, function):
    assert save(tmp_path, "part", ["x86-64-v3"], function) < 305 << 10


CXX_MAIN = r"""
#include <array>
#include <atomic>
#include <iostream>
#include <memory>
#include <regex>
#include "one.hpp"
int main() {
  std::atomic<int> flag{1};
  auto name = std::make_shared<std::string>(std::to_string(12345678901234567ull));
  if (!std::regex_match(*name, std::regex("[0-9]+"))) return 1;
  flag.wait(0);
  flag.notify_all();
  one_program::Instance instance;
  std::array<float, 24> x{}, y{};
  std::array<float, 576> a{};
  for (int i = 0; i < 24; ++i) x[i] = 24 - i;
  instance.one(x, a, y);
  std::cout << y[0] << " " << y[23];
}
"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("how", [[], ["-static"]], ids=["shared", "static"])
def test_static_libraries_in_programs_that_have_libstdcxx_themselves(tmp_path, how):
    save(tmp_path, "one", available(FLAGS)[:1], lambda x, a: jnp.sort(x))
    (tmp_path / "main.cc").write_text(CXX_MAIN)
    subprocess.run(["c++", "-std=c++20", "main.cc", "one.a", "-o", "main", "-lm", "-lpthread",
                    "-ldl", *how], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=True, capture_output=True,
                          text=True).stdout == "1 24"
