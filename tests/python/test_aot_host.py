"""What a saved program takes of its host: threads, memory, room on the disk."""

import ctypes
import subprocess
import sys
import threading

import numpy as np
import pytest

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
