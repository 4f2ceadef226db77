"""Products of bf16, which some machines add up in registers of whole matrices: exact for small integers"""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import tercel as package
from jax import lax
from tercel import aot

LAYOUTS = {"nn": ((1,), (0,)), "nt": ((1,), (1,)), "tn": ((0,), (0,)), "tt": ((0,), (1,))}
SIZES = [(16, 32, 16), (17, 33, 19), (32, 64, 32), (48, 31, 16), (100, 200, 300), (15, 64, 64),
         (64, 64, 15), (33, 500, 65), (40, 1030, 48), (257, 129, 130), (16, 3001, 33), (1, 64, 64),
         (5, 7, 9), (9, 65, 2), (4, 1, 8), (6, 130, 4)]


def integers(rng, shape):
    return rng.integers(-8, 9, shape).astype(ml_dtypes.bfloat16)


def operands(rng, layout, m, k, n):
    return (integers(rng, (m, k) if layout[0] == "n" else (k, m)),
            integers(rng, (k, n) if layout[1] == "n" else (n, k)))


def product(layout, result=np.float32, **options):
    return lambda a, b: lax.dot_general(a, b, (LAYOUTS[layout], ((), ())),
                                        preferred_element_type=result, **options)


def expected(layout, a, b):
    return np.tensordot(a.astype(np.float64), b.astype(np.float64), axes=LAYOUTS[layout])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", SIZES)
def test_exact(tercel, rng, layout, sizes):
    a, b = operands(rng, layout, *sizes)
    got = jax.jit(product(layout))(jax.device_put(a, tercel), jax.device_put(b, tercel))
    np.testing.assert_array_equal(np.asarray(got), expected(layout, a, b))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_of_bf16_are_rounded_once(tercel, rng, layout):
    a, b = operands(rng, layout, 50, 300, 70)
    got = jax.jit(product(layout, ml_dtypes.bfloat16))(jax.device_put(a, tercel), b)
    want = expected(layout, a, b).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("k", [33, 48, 700, 1100])
def test_what_is_no_number_stays_in_its_row_and_column(tercel, rng, layout, k):
    a, b = (x.astype(np.float32) for x in operands(rng, layout, 40, k, 36))
    a[(7, k - 1) if layout[0] == "n" else (k - 1, 7)] = np.nan
    b[(k - 2, 5) if layout[1] == "n" else (5, k - 2)] = np.inf
    a, b = a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16)
    got = np.asarray(jax.jit(product(layout))(jax.device_put(a, tercel), b))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, expected(layout, a, b))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rounding_errors_are_those_of_f32(tercel, rng, layout):
    m, k, n = 70, 2500, 50
    a = rng.normal(size=(m, k) if layout[0] == "n" else (k, m)).astype(ml_dtypes.bfloat16)
    b = rng.normal(size=(k, n) if layout[1] == "n" else (n, k)).astype(ml_dtypes.bfloat16)
    got = np.asarray(jax.jit(product(layout))(jax.device_put(a, tercel), b))
    np.testing.assert_allclose(got, expected(layout, a, b), rtol=0, atol=2e-4)


def test_the_highest_precision_keeps_subnormals(tercel):
    a = np.full((32, 64), 1e-39, ml_dtypes.bfloat16)
    b = np.full((64, 32), 1e30, ml_dtypes.bfloat16)
    precise = product("nn", precision=lax.Precision.HIGHEST)
    got = jax.jit(precise)(jax.device_put(a, tercel), b)
    np.testing.assert_allclose(np.asarray(got), expected("nn", a, b), rtol=1e-6)


def test_operands_and_results_computed_on_the_way(agree, rng):
    def layer(x, w, bias):
        y = jnp.maximum((x + 1).astype(jnp.bfloat16) @ w.astype(jnp.bfloat16) + bias, 0)
        return y.astype(np.float32) * 0.5

    x, w = (rng.integers(-4, 5, shape).astype(np.float32) for shape in [(70, 96), (96, 50)])
    agree(layer, x, w, integers(rng, 50))


@pytest.mark.parametrize("batches", [(), (3,), (2, 5)])
def test_batches(agree, rng, batches):
    agree(lambda a, b: jnp.einsum("...mk,...nk->...mn", a, b, preferred_element_type=np.float32),
          integers(rng, (*batches, 33, 70)), integers(rng, (*batches, 47, 70)))
    agree(lambda a, b: jnp.einsum("...hqd,...khd->...qhk", a, b,
                                  preferred_element_type=np.float32),
          integers(rng, (*batches, 4, 40, 64)), integers(rng, (*batches, 50, 4, 64)))


def test_gradients_of_a_layer(agree, rng):
    def gradients(x, w, y):
        return jax.grad(lambda x, w: ((x @ w).astype(np.float32) * y).sum(), (0, 1))(x, w)

    agree(gradients, integers(rng, (64, 80)), integers(rng, (80, 48)),
          rng.integers(-2, 3, (64, 48)).astype(np.float32))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("channels, features, groups, window, strides", [
    (32, 48, 1, (3, 3), (1, 1)), (64, 64, 1, (1, 1), (2, 2)), (40, 33, 1, (3, 2), (2, 1)),
    (64, 64, 2, (3, 3), (1, 1)), (3, 16, 1, (7, 7), (2, 2))])
def test_convolutions(agree, rng, layout, channels, features, groups, window, strides):
    image = {"NHWC": (2, 13, 19, channels), "NCHW": (2, channels, 13, 19)}[layout]
    kernel = {"NHWC": (*window, channels // groups, features),
              "NCHW": (features, channels // groups, *window)}[layout]
    dimensions = (layout, {"NHWC": "HWIO", "NCHW": "OIHW"}[layout], layout)
    agree(lambda x, w: lax.conv_general_dilated(
        x, w, strides, "SAME", dimension_numbers=dimensions, feature_group_count=groups,
        preferred_element_type=np.float32), integers(rng, image), integers(rng, kernel))


@pytest.mark.native
@pytest.mark.parametrize("target, flag", [("x86-64-v3", "avx2"), ("x86-64-v4", "avx512bw"),
                                          ("sapphirerapids", "amx_bf16"), ("native", None)])
def test_code_for_other_machines(rng, target, flag):
    with open("/proc/cpuinfo") as lines:
        flags = next((line.split() for line in lines if line.startswith("flags")), [])
    if flag and flag not in flags:
        pytest.skip(f"no {flag}")

    def products(pairs):
        return [product(layout)(a, b) for (a, b), layout in zip(pairs, LAYOUTS)]

    pairs = [operands(rng, layout, 40, 77, 50) for layout in LAYOUTS]
    compiled = package.load(aot.compile(products, pairs, targets=target).to_bytes())
    for got, (a, b), layout in zip(compiled.products(pairs), pairs, LAYOUTS):
        np.testing.assert_array_equal(got, expected(layout, a, b))
