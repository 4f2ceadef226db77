"""What a saved program takes of its host: threads, memory, room on the disk."""

import ctypes
import gc
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import tercel
from tercel import abi, aot

pytestmark = pytest.mark.native

TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL_FOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, TASK,
                                ctypes.c_void_p)


class Options(ctypes.Structure):
    """tercel_instance_options, to where the memory begins."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("num_threads", ctypes.c_int32),
                ("parallel_for", PARALLEL_FOR), ("parallel_for_data", ctypes.c_void_p)]


def product(x, y):
    import jax.numpy as jnp
    return jnp.tanh(x @ y), jnp.exp(x).sum()


def buffers(arrays):
    return (abi.Buffer * len(arrays))(*(abi.Buffer(a.ctypes.data, a.nbytes) for a in arrays))


def run(program, options, arguments):
    library = abi.library()
    instance = ctypes.c_void_p()
    abi.check(library.tercel_instance_create(program, ctypes.byref(options) if options else None,
                                             ctypes.byref(instance)))
    results = [np.zeros((300, 200), np.float32), np.zeros((), np.float32)]
    for _ in range(2):
        abi.check(library.tercel_instance_call(instance, 0, buffers(arguments), 2,
                                               buffers(results), 2))
    library.tercel_instance_destroy(instance)
    return results


def test_the_hosts_threads_run_the_tasks():
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal((300, 400), dtype=np.float32),
                 rng.standard_normal((400, 200), dtype=np.float32)]
    artifact = aot.compile(product, *arguments).to_bytes()
    program = ctypes.c_void_p()
    abi.check(abi.library().tercel_program_load(artifact, len(artifact), None,
                                                ctypes.byref(program)))
    loops = []

    def parallel_for(_, tasks, grain, task, context):
        loops.append((tasks, grain))
        step = max(grain, tasks // 3)
        starts = list(range(0, tasks - step + 1, step)) or [0]
        ends = starts[1:] + [tasks]
        threads = [threading.Thread(target=task, args=(context, begin, end))
                   for begin, end in zip(reversed(starts), reversed(ends))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    hook = PARALLEL_FOR(parallel_for)
    options = Options(ctypes.sizeof(Options), 0, hook, None)
    alone, shared = run(program, None, arguments), run(program, options, arguments)
    assert loops and all(tasks > grain > 0 for tasks, grain in loops)
    for a, b in zip(alone, shared):
        np.testing.assert_array_equal(a, b)
    abi.library().tercel_program_destroy(program)


def test_no_place_for_the_program(tmp_path):
    aot.compile(lambda x: x, np.float32(1), name="net").save_library(tmp_path)
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    library.net_error_message.restype = ctypes.c_char_p
    program = ctypes.c_void_p()
    for _ in range(2):
        assert library.net_load(None, None) == 3
        assert library.net_error_message() == b"no place for the program"
        assert library.net_load(None, ctypes.byref(program)) == 0 and program
        library.net_api.restype = ctypes.POINTER(ctypes.c_void_p * 6)
        destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.net_api().contents[5])
        destroy(program)  # it stays the library's


def test_a_librarys_functions_have_its_parts(tmp_path):
    """Before its own program is loaded, too."""
    data = aot.compile(lambda x: x.sort(), np.zeros(300, np.float32), name="sorts")
    data.save_library(tmp_path)
    data.save(tmp_path / "sorts.tercel")
    library = ctypes.CDLL(str(tmp_path / "sorts.so"))
    library.sorts_api.restype = ctypes.POINTER(ctypes.c_void_p * 6)
    functions = library.sorts_api().contents
    open_program = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(functions[4])
    program, path = ctypes.c_void_p(), ctypes.c_char_p(str(tmp_path / "sorts.tercel").encode())
    library.sorts_error_message.restype = ctypes.c_char_p
    code = open_program(path, None, ctypes.byref(program))
    assert code == 0, library.sorts_error_message()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(functions[5])(program)


def test_an_instance_of_another_program(tmp_path):
    libraries = []
    for name, size in (("small", 1), ("large", 100)):
        aot.compile(lambda x: x + 1, np.zeros(size, np.float32), name=name).save_library(tmp_path)
        libraries.append(ctypes.CDLL(str(tmp_path / f"{name}.so")))
    small, large = libraries
    instance, own = ctypes.c_void_p(), ctypes.c_void_p()
    assert large.large_create(None, ctypes.byref(instance)) == 0
    assert small.small_create(None, ctypes.byref(own)) == 0
    x, y = np.ones(1, np.float32), np.zeros(1, np.float32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, y)]
    assert small.small_small(instance, *pointers) == 3
    small.small_error_message.restype = ctypes.c_char_p
    assert small.small_error_message().endswith(b"was given an instance of large")
    assert y[0] == 0 and small.small_small(own, *pointers) == 0 and y[0] == 2
    large.large_destroy(instance)
    small.small_destroy(own)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_side_file_is_found_wherever_the_process_is(tmp_path):
    class Weights(aot.Program):
        _w = np.ones(1000, np.float32)

        def total(self):
            return self._w.sum()

    aot.Program.get_compiled_artifact(Weights).save_library(tmp_path, side_file=True)
    (tmp_path / "main.c").write_text('''
#include <unistd.h>
#include "weights.h"
int main(int count, char** words) {
  weights* instance;
  float total[16];
  if (count > 1 && chdir(words[1])) return 1;
  return weights_create(NULL, &instance) || weights_total(instance, total) || total[0] != 1000;
}
''')
    for library in ("weights.a", "weights.so"):
        subprocess.run(["cc", "main.c", library, "-o", f"on_{library}", "-lm", "-lpthread", "-ldl"],
                       cwd=tmp_path, check=True)
        for words in ([f"./on_{library}"], [f"./on_{library}", "/"], [f"on_{library}"]):
            subprocess.run(words, cwd=tmp_path, check=True,
                           env={"PATH": f"{tmp_path}", "LD_LIBRARY_PATH": "."})


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_sizes_choose_the_signature_in_cpp(tmp_path):
    class Sized(aot.Program):
        def total(self, x=aot.Program.like(np.zeros((1, 3), np.float32), "n, _", n=(1, 4))):
            return x.sum(1)

        def same(self, x=aot.Program.like(np.zeros((1, 1), np.float32), "n, 6 // n", n=(2, 3))):
            return x.sum()

    aot.Program.get_compiled_artifact(Sized).save_library(tmp_path)
    (tmp_path / "main.cc").write_text('''
#include <stdexcept>
#include <string>
#include <vector>
#include "sized.hpp"
int main() {
  sized_program::Instance program;
  std::vector<float> x(12, 2.f), y(4), one(3, 5.f), sum(1), wrong(7);
  program.total(x, y);
  program.total(one, sum);
  if (y[3] != 6 || sum[0] != 15) return 1;
  try {
    program.total(wrong, sum);
  } catch (const sized_program::Error& error) {
    if (error.code() != TERCEL_INVALID_ARGUMENT) return 3;
    const std::string message = error.what();
    return message != "total has no signature for arguments of these sizes: there are n1, n4";
  }
  return 2;
}
''')
    assert "void same(" not in (tmp_path / "sized.hpp").read_text()  # both have 6 elements
    subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "main.cc", "sized.so", "-o",
                    "main", "-Wl,-rpath,$ORIGIN"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "main"], check=True)


def test_constants_are_there_once(tmp_path):
    weights = np.linspace(0, 1, 64 * 4096, dtype=np.float32).reshape(4096, 64)

    class Layer(aot.Program):
        def run(self, x=aot.Program.like(np.zeros((1, 4096), np.float32), "n, _", n=(1, 2, 8))):
            return x @ weights

    artifact = aot.Program.get_compiled_artifact(Layer, targets="x86-64-v2,x86-64-v3")
    for side_file in (False, True):
        artifact.save_library(tmp_path, side_file=side_file)
        size = (tmp_path / "layer.so").stat().st_size
        assert size < (0 if side_file else weights.nbytes) + 500_000
    assert weights.nbytes <= (tmp_path / "layer.weights").stat().st_size < weights.nbytes + 100
    loaded, x = tercel.load(artifact.to_bytes()), np.full((2, 4096), 2, np.float32)
    again = tercel.load(aot.Program.get_compiled_artifact(Layer).to_bytes())
    np.testing.assert_allclose(loaded.run(x), x @ weights, rtol=1e-4)
    np.testing.assert_allclose(again.run(x[:1]), x[:1] @ weights, rtol=1e-4)


def threads_of_this_process():
    return {path.name for path in pathlib.Path("/proc/self/task").iterdir()}


def test_threads_of_an_instance(tmp_path):
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal((300, 400), dtype=np.float32),
                 rng.standard_normal((400, 200), dtype=np.float32)]
    artifact = aot.compile(product, *arguments)
    wanted = tercel.load(artifact.to_bytes()).product(*arguments)
    before = threads_of_this_process()
    loaded = tercel.load(artifact.to_bytes(), num_threads=3)
    own = threads_of_this_process() - before
    assert len(own) == 2
    for _ in range(3):
        for ours, theirs in zip(loaded.product(*arguments), wanted):
            np.testing.assert_array_equal(ours, theirs)
    del loaded
    gc.collect()
    assert not own & threads_of_this_process()

    artifact.save_library(tmp_path)
    library = ctypes.CDLL(str(tmp_path / "product.so"))
    instance, options = ctypes.c_void_p(), abi.InstanceOptions(num_threads=3)
    before = threads_of_this_process()
    assert library.product_create(ctypes.byref(options), ctypes.byref(instance)) == 0
    own = threads_of_this_process() - before
    assert len(own) == 2
    results = [np.zeros_like(array) for array in wanted]
    assert library.product_product(
        instance, *(ctypes.c_void_p(array.ctypes.data) for array in arguments + results)) == 0
    for ours, theirs in zip(results, wanted):
        np.testing.assert_array_equal(ours, theirs)
    library.product_destroy(instance)
    assert not own & threads_of_this_process()


def threads_of(create):
    """How many threads an instance has, the caller's included."""
    before = threads_of_this_process()
    instance = create()
    own = threads_of_this_process() - before
    del instance
    gc.collect()
    assert not own & threads_of_this_process()
    return 1 + len(own)


