"""Names that mean something else in C or C++, and names that become the same there."""

import re
import shutil
import subprocess

import jax.numpy as jnp
import numpy as np
import pytest

import tercel as package
from tercel import aot
from tercel.aot import Program

pytestmark = [pytest.mark.native,
              pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")]

PAIR = jnp.ones(2, jnp.uint8)
PROCEDURES = ("const", "new", "new_", "private", "co_await", "requires", "xor", "operator",
              "this", "errno", "linux", "uint8_t", "get", "setGlobal", "check", "Array",
              "Instance", "Error", "handle_", "instance", "main", "namespace")
ARGUMENTS = ("uint8_t", "instance", "check", "Array", "handle", "handle_", "NULL", "template",
             "concept", "std", "result", "program", "I", "EOF", "NAN", "stdin", "complex", "_Bool",
             "__x86_64__")
HEADERS = ("complex.h", "errno.h", "math.h", "stdio.h", "stdnoreturn.h", "unistd.h")
MAIN = """
#include <array>
#include "awkward.hpp"
int main() {
  awkward_program::Instance program;
  std::array<uint8_t, 2> x{3, 4}, result{};
  program.const_(x, result);
  if (result[1] != 5) return 1;
  program.handle__(x, result);
  if (result[1] != 23) return 2;
  program.get_(x, result);
  if (result[0] != 16) return 3;
  const uint8_t row[2] = {5, 6};
  uint8_t rows[2][1] = {};
  program.const_(row, rows);
  return rows[1][0] == 7 ? 0 : 4;
}
"""


def plus(number):
    return lambda self, x=Program.like(PAIR): x + number * self._ones["a.b"]


def awkward():
    """Procedure number i adds i + 1."""
    members = {name: plus(number + 1) for number, name in enumerate(PROCEDURES)}
    members["_ones"] = {name: jnp.ones(2, jnp.uint8)
                        for name in ("a.b", "a_b", "a b2", "a-b", "while")}
    given = ", ".join(f"{name}=pair" for name in ARGUMENTS)
    exec(f"def run(self, {given}): return {{'return': {' + '.join(ARGUMENTS)}, 'x y': [NULL]}}",
         {"pair": Program.like(PAIR)}, members)
    return type("Awkward", (Program,), members)


def check_syntax(header, *options):
    subprocess.run(["c++", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Wconversion",
                    "-pedantic", "-Werror", *options, "-include", header, "/dev/null"], check=True)


def test_headers_are_right(tmp_path):
    Program.get_compiled_artifact(awkward()).save_library(tmp_path)
    for standard in ("c11", "gnu17"):
        others = [word for name in HEADERS for word in ("-include", name)]
        check_syntax(tmp_path / "awkward.h", "-xc", f"-std={standard}", *others)
    for standard in ("c++17", "gnu++20"):
        check_syntax(tmp_path / "awkward.hpp", "-xc++", f"-std={standard}")
    (tmp_path / "main.cpp").write_text(MAIN)
    subprocess.run(["c++", "-std=c++17", "main.cpp", "awkward.so", "-Wl,-rpath,$ORIGIN", "-o",
                    "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 0


def macros_of(*command):
    """Name -> whether it has parameters; what begins with an underscore is the compiler's."""
    done = subprocess.run([*command, "-dM", "-E"], capture_output=True, text=True, check=True)
    found = re.findall(r"^#define ([a-zA-Z]\w*)(\(?)", done.stdout, re.MULTILINE)
    return {name: bool(parameters) for name, parameters in found}


def test_macros_of_the_headers(tmp_path):
    plain = aot.compile(lambda x: x, np.float32(1), name="plain")
    plain.save_library(tmp_path)
    macros = macros_of("c++", "-xc++", tmp_path / "plain.hpp")
    macros |= macros_of("cc", "-xc", tmp_path / "plain.h")
    assert {"INT8_MAX", "EDOM", "errno", "SEEK_SET"} <= set(macros)
    members = {name: plus(1) for name, has_parameters in macros.items() if has_parameters}
    members["_ones"] = {"a.b": jnp.ones(2, jnp.uint8)}
    given = ", ".join(f"{name}=pair" for name in macros)
    exec(f"def run(self, {given}): return INT8_MAX", {"pair": Program.like(PAIR)}, members)
    Program.get_compiled_artifact(type("Macros", (Program,), members)).save_library(tmp_path)
    check_syntax(tmp_path / "macros.h", "-xc", "-std=gnu17")
    check_syntax(tmp_path / "macros.hpp", "-xc++", "-std=gnu++20")


def headers_of_the_c_library():
    listed = subprocess.run(["dpkg", "-L", "libc6-dev"], capture_output=True, text=True).stdout
    return re.findall(r"^/usr/include/([a-z_0-9]+)\.h$", listed, re.MULTILINE)


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="not Debian")
def test_headers_of_the_c_library(tmp_path):
    for name in (*headers_of_the_c_library(), "float", "iso646", "stdbool", "cpuid", "immintrin"):
        with pytest.raises(ValueError, match=f"a library cannot be called {name}"):
            aot.compile(lambda x: x, np.float32(1), name=name).save_library(tmp_path)


def test_keys_that_comments_cannot_hold(tmp_path):
    values = {"*/ int evil; /*": np.float32(1), "a\nb\\": np.float32(2), "*/*/": np.float32(3)}
    members = {"_values": values, "run": lambda self, x=Program.like(values): x}
    Program.get_compiled_artifact(type("Net", (Program,), members)).save_library(tmp_path)
    check_syntax(tmp_path / "net.h", "-xc", "-std=c11")
    check_syntax(tmp_path / "net.hpp", "-xc++", "-std=c++17")
    assert "evil;" in (tmp_path / "net.h").read_text()


def test_headers_tell_what_a_value_is_called(tmp_path):
    x = {"a b": np.float32(1), "größe": np.ones(2, np.float32), "same": np.float32(3)}
    aot.compile(lambda x: x["a b"], x, name="net").save_library(tmp_path)
    header = (tmp_path / "net.h").read_text()
    for line in ("x_a_b /* x.a b: f32[] */", "x_gr_e /* x.größe: f32[2] */",
                 "x_same /* x.same: f32[] */", "result /* f32[] */"):
        assert line in header


def test_what_stands_in_the_way_of_one_file_stops_all(tmp_path):
    artifact = aot.compile(lambda x: x, np.float32(1), name="net")
    (tmp_path / "net.hpp").mkdir()
    with pytest.raises(Exception, match="cannot write .*net.hpp: Is a directory"):
        artifact.save_library(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["net.hpp"]


@pytest.mark.parametrize("name", ["class", "int", "co_yield", "main", "std", "errno", "uint8_t",
                                  "exp", "time", "printf", "FILE", "math", "string", "complex",
                                  "pthread", "spawn", "elf", "float", "EDOM", "INT8_MAX",
                                  "tercel_program"])
def test_names_that_a_library_cannot_have(tmp_path, name):
    artifact = aot.compile(lambda x: x, np.float32(1), name=name)
    with pytest.raises(ValueError, match=f"a library cannot be called {name}[,:] "):
        artifact.save_library(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_procedure_called_program(tmp_path):
    members = {"program": lambda self, x=Program.like(PAIR): x}
    with pytest.raises(ValueError, match="a namespace net_program of its own: the procedure pro"):
        Program.get_compiled_artifact(type("Net", (Program,), members)).save_library(tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_empty_key_is_a_place_of_its_own():
    class Net(Program):
        _g = {"": jnp.zeros(2), "b": jnp.ones(2)}

        def run(self):
            return self._g

    artifact = Program.get_compiled_artifact(Net)
    loaded = package.load(artifact.to_bytes())
    assert [known.name for known in Program.get_info(Net).globals] == ["g.", "g.b"]
    loaded.globals["g"] = {"": np.float32([1, 2]), "b": np.float32([3, 4])}
    np.testing.assert_array_equal(loaded.run()[""], [1, 2])
