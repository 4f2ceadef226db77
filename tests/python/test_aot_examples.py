"""The examples: what was saved runs from C and C++ as in Python, with nothing around it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "aot"
NAMES = ("digits", "gpt", "orbit")
# What a library may need: the C library's own parts.
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}

pytestmark = [pytest.mark.native, pytest.mark.skipif(
    not (shutil.which("cc") and shutil.which("c++") and shutil.which("cmake")),
    reason="needs a compiler and CMake")]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def with_examples():
    """This environment, in which Python finds the scripts."""
    path = os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The libraries' folder, and what each script printed last."""
    folder = tmp_path_factory.mktemp("libraries")
    return folder, {name: run(sys.executable, EXAMPLES / f"{name}.py", folder)[-1]
                    for name in NAMES}


@pytest.fixture(scope="module")
def programs(saved, tmp_path_factory):
    """A folder with the programs and the libraries, and nothing else on any path."""
    build = tmp_path_factory.mktemp("build")
    run("cmake", "-S", EXAMPLES, "-B", build, f"-DLIBRARIES={saved[0]}",
        "-DCMAKE_BUILD_RPATH=$ORIGIN", "-DCMAKE_SKIP_BUILD_RPATH=OFF",
        "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON", "-DCMAKE_INSTALL_RPATH=$ORIGIN")
    run("cmake", "--build", build)
    alone = tmp_path_factory.mktemp("alone")
    for name in (*NAMES, "digits_static"):
        shutil.copy(build / name, alone)
    for path in (*saved[0].glob("*.so"), *saved[0].glob("*.bin")):
        shutil.copy(path, alone)
    return alone


def run_alone(programs, name, *arguments):
    return run(programs / name, *arguments, env={}, cwd=programs)


def test_digits_are_learned_in_c_as_in_python(saved, programs):
    wanted = saved[1]["digits"]
    right, of, count = wanted.split()
    assert of == "of" and int(right) > 0.9 * int(count)
    assert run_alone(programs, "digits")[-1] == wanted
    assert run_alone(programs, "digits_static")[-1] == wanted


def test_text_is_completed_in_cpp_as_in_python(saved, programs):
    assert saved[1]["gpt"].startswith("A kestrel hangs on the wind above the moor")
    assert run_alone(programs, "gpt") == [saved[1]["gpt"]]
    other = run_alone(programs, "gpt", "Then the")[0]
    assert other.startswith("Then the") and len(other) > len("Then the")


def test_an_orbit_through_dlopen(saved, programs):
    assert run_alone(programs, "orbit") == [saved[1]["orbit"]]
    assert saved[1]["orbit"].endswith("energy -0.279999922")


@pytest.mark.skipif(shutil.which("rustc") is None, reason="needs Rust")
def test_an_orbit_in_rust(saved, tmp_path):
    run("rustc", "-O", "-D", "warnings", EXAMPLES / "orbit.rs", "-o", tmp_path / "orbit", "-C",
        f"link-arg={saved[0]}/orbit.so", "-C", f"link-arg=-Wl,-rpath,{saved[0]}")
    assert run(tmp_path / "orbit", env={}) == [saved[1]["orbit"]]


SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.mark.parametrize("name, compiler, source, libraries", [
    ("digits", "cc", "digits.c", ["digits.so"]),
    ("digits", "cc", "digits.c", ["digits.a", "-lm"]),
    ("gpt", "c++", "gpt.cpp", ["gpt.so"]),
    ("orbit", "cc", "orbit.c", ["-ldl"]),
])
def test_examples_under_sanitizers(saved, tmp_path, name, compiler, source, libraries):
    folder, wanted = saved
    run(compiler, *SANITIZED, f"-I{folder}", EXAMPLES / source, "-o", tmp_path / name, *libraries,
        f"-Wl,-rpath,{folder}", cwd=folder)
    assert run(tmp_path / name, *(["./orbit.so"] if name == "orbit" else []), cwd=folder,
               env={})[-1] == wanted[name]


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_an_example_under_valgrind(saved, programs, tmp_path):
    """Which knows no AVX-512."""
    run(sys.executable, "-c", "import sys, orbit; from tercel.aot import Program; "
        "Program.get_compiled_artifact(orbit.OrbitProgram, targets='x86-64-v3')"
        ".save_library(sys.argv[1])", tmp_path, env=with_examples())
    assert run("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", programs / "orbit",
               tmp_path / "orbit.so")[-1] == saved[1]["orbit"]


@pytest.mark.parametrize("name", NAMES)
def test_what_libraries_need_and_give(saved, name):
    library = saved[0] / f"{name}.so"
    needed = {line.split("[")[1].rstrip("]") for line in run("readelf", "-d", library)
              if "(NEEDED)" in line}
    assert needed <= SYSTEM
    lines = run("nm", "-D", "--defined-only", library)
    defined = [line.split()[-1].split("@")[0] for line in lines]
    assert defined and all(symbol.startswith(f"{name}_") for symbol in defined)


def test_weights_in_a_file_of_their_own(saved, programs, tmp_path):
    script = ("import sys; from tercel.aot import Program; import digits; "
              "Program.get_compiled_artifact(digits.Digits).save_library(sys.argv[1], "
              "side_file=True)")
    run(sys.executable, "-c", script, tmp_path, env=with_examples())
    assert (tmp_path / "digits.weights").stat().st_size > 1_600_000
    assert (tmp_path / "digits.so").stat().st_size < 1_600_000
    for path in (programs / "digits", *programs.glob("*.bin")):
        shutil.copy(path, tmp_path)
    assert run_alone(tmp_path, "digits")[-1] == saved[1]["digits"]
    (tmp_path / "digits.weights").write_bytes(b"other")
    done = subprocess.run([tmp_path / "digits"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "weights" in done.stderr


def test_the_guide(tmp_path):
    """docs/aot.md's first class and its C program."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "docs" / "aot.md").read_text(), re.DOTALL)
    python = next(text for language, text in blocks if language == "python")
    c = next(text for language, text in blocks if "int main" in text)
    (tmp_path / "line.py").write_text(python)
    (tmp_path / "main.c").write_text(c)
    assert "6.999" in run(sys.executable, "line.py", cwd=tmp_path)[-1]
    for command in re.findall(r"^cc .*?(?= &&)", "\n".join(text for _, text in blocks), re.M):
        run("sh", "-c", command, cwd=tmp_path)
        assert run(tmp_path / "main", cwd=tmp_path, env={})[-1].startswith("7, loss ")
        (tmp_path / "main").unlink()
    assert (tmp_path / "line.state").stat().st_size > 8