class OfLibrary:
    """An instance of the library product.so."""

    def __init__(self, folder, options):
        self.library = ctypes.CDLL(str(folder / "product.so"))
        self.address = ctypes.c_void_p()
        assert self.library.product_create(options and ctypes.byref(options),
                                           ctypes.byref(self.address)) == 0

    def __del__(self):
        self.library.product_destroy(self.address)


def test_threads_that_are_saved(tmp_path):
    x = np.ones((300, 400), np.float32)
    artifact = aot.compile(product, x, np.ones((400, 200), np.float32), num_threads=3)

    def loaded(source, **options):
        return threads_of(lambda: tercel.load(source, **options))

    def of_library(options=None):
        return threads_of(lambda: OfLibrary(tmp_path, options))

    assert loaded(artifact.to_bytes()) == 3
    assert loaded(artifact.to_bytes(), num_threads=1) == 1
    assert tercel.load(artifact.to_bytes()).num_threads == 3
    assert tercel.load(artifact.to_bytes(), num_threads=0).num_threads == 3
    assert "with 2 threads" in repr(tercel.load(artifact.to_bytes(), num_threads=2))
    artifact.save(tmp_path / "product.tercel", num_threads=4)
    assert loaded(tmp_path / "product.tercel") == 4
    artifact.save_library(tmp_path, num_threads=2)
    assert of_library() == 2
    assert of_library(abi.InstanceOptions(num_threads=1)) == 1
    assert of_library(abi.InstanceOptions(num_threads=5)) == 5
    said_nothing = aot.compile(product, x, x.T).to_bytes()
    assert loaded(said_nothing) == 1 and loaded(said_nothing, num_threads=2) == 2


