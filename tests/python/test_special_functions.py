"""Functions that StableHLO lacks: recognised in what JAX sends, and within 4 ULP."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from jax import lax

# The evaluator computes what JAX sends, op by op.
pytestmark = pytest.mark.native

# Of f32 against SciPy's f64, which is -inf where JAX's lgamma is infinite.
FUNCTIONS = {
    "bessel_i0e": (lax.bessel_i0e, scipy.special.i0e),
    "bessel_i1e": (lax.bessel_i1e, scipy.special.i1e),
    "digamma": (lax.digamma, scipy.special.digamma),
    "erf_inv": (lax.erf_inv, scipy.special.erfinv),
    "erfc": (lax.erfc, scipy.special.erfc),
    "exp2": (lax.exp2, np.exp2),
    "lgamma": (lax.lgamma, lambda x: np.where(x == -np.inf, np.inf, scipy.special.gammaln(x))),
    "logistic": (lax.logistic, scipy.special.expit),
}


def arguments():
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    near = [rng.uniform(-size, size, 100_000).astype(np.float32) for size in (1, 4, 30, 150)]
    edges = np.float32([0, -0.0, 1, -1, 2, -2, 1e-40, -1e-40, np.inf, -np.inf, np.nan])
    return np.concatenate([wide, *near, edges])


def ulp_errors(got, want):
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float32)
        same = (got == rounded) | np.isnan(got) & np.isnan(rounded)
        step = np.spacing(np.abs(rounded)).astype(np.float64)
        return np.where(same, 0, np.abs(got.astype(np.float64) - want) / step)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_f32_is_within_4_ulp(tercel, name):
    function, reference = FUNCTIONS[name]
    x = arguments()
    if name == "digamma":  # near its negative zeros it is a difference of two numbers; of 0 JAX
        x = np.abs(x[x != 0])  # makes NaN, since 0.12 -inf
    got = np.asarray(jax.jit(function)(jax.device_put(x, tercel)))
    with np.errstate(all="ignore"):
        want = reference(x.astype(np.float64))
    errors = ulp_errors(got, want)
    worst = np.nanargmax(np.where(np.isnan(errors), np.inf, errors))
    assert errors[worst] < 4, f"{name}({x[worst]}) = {got[worst]}, not {want[worst]}"


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_types(tercel, name, dtype):
    function, reference = FUNCTIONS[name]
    with jax.enable_x64(True):
        x = np.linspace(0.01 if name in ("digamma", "lgamma") else -3, 3, 301).astype(dtype)
        got = np.asarray(jax.jit(function)(jax.device_put(x, tercel)))
    with np.errstate(all="ignore"):
        want = reference(x.astype(np.float64))
    tolerance = {"float64": 2e-15, "bfloat16": 4e-3, "float16": 6e-4}[dtype]
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, 
                               atol=1e-7 if dtype == "float16" else 1e-15)


def test_one_op_is_left(tmp_path):
    program = f"""
import jax, numpy as np
for name in {list(FUNCTIONS)}:
    function = getattr(jax.lax, name)
    jax.jit(lambda x: function(x + 1) * 2)(np.ones((7, 3), np.float32))
"""
    environment = {**os.environ, "JAX_PLATFORMS": "tercel", "TERCEL_DUMP": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    sent, left = ("".join(file.read_text() for file in tmp_path.glob(f"*/*_{when}.txt"))
                  for when in ("input", "plan"))
    for name in FUNCTIONS:  # since JAX 0.12 lgamma is a function of its own, computed as it is sent
        assert f" {name}(" in left or f"@{name}_impl(" in sent


COMPLEX = {"atanh": np.arctanh, "cosh": np.cosh, "exp": np.exp, "log": np.log, "log1p": np.log1p,
           "sinh": np.sinh, "sqrt": np.sqrt}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions_are_close_normwise(tercel, name):
    rng = np.random.default_rng(1)
    parts = [rng.normal(size=20_000) * 10.0 ** rng.uniform(-12, 1, 20_000) for _ in range(2)]
    z = (parts[0] + 1j * parts[1]).astype(np.complex64)
    z[:3] = -1 + 1e-30j, 1 + 1e-25j, -1.3e-8 - 3.3e-13j
    got = np.asarray(jax.jit(getattr(lax, name))(jax.device_put(z, tercel)))
    want = COMPLEX[name](z.astype(np.clongdouble))
    errors = np.abs(got - want) / np.abs(want) / np.finfo(np.float32).eps
    assert errors.max() < 4, (z[errors.argmax()], got[errors.argmax()], want[errors.argmax()])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_digamma_at_its_poles(agree, x64, dtype):
    # -inf at 0 or NaN, by JAX's version.
    agree(lax.digamma, np.array([0, -0.0, -1, -2, 0.5]).astype(jnp.dtype(dtype)))
