"""Linear algebra on the plugin, in a saved program and in a saved library: prints a line for each
result that differs, and at last what was called and compared. Arguments choose functions."""

import ctypes
import itertools
import json
import re
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np

import tercel
from tercel import aot

lax = jax.lax.linalg
DTYPES = ("float32", "float64", "complex64", "complex128")
# In the last, the plugin's threads share a matrix.
CASES = [*itertools.product(DTYPES, ((4, 4), (40, 40), (3, 2, 9, 9))), ("float64", (230, 230))]


def system(a):
    below, diagonal, above = (a[..., i, :] for i in range(3))
    return lax.tridiagonal_solve(below.at[..., 0].set(0), diagonal, above.at[..., -1].set(0), a)


def pivoted(a):
    return lax.qr(a, pivoting=True, full_matrices=False)


def product(a):
    return lax.ormqr(a, a[..., 0], a)


FUNCTIONS = {
    "cholesky": lambda a: jnp.linalg.cholesky(
        a @ jnp.conj(jnp.swapaxes(a, -1, -2)) + jnp.eye(a.shape[-1], dtype=a.dtype)),
    "lu": lax.lu, "solve": lambda a: jnp.linalg.solve(a, a), "qr": jnp.linalg.qr,
    "pivoted": pivoted, "product": product, "eigh": lambda a: tuple(jnp.linalg.eigh(a)),
    "tridiagonal": lax.tridiagonal, "system": system,
    "svd": lambda a: tuple(jnp.linalg.svd(a)),
    "svdvals": lambda a: jnp.linalg.svd(a, compute_uv=False),
    "svd_by_qr": lambda a: lax.svd(a, algorithm=lax.SvdAlgorithm.QR),
    "hessenberg": lax.hessenberg, "schur": lambda a: lax.schur(a, compute_schur_vectors=True),
    "eig": lambda a: tuple(jnp.linalg.eig(a)),
    "triangle": lambda a: lax.triangular_solve(a, a, left_side=True, transpose_a=True),
}


def example(rng, dtype, shape):
    a = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)
    return a.astype(dtype)


def in_library(function, a, like):
    """The results that are like these, from a shared library."""
    with tempfile.TemporaryDirectory() as folder:
        aot.compile(function, a, name="saved").save_library(folder)
        library = ctypes.CDLL(f"{folder}/saved.so")
    instance, results = ctypes.c_void_p(), [np.empty_like(array) for array in like]
    arrays = (ctypes.c_void_p(array.ctypes.data) for array in (a, *results))
    assert library.saved_create(None, ctypes.byref(instance)) == 0
    assert library.saved_saved(instance, *arrays) == 0
    library.saved_destroy(instance)
    return results


def report(case, ours, theirs):
    for number, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        if left.tobytes() != right.tobytes():
            print(f"{case}: result {number} differs")


def main():
    jax.config.update("jax_enable_x64", True)
    rng, called, cases = np.random.default_rng(0), set(), 0
    for name in sys.argv[1:] or FUNCTIONS:
        function = FUNCTIONS[name]
        for dtype, shape in CASES:
            a, compiled = example(rng, dtype, shape), jax.jit(function)
            called.update(re.findall(r"lapack_[sdcz](\w+)_ffi", compiled.lower(a).as_text()))
            here = [np.asarray(result) for result in jax.tree.leaves(compiled(a))]
            saved = tercel.load(aot.compile(function, a, name="saved").to_bytes()).saved(a)
            report(f"{name} {dtype}{list(shape)}", here, jax.tree.leaves(saved))
            if dtype == "float32" and shape == (40, 40):
                report(f"{name} in a library", here, in_library(function, a, here))
            cases += 1
    print(json.dumps({"called": sorted(called), "cases": cases}))


if __name__ == "__main__":
    main()
