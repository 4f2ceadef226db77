"""What lets people see inside: dumps, the tools that read them, checked runs."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tercel

TOOLS = pathlib.Path(tercel.library_path()).resolve().parent.parent / "tools"
PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
x = np.arange(12, dtype=np.float32).reshape(3, 4)
print(float(jax.jit(lambda a: jnp.tanh(a @ a.T).sum() + jnp.sin(a).max())(x)))
"""


def run(*arguments, **environment):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True,
                          timeout=300, env={**os.environ, **environment})


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dump")
    # A level whose kernels all go through LLVM's own IR.
    done = run(sys.executable, "-c", PROGRAM, JAX_PLATFORMS="tercel", TERCEL_DUMP=str(folder),
               TERCEL_EVAL="0", TERCEL_CPU="x86-64-v2")
    assert done.returncode == 0, done.stderr
    return next(path for path in sorted(folder.iterdir()) if (path / "input.mlirbc").exists())


@pytest.fixture(scope="module")
def tools():
    if not TOOLS.is_dir():
        pytest.skip("the library does not lie in a build folder")
    return TOOLS


def test_a_dump_has_every_stage(dump):
    names = " ".join(sorted(path.name for path in dump.iterdir()))
    for stage in ("00_input", "plan", "kernel", "llvm", "asm"):
        assert stage in names


def test_opt_reads_what_was_dumped(dump, tools):
    text = run(tools / "tercel-opt", "--none", dump / "input.mlirbc")
    assert text.returncode == 0 and "dot_general" in text.stdout, text.stderr
    again = run(tools / "tercel-opt", "--verify", dump / "00_input.txt")
    assert again.returncode == 0 and "module @jit" in again.stdout, again.stderr
    assert "plan" in run(tools / "tercel-opt", "--plan", dump / "input.mlirbc").stdout


def test_run_compares_with_the_evaluator(dump, tools, tmp_path):
    x = np.arange(12, dtype=np.float32).reshape(3, 4) / 20
    np.save(tmp_path / "x.npy", x)
    done = run(tools / "tercel-run", f"--input={tmp_path}/x.npy", f"--save={tmp_path}/p.tercel",
               dump / "input.mlirbc")
    assert done.returncode == 0 and "agree on 1 results" in done.stdout, done.stderr
    got = done.stdout.split("result 0: f32[] ")[1].split()[0]
    np.testing.assert_allclose(float(got), np.tanh(x @ x.T).sum() + np.sin(x).max(),
                               rtol=1e-5)
    saved = run(tools / "tercel-run", "--native", f"--input={tmp_path}/x.npy",
                tmp_path / "p.tercel")
    assert saved.stdout.splitlines()[-1] in done.stdout, saved.stderr


def test_the_tools_refuse_with_a_message(tools, tmp_path):
    (tmp_path / "bad.txt").write_text("module @m {\n  what\n}\n")
    for arguments in (["tercel-opt", "/no/such/file"], ["tercel-opt", "--no-such-flag", "-"],
                      ["tercel-opt", tmp_path / "bad.txt"], ["tercel-run", tmp_path / "bad.txt"],
                      ["tercel-opt", "--pass=nothing", tmp_path / "bad.txt"],
                      ["tercel-run", "x" * 5000], ["tercel-reduce", "x" * 5000]):
        done = run(tools / arguments[0], *arguments[1:])
        assert done.returncode == 1 and done.stderr.startswith(f"{arguments[0]}: ")


def test_a_checked_run():
    done = run(sys.executable, "-c", PROGRAM, JAX_PLATFORMS="tercel", TERCEL_CHECK="1",
               TERCEL_EVAL="0")
    plain = run(sys.executable, "-c", PROGRAM, JAX_PLATFORMS="tercel", TERCEL_EVAL="0")
    assert done.returncode == 0 and done.stdout == plain.stdout, done.stderr


def test_kernels_outlive_the_process(tmp_path):
    def answer(folder):
        done = run(sys.executable, "-c", PROGRAM, JAX_PLATFORMS="tercel", TERCEL_EVAL="0",
                   TERCEL_CACHE_DIR=str(folder))
        assert done.returncode == 0, done.stderr
        return done

    folder = tmp_path / "kernels"
    first = answer(folder)
    kept = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert kept and answer(folder).stdout == first.stdout
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == kept
    for path in kept:
        path.write_bytes(path.read_bytes()[:100])
    assert answer(folder).stdout == first.stdout
    refused = answer("/proc/no-such-folder")
    assert refused.stdout == first.stdout and "/proc/no-such-folder" in refused.stderr


REPLACED = """
import os, jax
jax.devices()
os.remove(os.environ["PJRT_TERCEL_LIBRARY"])
"""


def test_kernels_of_a_library_that_is_gone_are_not_kept(tmp_path):
    library, folder = tmp_path / "library.so", tmp_path / "kernels"
    shutil.copy(tercel.library_path(), library)
    done = run(sys.executable, "-c", REPLACED + PROGRAM, JAX_PLATFORMS="tercel", TERCEL_EVAL="0",
               TERCEL_CACHE_DIR=str(folder), PJRT_TERCEL_LIBRARY=str(library))
    assert done.returncode == 0, done.stderr
    assert "moved or removed" in done.stderr and not any(tmp_path.iterdir())


def test_perf_learns_the_names_of_generated_code():
    done = run(sys.executable, "-c", PROGRAM + "import os; print(os.getpid())",
               JAX_PLATFORMS="tercel", TERCEL_EVAL="0", TERCEL_PERF="1")
    assert done.returncode == 0, done.stderr
    names = pathlib.Path(f"/tmp/perf-{done.stdout.split()[-1]}.map")
    try:
        lines = [line.split() for line in names.read_text().splitlines()]
        assert any(name.startswith("tercel_") for _, _, name in lines)
        assert all(int(address, 16) > 0 and int(size, 16) > 0 for address, size, _ in lines)
    finally:
        names.unlink(missing_ok=True)
