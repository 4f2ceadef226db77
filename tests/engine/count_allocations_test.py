"""After its first call a saved program allocates nothing and takes no lock:
count_allocations_test.py COUNT_ALLOCATIONS PLUGIN PYTHON_FOLDER."""

import os
import pathlib
import subprocess
import sys
import tempfile

COUNT_ALLOCATIONS, PLUGIN, PYTHON_FOLDER = sys.argv[1:]
sys.path.insert(0, PYTHON_FOLDER)
os.environ["PJRT_TERCEL_LIBRARY"] = PLUGIN
os.environ["JAX_PLATFORMS"] = "tercel,cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from tercel.aot import Program  # noqa: E402

MATRIX = Program.like(np.zeros((40, 40), np.float32))
MATRICES = Program.like(np.zeros((3, 12, 9), np.float32))
LONG = Program.like(np.zeros(9000, np.float32))
KEY = Program.like(np.zeros(2, np.uint32))
HEADS = Program.like(np.zeros((1, 16, 512, 8), np.float32))


def positive(m):
    return m @ m.T + 40 * jnp.eye(len(m))


def nearest_first(x):
    return jax.lax.sort((jnp.abs(x - 0.5), x), num_keys=2)


class Quiet(Program):
    def add(self, x=LONG):
        return x + 1

    def product(self, a=MATRIX, b=MATRIX):
        return jax.nn.softmax(a @ b, axis=0).sum(1)

    def sort(self, x=LONG):
        return jnp.sort(x)

    def sort_by_function(self, a=MATRIX):
        return jnp.argsort(a, axis=0), nearest_first(a)

    def best(self, x=LONG):
        return jax.lax.top_k(x, 5)

    def fft(self, x=LONG, a=MATRIX):
        return jnp.fft.rfft(x), jnp.fft.fft2(a), jnp.fft.irfft(jnp.fft.rfft(x[:8191]), 8191)

    def eigh(self, a=MATRIX):
        return jnp.linalg.eigh(a + a.T)

    def eig(self, a=MATRIX):
        return jnp.linalg.eig(a)

    def schur(self, a=MATRIX):
        return jax.scipy.linalg.schur(a)

    def svd(self, a=MATRICES):
        return jnp.linalg.svd(a)

    def divided_svd(self, a=MATRIX):
        return jnp.linalg.svd(a)

    def solve(self, a=MATRIX, b=MATRIX):
        return jnp.linalg.solve(a, b), jax.scipy.linalg.solve_triangular(a, b)

    def qr(self, a=MATRICES):
        return jnp.linalg.qr(a)

    def pivoted_qr(self, a=MATRIX):
        return jax.scipy.linalg.qr(a, pivoting=True)

    def cholesky(self, a=MATRIX):
        return jnp.linalg.cholesky(positive(a))

    def complex_eigh(self, a=MATRIX):
        c = a + 1j * a.T
        return jnp.linalg.eigh(c + c.conj().T)

    def tridiagonal(self, a=MATRIX):
        return jax.lax.linalg.tridiagonal(a + a.T, lower=False)

    def tridiagonal_solve(self, a=MATRIX):
        return jax.lax.linalg.tridiagonal_solve(a[0], 3 + a[1], a[2], a)

    def random(self, key=KEY):
        keys = jax.random.split(jax.random.wrap_key_data(key))
        return jax.random.normal(keys[0], (200,)), jax.random.permutation(keys[1], 100)

    def loop(self, a=MATRIX, n=Program.like(np.int32(0))):
        return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.tanh(a @ c[1])),
                                  (jnp.int32(0), a))

    def attention(self, x=HEADS):
        scores = jnp.einsum("bhqd,bhkd->bhqk", x, x)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), x)

    def branch(self, a=MATRIX, n=Program.like(np.int32(0))):
        return jax.lax.cond(n > 5, jnp.linalg.det, lambda a: jnp.sort(a.ravel())[7], a)

    def callback(self, a=MATRIX):
        return jax.ffi.ffi_call("same", jax.ShapeDtypeStruct(a.shape, a.dtype))(a) + 1


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "quiet.tercel"
        Program.get_compiled_artifact(Quiet).save(path)
        done = subprocess.run([COUNT_ALLOCATIONS, path], text=True, check=True,
                              stdout=subprocess.PIPE)
    print(done.stdout)
    counts = {name: [int(number) for number in numbers]
              for name, *numbers in map(str.split, done.stdout.splitlines())}
    assert len(counts) == len([name for name in vars(Quiet) if not name.startswith("_")]), counts
    assert all(first > 0 for first, _, _ in counts.values()), "the counter does not count"
    loud = {name: count for name, count in counts.items() if count[1:] != [0, 0]}
    assert not loud, f"allocations in the first call, and in the second with locks: {loud}"


if __name__ == "__main__":
    main()
