"""Every command and snippet of docs/aot.md, in its order, in a folder of its own."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tercel.library import library_path

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "aot.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
LIBRARY = pathlib.Path(library_path()).resolve()
TOOLS = [folder for folder in (LIBRARY.parent / "aot", LIBRARY.parents[1] / "tools")
         if folder.is_dir()]

pytestmark = [pytest.mark.native, pytest.mark.skipif(
    not (shutil.which("cc") and shutil.which("cmake")), reason="needs a compiler and CMake")]

# What the guide's short examples take for granted.
NET = """
import jax
import numpy as np
import tercel
from tercel.aot import Program

class Net(Program):
    _params = {"dense": [np.ones((4, 2), np.float32), np.zeros(2, np.float32)]}

    def update(self, batch=Program.like({"x": np.zeros((8, 4), np.float32),
                                         "y": np.zeros((8, 2), np.float32)})):
        self._params["dense"][1] = self._params["dense"][1] + (batch["y"] - 1).mean(0)

    def run(self, x=Program.like(np.zeros(4, np.float32))):
        weights, height = self._params["dense"]
        return x @ weights + height

    def predict(self, x=Program.like(np.zeros((1, 4), np.float32), "batch, _", batch=(1, 8))):
        weights, height = self._params["dense"]
        return x @ weights + height
"""
HOST = """
#include "net.h"
void try_it(tercel_parallel_for_fn run_tasks, void* memory, size_t size,
            void* (*a)(void*, size_t, size_t), void (*r)(void*, void*),
            tercel_custom_call_fn serve) {
  net* instance;
"""


def block(number, kind):
    assert len(BLOCKS) == 14, "the guide has other blocks than this test runs"
    found, text = BLOCKS[number]
    assert found == kind
    return text


def run(folder, *command):
    """In an environment that has what finds Tercel, and a path."""
    kept = ("PYTHONPATH", "PJRT_TERCEL_LIBRARY", "LD_LIBRARY_PATH")
    path = [pathlib.Path(sys.executable).parent, *TOOLS, "/usr/bin", "/bin"]
    environment = {"HOME": str(folder), "PATH": os.pathsep.join(map(str, path))}
    environment |= {name: os.environ[name] for name in kept if name in os.environ}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def python(folder, *parts):
    return run(folder, "python", "-c", "\n".join(parts))


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """A folder in which line.py was written and run, and what it printed."""
    folder = tmp_path_factory.mktemp("line")
    (folder / "line.py").write_text(block(0, "python"))
    (folder / "main.c").write_text(block(3, "c"))
    return folder, run(folder, "python", "line.py")


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """A folder with the saved program that the short examples speak of."""
    folder = tmp_path_factory.mktemp("net")
    np.save(folder / "x.npy", np.ones((8, 4), np.float32))
    np.save(folder / "y.npy", np.full((8, 2), 4, np.float32))
    python(folder, NET, "artifact = Program.get_compiled_artifact(Net)",
           "artifact.save('net.tercel'); artifact.save_library('out')",
           "exported = jax.export.export(jax.jit(jax.numpy.tanh))(np.float32(1))",
           "open('model.mlirbc', 'wb').write(exported.mlir_module_serialized)")
    return folder


def close(text, wanted):
    assert abs(float(text) - wanted) < 1e-4


def test_the_class(line):
    folder, printed = line
    said = re.search(r"# (\{'y'.*)", block(0, "python"))[1]
    number = r"\d+\.\d+"
    assert re.sub(number, "?", printed.strip()) == re.sub(number, "?", said)
    close(re.search(number, printed)[0], float(re.search(number, said)[0]))
    assert {path.name for path in (folder / "out").iterdir()} == {
        pathlib.Path(name).name for name in block(1, "").split()}
    header = " ".join((folder / "out" / "line.h").read_text().split())
    for declaration in block(2, "c").strip().split(";\n"):
        assert " ".join(declaration.strip(";").split()) in header


def test_the_program_in_c(line):
    folder, _ = line
    commands = block(4, "sh").splitlines()
    assert len(commands) == 2
    for command in commands:
        (folder / "line.state").unlink(missing_ok=True)
        printed = run(folder, "sh", "-c", command)
        close(printed.split(",")[0], 7)
        assert (folder / "line.state").is_file()
    include, target, static = re.search(
        r"With CMake: `(.*?)`, then `(.*?)` or `(.*?)`", GUIDE).groups()
    for link in (target, target.replace("tercel::line", static)):
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(main C CXX)\n"
            f"{include}\n{include}\nadd_executable(main main.c)\n{link}\n")
        run(folder, "cmake", "-S", ".", "-B", "build")
        run(folder, "cmake", "--build", "build")
        close(run(folder, "build/main").split(",")[0], 7)


@pytest.mark.skipif(not (shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")),
                    reason="needs aarch64-linux-gnu-gcc and qemu-aarch64")
def test_for_arm(line):
    folder, _ = line
    python(folder, "from line import Line, Program", block(7, "python"))
    close(run(folder, "sh", "-ec", block(8, "sh")).split(",")[0], 7)


def test_an_instance_in_python(tmp_path):
    printed = python(tmp_path, NET, "x = np.ones(4, np.float32)", block(5, "python"),
                     "print(net.run(x).tolist())")
    assert printed == "[4.0, 4.0]\n"


def test_saving(tmp_path):
    printed = python(tmp_path, NET, "from jax.numpy import tanh as function",
                     "example_arguments = [np.zeros(3, np.float32)]", block(6, "python"),
                     "print(artifact.info)")
    assert re.search(r"tanh\(\w+: float32\[3\]\) -> ", printed)


def test_loading(net):
    printed = python(
        net, "import sys; sys.modules['jax'] = None", "import numpy as np",
        "x, y = np.ones((8, 4), np.float32), np.full((8, 2), 3, np.float32)",
        "tree, path = {'dense': [np.ones((4, 2), np.float32), np.ones(2, np.float32)]}, 'state'",
        block(9, "python"), "print(net.run(x[0]).tolist(), other.predict(x[:1]).tolist())",
        "print(net.procedures['run'](x[0]).tolist(), net.globals['params.dense.0'].shape)")
    assert printed == "[5.0, 5.0] [[4.0, 4.0]]\n[5.0, 5.0] (4, 2)\n"


def test_options_of_an_instance(net):
    (net / "host.c").write_text(HOST + block(10, "c") + "}\n")
    run(net, "cc", "-Wall", "-Werror", "-c", "host.c", "-Iout", "-o", "host.o")


@pytest.mark.skipif(not any((folder / "tercel-run").is_file() for folder in TOOLS),
                    reason="the tools were not built")
def test_tools(net):
    printed = run(net, "sh", "-ec", block(11, "sh"))
    assert "result: agrees with y.npy" in printed and "of 100 calls" in printed
    assert (net / "out" / "model.so").is_file()
    python(net, "import jax, jax.numpy as jnp", block(12, "python"))
    assert "agree on 1 results" in run(net, "sh", "-ec", block(13, "sh"))
    for name, function in (("model", "model_run_b8("), ("plain", "plain_run_1x4(")):
        assert function in (net / "out" / f"{name}.h").read_text()
