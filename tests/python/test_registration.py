"""How Tercel shows itself to JAX; each case is a fresh process with its own environment."""

import os
import subprocess
import sys

import jax
import pytest

import tercel as package
import tercel.library


def run(program, **environment):
    """The outcome of a Python program with these variables; None unsets one."""
    env = {**os.environ, **{k: v for k, v in environment.items() if v is not None}}
    for key, value in environment.items():
        if value is None:
            env.pop(key, None)
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True,
                          text=True, timeout=300)


def test_the_device_says_tercel(tercel, cpu):
    assert tercel.platform == "cpu" and "ercel" in tercel.device_kind
    assert "Tercel" in tercel.client.platform_version
    assert tercel != cpu and "ercel" not in cpu.device_kind
    assert jax.devices()[0] == tercel


def test_installed_is_not_chosen():
    done = run("import jax; print(jax.devices()[0].device_kind, '/', "
               "jax.devices('tercel')[0].device_kind)", JAX_PLATFORMS=None)
    assert done.returncode == 0, done.stderr
    default, other = done.stdout.split("/")
    assert "ercel" not in default and "ercel" in other
    assert "experimental" not in done.stderr


@pytest.mark.parametrize("how", ["environment", "config", "list"])
def test_the_ways_to_choose_it(how):
    program = "import jax\n"
    if how == "config":
        program += "jax.config.update('jax_platforms', 'tercel')\n"
    program += "assert 'ercel' in jax.devices()[0].device_kind\n"
    program += "assert 'ercel' not in jax.devices('cpu')[0].device_kind\n"
    program += "assert jax.jit(lambda x: x + 1)(41) == 42\n"
    platforms = {"environment": "tercel", "config": None, "list": "cpu,tercel"}[how]
    if how == "list":
        program = program.replace("jax.devices()", "jax.devices('tercel')")
    done = run(program, JAX_PLATFORMS=platforms)
    assert done.returncode == 0, done.stderr


@pytest.mark.native
def test_a_lower_cpu_has_no_more_than_its_vectors(tmp_path):
    program = "import jax; print(jax.jit(lambda x: (x * 2).sum())(jax.numpy.ones(1000)))"
    for cpu, register in (("x86-64-v2", "xmm"), ("x86-64-v3", "ymm")):
        folder = tmp_path / cpu
        done = run(program, TERCEL_CPU=cpu, TERCEL_DUMP=str(folder))
        assert done.stdout == "2000.0\n", done.stderr
        code = "".join(path.read_text() for path in folder.rglob("*_asm.txt"))
        wider = {"xmm": ("ymm", "zmm"), "ymm": ("zmm",)}[register]
        assert register in code and not any(other in code for other in wider)


@pytest.mark.parametrize("cpu, words", [
    ("x86-64-v9", "unknown target x86-64-v9; known are native"),
    ("aarch64", "this machine is x86-64"),
    ("bdver2", "this machine lacks fma4")])
def test_a_cpu_that_this_one_is_not(cpu, words):
    done = run("import jax; jax.devices()", TERCEL_CPU=cpu)
    assert done.returncode != 0 and f"option cpu = '{cpu}'" in done.stderr, done.stderr
    assert words in done.stderr


def test_a_missing_library_does_not_break_others():
    done = run("import jax; print(jax.jit(lambda x: x + 1)(1))", JAX_PLATFORMS=None,
               PJRT_TERCEL_LIBRARY="/no/such/library.so")
    assert done.returncode == 0 and done.stdout.strip() == "2", done.stderr
    assert done.stderr == ""


def test_a_missing_library_is_named_to_those_who_ask():
    done = run("import jax; jax.devices()", JAX_PLATFORMS="tercel",
               PJRT_TERCEL_LIBRARY="/no/such/library.so")
    assert done.returncode != 0
    assert "PJRT_TERCEL_LIBRARY names /no/such/library.so" in done.stderr


def test_a_bad_setting_is_named():
    done = run("import jax; jax.devices()", JAX_PLATFORMS="tercel", TERCEL_NUM_THREADS="many")
    assert done.returncode != 0
    assert "TERCEL_NUM_THREADS" in done.stderr


