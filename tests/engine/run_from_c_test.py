"""A program that JAX compiled, saved and run from C: run_from_c_test.py RUN_FROM_C PLUGIN.

The C program has neither the compiler nor Python in it and must give the very same bits.
"""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile

RUN_FROM_C, PLUGIN = sys.argv[1:]
os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"tercel:{PLUGIN}"
os.environ["JAX_PLATFORMS"] = "tercel"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402


def elementwise(x, y):
    return jnp.sin(x) * y + 1, jnp.exp(-x)


def network(w1, w2, x):
    h = jax.nn.relu(x @ w1)
    return jax.nn.softmax(h @ w2, axis=-1), h.sum()


def loop(n, x):
    return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 0.5 + c[0]), (0, x))


def branch(p, x):
    return jax.lax.cond(p, jnp.cos, lambda x: x * 2, x)


def sort(keys, values):
    return jax.lax.sort((keys, values), num_keys=1)


def f32(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32)


CASES = [
    (elementwise, [f32(1000), f32(1000)]),
    (network, [f32(32, 64), f32(64, 10), f32(8, 32)]),
    (loop, [np.int32(9), f32(5)]),
    (branch, [np.bool_(True), f32(7)]),
    (sort, [f32(3, 50), np.arange(150, dtype=np.int32).reshape(3, 50)]),
]


def program_file(compiled):
    """What PJRT_Executable_Serialize gave, out of the envelope that jaxlib puts around it."""
    envelope = compiled.runtime_executable().serialize()
    start = envelope.index(b"TERCELPG")
    content, = struct.unpack_from("<Q", envelope, start + 16)
    return envelope[start:start + 32 + content]


def bits_from_c(folder, program, arguments):
    (folder / "program").write_bytes(program)
    (folder / "inputs").write_bytes(b"".join(np.asarray(a).tobytes() for a in arguments))
    subprocess.run([RUN_FROM_C, folder / "program", folder / "inputs", folder / "results"],
                   check=True)
    return (folder / "results").read_bytes()


def main():
    for function, arguments in CASES:
        compiled = jax.jit(function).lower(*arguments).compile()
        wanted = b"".join(np.asarray(r).tobytes() for r in jax.tree.leaves(compiled(*arguments)))
        with tempfile.TemporaryDirectory() as folder:
            got = bits_from_c(pathlib.Path(folder), program_file(compiled), arguments)
        assert got == wanted, f"{function.__name__}: other bits from C than from JAX"
        print(function.__name__, "same", len(got), "bytes")


if __name__ == "__main__":
    main()
