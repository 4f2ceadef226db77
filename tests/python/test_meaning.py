"""What StableHLO says to the letter, where machines, NumPy and compilers have ideas of their own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from stablehlo_text import function, run

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def on(device, function, *arguments):
    with jax.default_device(device):
        return jax.tree.map(np.asarray, jax.jit(function)(*arguments))


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_division_without_an_answer(tercel, x64, dtype):
    info = np.iinfo(dtype)
    x = np.array([0, 1, 7, info.max, info.min, info.min + 1] * 9, dtype)  # longer than a vector
    zero = np.zeros_like(x)
    quotient, rest = on(tercel, lambda a, b: (lax.div(a, b), lax.rem(a, b)), x, zero)
    np.testing.assert_array_equal(quotient, np.full_like(x, -1 if info.min else info.max))
    np.testing.assert_array_equal(rest, x)
    if info.min:
        quotient, rest = on(tercel, lambda a, b: (lax.div(a, b), lax.rem(a, b)), x, zero - 1)
        np.testing.assert_array_equal(quotient, zero - x)
        np.testing.assert_array_equal(rest, zero)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_shifts_by_too_much(tercel, x64, dtype):
    info = np.iinfo(dtype)
    bits = info.bits
    x = np.repeat(np.array([1, 5, info.max, info.min], dtype), 12)
    by = np.tile(np.array([bits, bits + 1, info.max], dtype), 16)
    left, logical, arithmetic = on(
        tercel, lambda a, n: (lax.shift_left(a, n), lax.shift_right_logical(a, n),
                              lax.shift_right_arithmetic(a, n)), x, by)
    np.testing.assert_array_equal(left, np.zeros_like(x))
    np.testing.assert_array_equal(logical, np.zeros_like(x))
    top = (x.view(f"uint{bits}") >> np.array(bits - 1, f"uint{bits}")) != 0
    np.testing.assert_array_equal(arithmetic, np.where(top, ~np.zeros_like(x), np.zeros_like(x)))


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", SIGNED + UNSIGNED)
def test_conversions_that_do_not_fit(tercel, x64, source, target):
    info = np.iinfo(target)
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 0.5, -0.99, 1.99, -1.99, 127, 128, 129, -128, -129,
                  255, 256, 6e4, -6e4, 3e38, -3e38] * 3, np.float64).astype(jnp.dtype(source))
    wide = x.astype(np.float64)
    wanted = []
    for v in wide:
        beyond = info.max if v >= info.max else info.min if v <= info.min else None
        wanted.append(0 if np.isnan(v) else int(v) if beyond is None else beyond)
    got = on(tercel, lambda v: lax.convert_element_type(v, target), x)
    np.testing.assert_array_equal(got, np.array(wanted, target))


@pytest.mark.parametrize("dtype", FLOATS)
def test_extrema_of_nan(tercel, x64, dtype):
    special = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0], np.float64)
    a, b = (v.astype(jnp.dtype(dtype)).ravel() for v in np.meshgrid(special, special))
    larger, smaller = on(tercel, lambda a, b: (lax.max(a, b), lax.min(a, b)), a, b)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_array_equal(larger.astype(np.float64), np.maximum(wide_a, wide_b))
    np.testing.assert_array_equal(smaller.astype(np.float64), np.minimum(wide_a, wide_b))


def test_comparisons_of_what_extrema_were_made_of(agree):
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0], np.float32)
    a, b = np.repeat(special, 8), np.tile(special, 8)

    def f(a, b):
        relu, least, most = jnp.exp(a) - 1, jnp.sin(b), -a
        return (jnp.maximum(relu, 0), relu > 0, jnp.minimum(least, a), least >= a,
                jnp.maximum(most, b), most <= b)
    agree(f, a, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_order_of_nan_and_zeros(agree, x64, dtype):
    x = np.array([3, np.nan, -0.0, 0.0, -np.inf, np.inf, -np.nan, 1, -1, 0.0, -0.0] * 7)
    x = x.astype(jnp.dtype(dtype))
    same = agree(lambda v: (lax.sort(v), jnp.argsort(v), lax.top_k(v, 20)[1], jnp.max(v),
                            jnp.nanmin(v), jnp.argmax(v[:6]), jnp.argmin(v[:6])), x)
    assert np.isnan(np.asarray(same[0]).astype(float)[-14:]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_subnormals_are_kept(tercel, x64, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.array([tiny, -tiny, 5 * tiny, np.finfo(dtype).tiny] * 5, dtype)
    got = on(tercel, lambda v: (v + v, v * 0.5, -v, v - v, jnp.abs(v), v / 2, v > 0), x)
    half = (x * np.array(0.5, dtype)).astype(dtype)
    for left, right in zip(got, (x + x, half, -x, np.zeros_like(x), np.abs(x), half, x > 0)):
        np.testing.assert_array_equal(left, right)


def test_indices_beyond_the_array(agree, rng):
    x = rng.normal(size=(5, 7)).astype(np.float32)
    at = np.array([-9, -1, 0, 4, 5, 100], np.int32)
    agree(lambda x, i: (lax.dynamic_slice(x, (i[0], i[5]), (2, 3)),
                        lax.dynamic_slice(x, (i[5], i[0]), (2, 3)),
                        lax.dynamic_update_slice(x, x[:2, :2], (i[5], i[5])),
                        jnp.take(x, i, axis=0, mode="clip"), jnp.take(x, i, axis=0, mode="fill"),
                        x.at[i].set(7.0, mode="drop"), x.at[i].add(1.0, mode="clip"),
                        x.at[i, i].max(9.0, mode="drop")), x, at)


def test_reductions_of_nothing(agree):
    x = np.zeros((3, 0, 4), np.float32)
    agree(lambda x: (x.sum(1), x.prod(1), jnp.max(x, axis=1, initial=-jnp.inf), x.all(1), x.any(1),
                     jnp.cumsum(x, 1), lax.dot_general(x[0], x[1], (((0,), (0,)), ((), ()))),
                     x.sum((0, 1, 2)), jnp.sort(x, 1)), x)


def test_many_dimensions(agree, rng):
    shape = (1, 2) * 6 + (1,) * 18 + (3, 2)  # 32 of them
    x = rng.normal(size=shape).astype(np.float32)
    agree(lambda x: (x + 1, x.sum((1, 31)), jnp.flip(x, (3, 30)), x.T, lax.exp(x).max(5)), x)


COMPLEX = [complex(a, b) for a in (0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan)
           for b in (0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan)]


@pytest.mark.parametrize("name", ["log", "exp", "log1p", "expm1", "tanh", "sin", "cos"])
def test_complex_functions_on_their_cuts(tercel, x64, name):
    x = np.array([z for z in COMPLEX if np.isfinite(z)], np.complex128)
    got = on(tercel, getattr(jnp, name), x)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x)
    finite = np.isfinite(wanted)
    np.testing.assert_allclose(got[finite], wanted[finite], rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(np.isfinite(got), finite)
    parts = finite & (np.abs(wanted.imag) > 1e-12)  # which side of the cut
    np.testing.assert_array_equal(np.signbit(got.imag[parts]), np.signbit(wanted.imag[parts]))


@pytest.mark.parametrize("name", ["exp", "tanh", "tan", "sin", "cos", "arctan"])
def test_complex_functions_at_infinity(tercel, cpu, name):
    x = np.array(COMPLEX, np.complex64)
    got, wanted = (on(device, getattr(jnp, name), x) for device in (tercel, cpu))
    np.testing.assert_allclose(got.real, wanted.real, rtol=1e-5)
    np.testing.assert_allclose(got.imag, wanted.imag, rtol=1e-5)


def test_complex_powers_at_zero_and_infinity(tercel, cpu):
    x, y = (v.ravel() for v in np.meshgrid(np.array(COMPLEX, np.complex64), COMPLEX))
    got, wanted = (on(device, lax.pow, x, y.astype(x.dtype)) for device in (tercel, cpu))
    finite = np.isfinite(wanted)
    np.testing.assert_allclose(got[finite], wanted[finite], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(got.real[~finite], wanted.real[~finite], rtol=1e-4)
    np.testing.assert_allclose(got.imag[~finite], wanted.imag[~finite], rtol=1e-4)


@pytest.mark.native
@pytest.mark.parametrize("name", ["cosh", "sinh", "sqrt"])
def test_complex_functions_that_are_numpys(tercel, name):
    # JAX makes them of real ones, without NumPy's answers at infinity; ours have them.
    x = np.array(COMPLEX, np.complex64)
    got = np.array(on(tercel, getattr(jnp, name), x))
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x.astype(np.complex128))
    if name != "sqrt":  # JAX's own answer
        wanted[np.isinf(x.real) & np.isinf(x.imag)] = complex(np.nan, np.nan)
    wanted.real[np.isnan(wanted.imag)] = np.abs(wanted.real[np.isnan(wanted.imag)])  # of any sign
    got.real[np.isnan(got.imag)] = np.abs(got.real[np.isnan(got.imag)])
    np.testing.assert_allclose(got.real, wanted.real, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got.imag, wanted.imag, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_quotients_are_exact(tercel, rng, x64, dtype):
    info = np.iinfo(dtype)
    bits = rng.integers(0, info.bits, 600)
    x, y = (rng.integers(info.min, info.max, 600, dtype, endpoint=True) >> bits.astype(dtype)
            for _ in range(2))
    few = np.unique(np.array([1, 2, 3, 7, 1 << info.bits // 2, info.max // 3, info.max], dtype))
    tops = np.concatenate([few * k for k in few] + [x])  # multiples, and what lies beside them
    x = np.concatenate([x, tops, tops - 1, tops + 1]).astype(dtype)
    y = np.resize(np.concatenate([y, few, few - 1]), x.shape).astype(dtype)
    y[y == 0] = 1
    if info.min:
        y[(x == info.min) & (y == -1)] = 1
    quotient, rest = on(tercel, lambda a, b: (lax.div(a, b), lax.rem(a, b)), x, y)
    for i in range(x.size):
        a, b = int(x[i]), int(y[i])
        wanted = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        assert (int(quotient[i]), int(rest[i])) == (wanted, a - wanted * b), (a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, -1.5, 2.5, 0.1, -2.0, 5.0])
def test_powers_of_special_numbers(tercel, x64, dtype, exponent):
    info = np.finfo(dtype)
    x = np.array([0, -0.0, np.inf, -np.inf, np.nan, -1, -4, 1, 4, info.max, info.tiny,
                  info.smallest_subnormal, 1e-25, 1e25, 2.5], dtype)
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.longdouble), exponent).astype(dtype)
    each = [on(tercel, lambda v: v ** exponent, number) for number in x]
    for got in (on(tercel, lambda v: v ** exponent, x), np.array(each),
                on(tercel, lambda v: v ** exponent, np.tile(x, 9))[:x.size]):
        np.testing.assert_array_max_ulp(got, wanted, 3)
        np.testing.assert_array_equal(np.signbit(got[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_powers_of_integers(tercel, rng, x64, dtype):
    info = np.iinfo(dtype)
    x = rng.integers(max(info.min, -6), 7, 300).astype(dtype)
    y = rng.integers(max(info.min, -3), 80, 300).astype(dtype)
    tensor = f"tensor<300x{'' if info.min else 'u'}i{info.bits}>"
    got, = run(tercel, function(f"%2 = stablehlo.power %0, %1 : {tensor}\nreturn %2 : {tensor}",
                                [tensor, tensor], [tensor]), x, y)
    for i in range(x.size):
        a, n = int(x[i]), int(y[i])
        wanted = {1: 1, -1: 1 if n % 2 == 0 else -1}.get(a, 0) if n < 0 else a ** n
        assert int(got[i]) == int(np.array(wanted & ((1 << info.bits) - 1)).astype(
            f"uint{info.bits}").view(dtype)), (a, n)


@pytest.mark.parametrize("dtype", FLOATS)
def test_extrema_of_zeros(tercel, cpu, x64, dtype):
    x = np.tile(np.array([0.0, -0.0, 0.0, -0.0], jnp.dtype(dtype)), 10)
    y = np.tile(np.array([-0.0, 0.0, 0.0, -0.0], jnp.dtype(dtype)), 10)
    plus, minus = jnp.dtype(dtype).type(0.0), jnp.dtype(dtype).type(-0.0)

    def extrema(x, y):
        values = (lax.max(x, y), lax.min(x, y), lax.max(x, plus), lax.max(plus, x),
                  lax.max(x, minus), lax.min(x, plus), lax.min(minus, x), lax.clamp(y, x, y),
                  jnp.max(x), jnp.min(x), jnp.max(x.reshape(10, 4), 0),
                  jnp.min(x.reshape(10, 4), 1))
        return jax.tree.map(jnp.signbit, values)

    for got, wanted in zip(on(tercel, extrema, x, y), on(cpu, extrema, x, y)):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_conversions_round_once(tercel, rng, x64, dtype):
    narrow = jnp.dtype(dtype)
    digits = 8 if dtype == "bfloat16" else 11
    mantissa = rng.integers(1 << (digits - 1), 1 << digits, 400)
    halves = (2 * mantissa + 1).astype(np.float64)  # half-way between neighbours
    for exponent in (-133 - digits, -140, -127, -26, -15, -3, 0, 4):
        middle = np.ldexp(halves, exponent)
        for x in (middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf), -middle):
            got = on(tercel, lambda v: v.astype(dtype), x)
            np.testing.assert_array_equal(got.astype(np.float64), rounded(x, narrow))
    for source in ("int32", "uint32", "int64"):
        shift = min(np.iinfo(source).bits, 53) - digits - 3
        base = (2 * mantissa + 1).astype(source) << np.array(shift, source)
        for x in (base, base - 1, base + 1, base >> np.array(shift, source)):
            got = on(tercel, lambda v: v.astype(dtype), x)
            np.testing.assert_array_equal(got.astype(np.float64), rounded(x.astype(float), narrow))


def rounded(x, narrow):
    """To the nearest number of a narrow type, ties to the even one, by NumPy's arithmetic alone."""
    info = jnp.finfo(narrow)
    lowest = int(np.log2(float(info.tiny)))
    _, exponent = np.frexp(x)
    unit = np.maximum(exponent - 1, lowest) - info.nmant
    near = np.ldexp(np.rint(np.ldexp(x, -unit)), unit)
    return np.where(np.abs(near) > float(info.max), np.copysign(np.inf, x), near)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_integer_division_where_machines_trap(agree, x64, dtype):
    """By zero, by -1 of the lowest number, by constants, and behind a guard of the program's own."""
    info = np.iinfo(dtype)
    edges = np.array([info.min, info.min + 1, info.max, 0, 1, 2, 7, info.max - 1], dtype)
    if info.min < 0:
        edges = np.concatenate([edges, np.array([-1, -2, -7], dtype)])
    x, y = (v.ravel() for v in np.meshgrid(edges, edges))

    def results(x, y):
        guarded = jnp.where(y == 0, jnp.ones_like(y), y)
        divisors = [y, guarded, *(jnp.full_like(y, c) for c in edges)]
        return [f(x, d) for d in divisors for f in (lax.div, lax.rem)]

    agree(results, x, y)
    agree(lambda x, y: lax.map(lambda p: results(*p), (x, y)), x, y)  # one by one


