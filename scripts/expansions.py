#!/usr/bin/env python3
"""Prints rows for src/compiler/passes/expansions.def: what the installed JAX makes of its functions.

python3 scripts/expansions.py TERCEL_OPT: with an environment in which JAX runs on Tercel.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = tempfile.mkdtemp()
os.environ.update(TERCEL_DUMP=FOLDER, JAX_PLATFORMS="tercel,cpu", JAX_ENABLE_X64="1")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

REAL = {"bessel_i0e": lax.bessel_i0e, "bessel_i1e": lax.bessel_i1e, "digamma": lax.digamma,
        "erf_inv": lax.erf_inv, "erfc": lax.erfc, "exp2": lax.exp2, "lgamma": lax.lgamma,
        "logistic": lax.logistic}
COMPLEX = {"abs": lax.abs, "cbrt": lax.cbrt, "cosine": lax.cos, "exp2": lax.exp2,
           "exponential": lax.exp, "exponential_minus_one": lax.expm1, "log": lax.log,
           "log_plus_one": lax.log1p, "logistic": lax.logistic, "rsqrt": lax.rsqrt,
           "sign": lax.sign, "sine": lax.sin, "sqrt": lax.sqrt, "tan": lax.tan, "tanh": lax.tanh}


def row(opt, function, dtype):
    known = set(pathlib.Path(FOLDER).iterdir())
    argument = jax.ShapeDtypeStruct((20,), dtype)
    try:
        jax.jit(function).lower(argument).compile()
    except TypeError:  # no such function of this type
        return ""
    program, = set(pathlib.Path(FOLDER).iterdir()) - known
    return subprocess.run([opt, "--pass=inline", "--expansion", program / "input.mlirbc"],
                          check=True, capture_output=True, text=True).stdout.strip()


def main(opt):
    for functions, dtypes in ((REAL, (jnp.float32, jnp.float64, jnp.bfloat16, jnp.float16)),
                              (COMPLEX, (jnp.complex64, jnp.complex128))):
        for name, function in functions.items():
            for dtype in dtypes:
                found = row(opt, function, dtype)
                print(f"EXPANSION({name}, {found})" if found
                      else f"// {name} of {jnp.dtype(dtype).name}: none")


main(sys.argv[1])