def test_a_bad_setting_does_not_break_others():
    done = run("import jax; print(jax.jit(lambda x: x + 1)(1))", JAX_PLATFORMS=None,
               TERCEL_NUM_THREADS="many")
    assert done.returncode == 0 and done.stdout.strip() == "2", done.stderr


def test_options_from_python():
    done = run("import tercel, jax; tercel.set_options(num_devices=3); "
               "print(len(jax.devices()))", JAX_PLATFORMS="tercel")
    assert done.returncode == 0 and done.stdout.strip() == "3", done.stderr


def test_an_unknown_option_is_named():
    done = run("import tercel, jax; tercel.set_options(no_such=3); jax.devices()",
               JAX_PLATFORMS="tercel")
    assert done.returncode != 0 and "no_such" in done.stderr


FLUSHED = """
import os
os.environ["JAX_PLATFORMS"] = "tercel"
import jax, jax.numpy as jnp, numpy as np
tiny = np.float32(1e-40)

def seen(x):
    assert np.float32(x) * np.float32(3) > 0, "callbacks keep them"
    return np.float32(1)

triple = jax.jit(lambda x: x * 3)
for size in (1, 3_000_000):
    got = np.asarray(triple(np.full(size, -tiny)))
    assert not got.any() and np.signbit(got).all()
assert jax.jit(lambda x: jax.pure_callback(seen, jnp.float32(0), x) * x)(tiny) == 0
assert tiny * np.float32(3) > 0, "the caller's own arithmetic keeps them"
"""


def test_subnormals_flushed_on_demand():
    done = run(FLUSHED, TERCEL_FLUSH_SUBNORMALS="1")
    assert done.returncode == 0, done.stderr
    kept = run(FLUSHED, TERCEL_FLUSH_SUBNORMALS="0")
    assert "AssertionError" in kept.stderr


@pytest.mark.parametrize("from_environment", [False, True])
def test_views_that_outlive_what_jax_drops_at_exit(tmp_path, from_environment):
    (tmp_path / "kept.py").write_text(
        "import jax, numpy as np\ndef f(x): return x + 1\n"
        "P = {'view': (f, (jax.nn.softmax(np.ones((60, 60), np.float32)).__array__(),))}\n")
    path = str(package.library.library_path())
    names = f"tercel:{path}" if from_environment else None
    done = run(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport jax\n"
               "from kept import f, P\nimport numpy as np\n"
               "x = jax.device_put(np.ones((8, 8), np.float32), jax.devices('tercel')[0])\n"
               "jax.block_until_ready(jax.jit(lambda *a: f(*a))(x))",
               MALLOC_PERTURB_="165", JAX_PLATFORMS="tercel", PJRT_NAMES_AND_LIBRARY_PATHS=names)
    assert done.returncode == 0, done.stderr


def test_from_dlpack_gives_arrays_of_the_default_device():
    result = run("""
import jax, jax.numpy as jnp, numpy as np
device = jax.devices()[0]
ours = jnp.from_dlpack(np.arange(32, dtype=np.float32))
again = jnp.from_dlpack(ours)
assert again.unsafe_buffer_pointer() == ours.unsafe_buffer_pointer()
unaligned = [jnp.from_dlpack(np.arange(5, dtype=dtype)[1:], copy=copy)
             for dtype in ("float32", "float64", "int8") for copy in (None, True)]
print({ours.device, again.device, (ours + jax.device_put(again, device)).device,
       *(x.device for x in unaligned)} == {device},
      np.from_dlpack(again).sum(), [float((x + x).sum()) for x in unaligned])
""", JAX_PLATFORMS="tercel")
    assert result.stdout == "True 496.0 " + str([20.0] * 6) + "\n", result.stderr


def test_functions_of_floats_of_8_bits_that_jaxlib_cannot_write_for_plugins():
    result = run("""
import jax, jax.numpy as jnp
from jax import lax
x = jnp.asarray([-1, 0, 0.5, 2], "float8_e4m3fn")
for function in (lax.erf, lax.erfc, lax.bessel_i1e, lambda x: jax.nn.gelu(x, approximate=False)):
    ours, wide = jax.jit(function)(x), jax.jit(function)(x.astype("float32"))
    assert jnp.allclose(ours.astype("float32"), wide, rtol=0.07, atol=0.01), (ours, wide)
print("done")
""", JAX_PLATFORMS="tercel")
    assert result.stdout == "done\n", result.stderr
