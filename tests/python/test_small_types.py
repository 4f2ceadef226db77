"""Integers of two and four bits, floats of eight and fewer, against JAX's CPU backend and NumPy."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

INTEGERS = ["int2", "int4", "uint2", "uint4"]
FLOATS = ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
          "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"]


def every(name):
    """All values of a type."""
    bits = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4}.get(name, 8)
    return np.arange(1 << bits, dtype=np.uint8).view(getattr(ml_dtypes, name))


def on(device, function, *arguments):
    with jax.default_device(device):
        return jax.tree.map(np.asarray, jax.jit(function)(*arguments))


def assert_same_bits(got, wanted):
    """Equal, NaN being equal to NaN."""
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    if got.dtype.kind in "iub":
        return np.testing.assert_array_equal(got, wanted)
    wide_got, wide_wanted = got.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_array_equal(wide_got, wide_wanted)
    real = ~np.isnan(wide_got)
    np.testing.assert_array_equal(np.signbit(wide_got)[real], np.signbit(wide_wanted)[real])


@pytest.mark.parametrize("name", INTEGERS + FLOATS)
def test_round_trip(tercel, name):
    x = every(name)
    got = np.asarray(jax.device_put(x, tercel))
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.view(np.uint8), x.view(np.uint8))
    through = on(tercel, lambda v: jnp.roll(v, 1), x)
    assert_same_bits(through, np.roll(x, 1))


@pytest.mark.parametrize("name", FLOATS)
def test_to_float(tercel, name):
    x = every(name)
    for wide in ("float32", "float16", "bfloat16"):
        assert_same_bits(on(tercel, lambda v: v.astype(wide), x), x.astype(np.float32).astype(wide))


@pytest.mark.parametrize("name", FLOATS)
def test_from_float(tercel, name):
    dtype = getattr(ml_dtypes, name)
    values = every(name).astype(np.float32)
    values = np.unique(values[np.isfinite(values)])
    middles = (values[1:] / 2 + values[:-1] / 2).astype(np.float32)
    beyond = values[-1] * np.array([1.01, 1.06, 1.07, 1.12, 1.13, 1.2, 1.25, 1.3, 1.5, 2, 1e3],
                                   np.float64)
    x = np.concatenate([values, middles, np.nextafter(middles, np.float32(np.inf)),
                        np.nextafter(middles, np.float32(-np.inf)),
                        np.minimum(beyond, 3e38).astype(np.float32)])
    if name != "float8_e8m0fnu":
        x = np.concatenate([x, -x, np.float32([0, -0.0, np.inf, -np.inf, 1e-45, 1e-30])])
    x = np.concatenate([x, np.float32([np.nan])])
    for wide in ("float32", "float16", "bfloat16"):
        with np.errstate(over="ignore"):
            given = x.astype(wide)
        assert_same_bits(on(tercel, lambda v: v.astype(dtype), given), given.astype(dtype))


@pytest.mark.parametrize("name", [n for n in FLOATS if n != "float8_e8m0fnu"])
def test_float_arithmetic(tercel, name):
    dtype = getattr(ml_dtypes, name)
    x = every(name)
    a, b = np.meshgrid(x, x)

    def functions(a, b):
        return (a + b, a * b, a - b, jnp.maximum(a, b), a < b, a == b, -a, jnp.where(a > b, a, b),
                a / b, jnp.sqrt(a), jnp.floor(a), jnp.ceil(a), jnp.sign(a), jnp.round(a))

    with np.errstate(all="ignore"):
        wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
        larger = np.where(np.isnan(wide_a), wide_a, np.maximum(wide_a, wide_b))
        wanted = ((wide_a + wide_b).astype(dtype), (wide_a * wide_b).astype(dtype),
                  (wide_a - wide_b).astype(dtype), larger.astype(dtype), wide_a < wide_b,
                  wide_a == wide_b, (-wide_a).astype(dtype), np.where(wide_a > wide_b, a, b),
                  (wide_a / wide_b).astype(dtype), np.sqrt(wide_a).astype(dtype),
                  *(f(wide_a).astype(dtype) for f in (np.floor, np.ceil, np.sign, np.round)))
    # Which zero, also in the place of NaN, and the sign of NaN are not told.
    either_zero = (3, 6, 12) + ((8, 9) if name == "float4_e2m1fn" else ())
    for number, (got, right) in enumerate(zip(on(tercel, functions, a, b), wanted)):
        if number in either_zero:
            got, right = got.astype(np.float32) + 0, right.astype(np.float32) + 0
        assert_same_bits(got, right)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_arithmetic(tercel, name):
    dtype = getattr(ml_dtypes, name)
    x = every(name)
    a, b = np.meshgrid(x, x)
    wide_a, wide_b = a.astype(np.int32), b.astype(np.int32)
    bits = 2 if name.endswith("2") else 4

    def cut(v):
        return (v & ((1 << bits) - 1)).astype(np.uint8).view(dtype)

    got = on(tercel, lambda a, b: (a + b, a - b, a * b, a & b, a | b, a ^ b, ~a,
                                   lax.max(a, b), lax.min(a, b), a < b, a == b), a, b)
    wanted = (cut(wide_a + wide_b), cut(wide_a - wide_b), cut(wide_a * wide_b),
              cut(wide_a & wide_b), cut(wide_a | wide_b), cut(wide_a ^ wide_b), cut(~wide_a),
              cut(np.maximum(wide_a, wide_b)), cut(np.minimum(wide_a, wide_b)), wide_a < wide_b,
              wide_a == wide_b)
    for left, right in zip(got, wanted):
        assert_same_bits(left, right)
    amount = cut(wide_b & (bits - 1))
    by = amount.astype(np.int32)
    got = on(tercel, lambda a, by: (lax.shift_left(a, by), lax.shift_right_logical(a, by),
                                    lax.population_count(a), lax.clz(a)), a, amount)
    raw = wide_a & ((1 << bits) - 1)
    count = np.array([bin(v).count("1") for v in raw.ravel()]).reshape(raw.shape)
    leading = bits - np.array([int(v).bit_length() for v in raw.ravel()]).reshape(raw.shape)
    for left, right in zip(got, (cut(raw << by), cut(raw >> by), cut(count), cut(leading))):
        assert_same_bits(left, right)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_conversions(tercel, name):
    dtype = getattr(ml_dtypes, name)
    x = every(name)
    for to in ("int8", "uint8", "int32", "float32", "bool", "float16"):
        assert_same_bits(on(tercel, lambda v: v.astype(to), x), x.astype(np.int32).astype(to))
    bits = 2 if name.endswith("2") else 4
    wide = np.arange(-40, 40, dtype=np.int32)
    cut = (wide & ((1 << bits) - 1)).astype(np.uint8).view(dtype)
    assert_same_bits(on(tercel, lambda v: v.astype(dtype), wide), cut)
    low, high = (0, (1 << bits) - 1) if name[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    real = np.float32([-100, -1.5, -0.5, 0.5, 1.9, 100, np.inf, -np.inf, np.nan])
    wanted = np.where(np.isnan(real), 0, np.clip(np.trunc(real), low, high)).astype(np.int8)
    got = on(tercel, lambda v: lax.convert_element_type(v, dtype), real)
    np.testing.assert_array_equal(got.astype(np.int8), wanted)


def test_bitcasts(tercel):
    bytes_ = np.arange(256, dtype=np.uint8)
    nibbles = on(tercel, lambda v: lax.bitcast_convert_type(v, jnp.uint4), bytes_)
    assert nibbles.shape == (256, 2)
    np.testing.assert_array_equal(nibbles.astype(np.uint8),
                                  np.stack([bytes_ & 15, bytes_ >> 4], 1))
    back = on(tercel, lambda v: lax.bitcast_convert_type(v, jnp.uint8), nibbles)
    np.testing.assert_array_equal(back, bytes_)
    words = np.array([0x12345678, 0xfedcba98], np.uint32)
    parts = on(tercel, lambda v: lax.bitcast_convert_type(v, jnp.int4), words)
    assert parts.shape == (2, 8)
    np.testing.assert_array_equal(parts.astype(np.int32)[0], [-8, 7, 6, 5, 4, 3, 2, 1])
    again = on(tercel, lambda v: lax.bitcast_convert_type(v, jnp.uint32), parts)
    np.testing.assert_array_equal(again, words)
    halves = on(tercel, lambda v: lax.bitcast_convert_type(v, jnp.float8_e5m2), bytes_)
    np.testing.assert_array_equal(halves.view(np.uint8), bytes_)


@pytest.mark.parametrize("name", ["int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_movement_and_control(agree, rng, name):
    dtype = getattr(ml_dtypes, name)
    x = rng.integers(0, 7, (5, 12)).astype(np.float32).astype(dtype)

    def program(x):
        y = jnp.concatenate([x.T, x.T[::-1]], axis=1)
        y = jnp.pad(y, 1)[2:, ::2]
        z = lax.fori_loop(0, 3, lambda i, v: jnp.where(i % 2 == 0, v[:, ::-1], v), x)
        c = lax.cond(x[0, 0].astype(jnp.float32) > 2, lambda v: v, lambda v: v[::-1], x)
        return y, z, c, x[jnp.array([3, 0, 0])], x.at[1].set(x[2]), lax.broadcast(x, (2,))

    agree(program, x)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"])
def test_products(agree, rng, name):
    dtype = getattr(ml_dtypes, name)
    a = rng.normal(size=(17, 33)).astype(np.float32).astype(dtype)
    b = rng.normal(size=(33, 9)).astype(np.float32).astype(dtype)
    agree(lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32), a, b)


def test_integer_products(tercel, rng):
    a, b = (rng.integers(-8, 8, shape).astype(np.int8) for shape in ((17, 33), (33, 9)))
    got = on(tercel, lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32),
             a.astype(ml_dtypes.int4), b.astype(ml_dtypes.int4))
    np.testing.assert_array_equal(got, a.astype(np.int32) @ b.astype(np.int32))


def test_constants_and_iota(agree):
    def program():
        return (jnp.array([-8, 7, 3], jnp.int4), lax.iota(jnp.uint4, 9),
                jnp.array([0.5, 448, -2], jnp.float8_e4m3fn), jnp.zeros((3,), jnp.int2),
                jnp.ones((2, 2), jnp.float8_e5m2))

    agree(program)


def test_bfloat16_is_nothing_else(agree):
    """Every number, infinity and NaN stays what it is through arithmetic and rounding."""
    bits = np.arange(65536, dtype=np.uint16)
    large = (bits & 0x7F80) >= 0x0200  # XLA takes smaller ones as zeros
    x = bits[large].view(jnp.bfloat16)
    y = np.random.default_rng(3).permutation(x)

    def kinds(z):
        return jnp.isnan(z), jnp.isinf(z), jnp.where(jnp.abs(z) > 1e-30, z, 0)

    agree(lambda x, y: [kinds(z) for z in (x * 3, x + y, x - y, jnp.maximum(x, y) * 1,
                                           jnp.where(x > 2, x * 0.5, -x))], x, y)
    agree(lambda x: (jnp.isnan(x.sum()), jnp.isnan((x * x).sum()), jnp.nansum(jnp.clip(x, -2, 2))),
          x[:1000])