def test_numbers_of_threads_that_there_are_not(tmp_path):
    artifact = aot.compile(lambda x: x, np.float32(1), name="same")
    for number in (0, -1, 1025):
        with pytest.raises(ValueError, match=f"is to be 1 to 1024, not {number}"):
            artifact.save(tmp_path / "same.tercel", num_threads=number)
        with pytest.raises(ValueError, match=f"not {number}"):
            aot.compile(lambda x: x, np.float32(1), num_threads=number)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="is to be 1 to 1024, not -2"):
        tercel.load(artifact.to_bytes(), num_threads=-2)


THREADS_FROM_CPP = """
#include <filesystem>
#include <iterator>
#include "product.hpp"
int main() {
  auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  tercel_instance_options options = {sizeof options};
  options.num_threads = 3;
  product_program::Instance instance(&options);
  return threads() == 3 ? 0 : 1;
}
"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_threads_from_cpp(tmp_path):
    aot.compile(product, np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)).save_library(
        tmp_path)
    (tmp_path / "main.cpp").write_text(THREADS_FROM_CPP)
    subprocess.run(["c++", "-std=c++17", "main.cpp", "product.so", "-Wl,-rpath,$ORIGIN", "-o",
                    "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 0


def test_a_small_program_is_a_small_library(tmp_path):
    aot.compile(lambda x: x + 1, np.float32(1), name="add").save_library(tmp_path)
    assert (tmp_path / "add.so").stat().st_size < 245_000


OPENED_OFTEN = """
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
int main(int count, char** words) {
  size_t before = 0;
  for (int i = 0; i < 20; ++i) {
    if (i == 10) before = mallinfo2().uordblks;
    void* library = dlopen(words[count - 1], RTLD_NOW);
    if (!library || !dlsym(library, "add_create") || dlclose(library)) return 1;
  }
  printf("%zu", mallinfo2().uordblks - before);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_library_that_is_opened_often_leaves_no_memory_behind(tmp_path):
    aot.compile(lambda x: x + 1, np.float32(1), name="add").save_library(tmp_path)
    (tmp_path / "main.c").write_text(OPENED_OFTEN)
    subprocess.run(["cc", "main.c", "-o", "main", "-ldl"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main", tmp_path / "add.so"], capture_output=True, text=True)
    assert done.returncode == 0 and int(done.stdout) < 10_000


FULL_DISK = """
import resource, signal, sys
import numpy as np
import tercel
from tercel import aot
from tercel.aot import Program

class Big(Program):
    _state = np.zeros(100_000, np.float32)
    def add(self, x=Program.like(np.float32(1))):
        self._state = self._state + x

folder = sys.argv[1]
artifact = Program.get_compiled_artifact(Big())
loaded = tercel.load(artifact.to_bytes())
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
for save in (lambda: artifact.save(folder + "/big.tercel"),
             lambda: artifact.save_library(folder + "/library"),
             lambda: artifact.save_library(folder + "/library", side_file=True),
             lambda: loaded.save_state(folder + "/state")):
    try:
        save()
    except Exception as error:
        print(type(error).__name__, error)
    else:
        print("saved")
loaded.add(1)
print(loaded.globals["state"][0])
"""


def test_a_full_disk_leaves_no_half_files(tmp_path):
    (tmp_path / "state").write_text("old")
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], text=True,
                          capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    *errors, last = done.stdout.splitlines()
    assert last == "1.0"
    assert len(errors) == 4 and all("File too large" in error for error in errors), errors
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [tmp_path / "state"] and files[0].read_text() == "old"


REALLY_FULL_DISK = """
import pathlib, shutil, sys
import numpy as np
from tercel import aot

folder = pathlib.Path(sys.argv[1])
artifact = aot.compile(lambda x: x + 1, np.float32(1), name="add")
saved = []
for left in range(0, 7500, 750):  # each file in turn is the one that there is no room for
    (folder / "filler").write_bytes(bytes(9000 - left << 10))
    try:
        artifact.save_library(folder / "library")
    except Exception as error:
        assert "No space left on device" in str(error), error
        assert not any((folder / "library").iterdir())
    else:
        saved.append(left)
        shutil.rmtree(folder / "library")
assert saved and saved[0] > 1000, saved
"""


def test_a_disk_that_becomes_full(tmp_path):
    def inside(*words):
        return subprocess.run(
            ["unshare", "--map-root-user", "--mount", "sh", "-ec",
             'mount -t tmpfs -o size=9000k tmpfs "$1"; shift; "$@"', "sh", tmp_path, *words],
            text=True, capture_output=True, timeout=300)

    if shutil.which("unshare") is None or inside("true").returncode != 0:
        pytest.skip("needs a file system of its own")
    done = inside(sys.executable, "-c", REALLY_FULL_DISK, tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_pipe_stays_a_pipe(tmp_path):
    artifact = aot.compile(lambda x: x + 1, np.float32(1))
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    artifact.save(tmp_path / "pipe")
    reader.join()
    assert got == [artifact.to_bytes()] and (tmp_path / "pipe").is_fifo()


def test_one_library_saved_by_two_threads(tmp_path):
    artifacts = [aot.compile(lambda x: x + 1, np.float32(1), name="add") for _ in range(2)]
    errors = []

    def save(artifact):
        try:
            for _ in range(5):
                artifact.save_library(tmp_path)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(artifact,)) for artifact in artifacts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and not list(tmp_path.glob(".*"))
