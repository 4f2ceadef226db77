"""Products of small integers, of which vectors add up several at a time: exact, wrapping around."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tercel as package
from jax import lax
from tercel import aot

LAYOUTS = {"nn": ((1,), (0,)), "nt": ((1,), (1,)), "tn": ((0,), (0,)), "tt": ((0,), (1,))}
TYPES = ["int8", "uint8", "int16", "uint16"]


def extreme(rng, shape, dtype):
    """Random numbers, of which a third are the least or the greatest."""
    info = np.iinfo(dtype)
    drawn = rng.integers(info.min, info.max + 1, shape)
    return np.where(rng.random(shape) < 1 / 3, rng.choice([info.min, info.max], shape),
                    drawn).astype(dtype)


def wrapped(numbers, dtype):
    return (numbers & (2 ** np.iinfo(dtype).bits - 1)).astype(f"u{np.iinfo(dtype).bits // 8}").view(
        dtype)


def check(tercel, layout, a, b, result):
    contracting = LAYOUTS[layout]

    def product(a, b):
        return lax.dot_general(a, b, (contracting, ((), ())), preferred_element_type=result)

    got = jax.jit(product)(jax.device_put(a, tercel), jax.device_put(b, tercel))
    want = np.tensordot(a.astype(np.int64), b.astype(np.int64), axes=contracting)
    assert got.dtype == result
    np.testing.assert_array_equal(np.asarray(got), wrapped(want, result))


def operands(rng, layout, m, k, n, left, right):
    return (extreme(rng, (m, k) if layout[0] == "n" else (k, m), left),
            extreme(rng, (k, n) if layout[1] == "n" else (n, k), right))


def sizes_of(seed):
    rng = np.random.default_rng(seed)
    return [int(2 ** rng.uniform(0, 8.6)) for _ in range(3)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", range(5))
def test_random_shapes(tercel, rng, layout, dtype, seed):
    check(tercel, layout, *operands(rng, layout, *sizes_of(seed), dtype, dtype), np.int32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", range(5, 8))
def test_results_no_wider_than_the_operands(tercel, rng, layout, dtype, seed):
    check(tercel, layout, *operands(rng, layout, *sizes_of(seed), dtype, dtype), np.dtype(dtype))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("left, right", [("int8", "uint8"), ("uint8", "int8"), ("int16", "int8"),
                                         ("uint8", "int16"), ("uint16", "int8")])
def test_operands_of_two_types(tercel, rng, layout, left, right):
    for seed in range(8, 10):
        m, k, n = sizes_of(seed)
        check(tercel, layout, *operands(rng, layout, m, k, n, left, right), np.int32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("left, right", [("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8"),
                                         ("uint8", "int8")])
@pytest.mark.parametrize("m, k, n", [(16, 64, 16), (40, 67, 50), (33, 1030, 48), (70, 2101, 17)])
def test_whole_tiles_of_bytes(tercel, rng, layout, left, right, m, k, n):
    check(tercel, layout, *operands(rng, layout, m, k, n, left, right), np.int32)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("k", [1, 2, 3, 7, 15, 16, 17, 67, 3100, 4099, 6157])
def test_short_and_long_sums(tercel, rng, dtype, k):
    for layout in LAYOUTS:
        check(tercel, layout, *operands(rng, layout, 19, k, 37, dtype, dtype), np.int32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_sums_that_are_all_extremes(tercel, layout, dtype):
    info = np.iinfo(dtype)
    for left in (info.min, info.max):
        for right in (info.min, info.max):
            a, b = np.full((40, 40), left, dtype), np.full((40, 40), right, dtype)
            check(tercel, layout, a, b, np.int32)


@pytest.mark.parametrize("left, right", [("int8", "int8"), ("uint8", "int8"), ("int16", "uint8"),
                                         ("uint16", "int8")])
def test_operands_converted_first(agree, rng, left, right):
    a, b = extreme(rng, (33, 45), left), extreme(rng, (45, 50), right)
    agree(lambda a, b: jnp.maximum(a.astype(np.int32) @ b.astype(np.int32), 0) + 7, a, b)
    agree(lambda a, b: (a + a).astype(np.int32) @ b.astype(np.uint16).astype(np.int32), a, b)


def test_operands_known_to_be_narrow(agree, rng):
    a, b = extreme(rng, (33, 44), "uint8"), extreme(rng, (44, 50), "int8")
    wide = rng.integers(-2**31, 2**31, (44, 50)).astype(np.int32)
    agree(lambda a, b: (a.astype(np.int32) - 117) @ b.astype(np.int32), a, b)
    agree(lambda a, b: (a.astype(np.int32) + 200) @ (b.astype(np.int32) - 32700), a, b)
    agree(lambda a, b: (a > 77).astype(np.int32) @ b.astype(np.int32), a, b)
    agree(lambda a, b: a.astype(np.int32) @ jnp.clip(b, -128, 127), a, wide)
    agree(lambda a, b: a.astype(np.int32) @ jnp.clip(b, -129, 255), a, wide)
    agree(lambda a, b: (a.astype(np.int32) & -7) @ (b & 255), a, wide)
    agree(lambda a, b: a.astype(np.int32) @ jnp.where(b > 0, b, wide).astype(np.int32), a, b)
    agree(lambda a, b: jnp.pad(a.astype(np.int32), ((0, 0), (3, 3)), constant_values=-9)
          @ b.astype(np.int32).reshape(-1, 50), a, extreme(rng, (5, 10, 50), "int8"))


def test_batches_and_epilogues(agree, rng):
    def layer(x, w, bias):
        sums = jnp.einsum("bmk,bkn->bmn", x, w, preferred_element_type=np.int32) + bias
        return jnp.clip(jnp.round(sums * np.float32(0.003)), -128, 127).astype(np.int8)

    agree(layer, extreme(rng, (5, 21, 70), "int8"), extreme(rng, (5, 70, 43), "int8"),
          rng.integers(-9999, 9999, 43).astype(np.int32))


def flags():
    with open("/proc/cpuinfo") as lines:
        return next((line.split() for line in lines if line.startswith("flags")), [])


@pytest.mark.native
@pytest.mark.parametrize("target, flag", [("x86-64-v2", "sse4_2"), ("x86-64-v3", "avx2"),
                                          ("x86-64-v4", "avx512bw"),
                                          ("cascadelake", "avx512_vnni"),
                                          ("sapphirerapids", "amx_int8"), ("native", None)])
def test_code_for_other_machines(rng, target, flag):
    if flag and flag not in flags():
        pytest.skip(f"no {flag}")

    def products(pairs):
        return [lax.dot_general(a, b, (LAYOUTS[layout], ((), ())), preferred_element_type=np.int32)
                for (a, b), layout in zip(pairs, list(LAYOUTS) * len(TYPES))]

    pairs = [operands(rng, layout, 23, 67, 37, dtype, dtype) for dtype in TYPES
             for layout in LAYOUTS]
    compiled = package.load(aot.compile(products, pairs, targets=target).to_bytes())
    for got, (a, b), layout in zip(compiled.products(pairs), pairs, list(LAYOUTS) * len(TYPES)):
        want = np.tensordot(a.astype(np.int64), b.astype(np.int64), axes=LAYOUTS[layout])
        np.testing.assert_array_equal(got, wrapped(want, np.int32))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("channels, features, groups, window, strides, dilation", [
    (3, 16, 1, (7, 7), (2, 2), (1, 1)), (32, 24, 1, (3, 3), (1, 1), (1, 1)),
    (17, 9, 1, (3, 2), (1, 2), (2, 1)), (16, 40, 4, (3, 3), (1, 1), (1, 1)),
    (1, 8, 1, (5, 5), (1, 1), (1, 1)), (64, 64, 1, (1, 1), (1, 1), (1, 1))])
def test_convolutions(tercel, cpu, x64, rng, dtype, layout, channels, features, groups, window,
                      strides, dilation):
    image = {"NHWC": (2, 13, 19, channels), "NCHW": (2, channels, 13, 19)}[layout]
    kernel = {"NHWC": (*window, channels // groups, features),
              "NCHW": (features, channels // groups, *window)}[layout]
    dimensions = (layout, {"NHWC": "HWIO", "NCHW": "OIHW"}[layout], layout)
    x, w = extreme(rng, image, dtype), extreme(rng, kernel, dtype)

    def convolve(x, w, **options):
        return lax.conv_general_dilated(x, w, strides, "SAME", rhs_dilation=dilation,
                                        dimension_numbers=dimensions, feature_group_count=groups,
                                        **options)

    with jax.default_device(cpu):
        want = np.asarray(jax.jit(convolve)(x.astype(np.float64), w.astype(np.float64)))
    with jax.default_device(tercel):
        got = jax.jit(lambda x, w: convolve(x, w, preferred_element_type=np.int32))(x, w)
        first = jax.jit(lambda x, w: convolve(x.astype(np.int32), w.astype(np.int32)))(x, w)
    np.testing.assert_array_equal(np.asarray(got), wrapped(want.astype(np.int64), np.int32))
    np.testing.assert_array_equal(np.asarray(first), np.asarray(got))