@pytest.mark.parametrize("dims", [(), (1,), (3,), (4, 5), (0,)])
def test_bits_of_complex_numbers_regrouped(tercel, rng, x64, dims):
    sizes = "".join(f"{d}x" for d in dims)
    wide, narrow = f"tensor<{sizes}complex<f64>>", f"tensor<{sizes}2xcomplex<f32>>"
    x = (rng.normal(size=dims) + 1j * rng.normal(size=dims)).astype(np.complex128)

    def regrouped(value, before, after):
        body = f"%r = stablehlo.bitcast_convert %0 : ({before}) -> {after}\n return %r : {after}"
        return run(tercel, function(body, [before], [after]), value)[0]

    parts = regrouped(x, wide, narrow)
    assert parts.tobytes() == x.tobytes() and parts.shape == (*dims, 2)
    assert regrouped(parts, narrow, wide).tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_subnormal_constants(tercel, x64, dtype):
    c = np.asarray(jnp.finfo(dtype).tiny, np.float64) / 2
    y = np.array([1, 2, -1, 4], np.float32).astype(dtype)

    def run(y):
        full, twice = jnp.full_like(y, c), jnp.asarray(c, dtype) * 2
        return y * full, full / y, y * 0 < full, twice, jnp.array([c, c * 2, c * 1.5, -c], dtype) * y

    wanted = [y.astype(np.float64) * c, c / y.astype(np.float64), True,  c * 2,
              np.array([c, c * 2, c * 1.5, -c]) * y.astype(np.float64)]
    for got, want in zip(on(tercel, run, y), wanted):
        np.testing.assert_array_equal(got, np.broadcast_to(np.asarray(want).astype(got.dtype), got.shape))
