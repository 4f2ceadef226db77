"""Elementwise programs, conversions and movement of data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def values(rng, dtype, shape):
    dtype = jnp.dtype(dtype)
    if dtype == bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic(agree, rng, x64, dtype):
    x, y = values(rng, dtype, (7, 33)), values(rng, dtype, (7, 33))
    agree(lambda a, b: (a + b, a - b, a * b, a & b, a | b, a ^ b, ~a, jnp.minimum(a, b),
                        jnp.maximum(a, b), a < b, a >= b, a == b), x, y)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_and_counts(agree, rng, x64, dtype):
    x = values(rng, dtype, (65,))
    by = rng.integers(0, jnp.dtype(dtype).itemsize * 8, (65,)).astype(dtype)
    agree(lambda a, b: (jax.lax.shift_left(a, b), jax.lax.shift_right_logical(a, b),
                        jax.lax.shift_right_arithmetic(a, b), jax.lax.population_count(a),
                        jax.lax.clz(a)), x, by)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_arithmetic(agree, rng, x64, dtype):
    x, y = values(rng, dtype, (5, 19)), values(rng, dtype, (5, 19))
    agree(lambda a, b: (a + b, a - b, a * b, a / b, jnp.minimum(a, b), jnp.maximum(a, b), -a,
                        jnp.abs(a), jnp.floor(a), jnp.ceil(a), jnp.sign(a), a < b, a != b), x, y)


@pytest.mark.parametrize("name", ["exp", "tanh", "sin", "cos", "log1p", "expm1", "sqrt", "cbrt",
                                  "log", "atan", "sinh", "tan"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions(agree, rng, x64, dtype, name):
    x = np.abs(values(rng, dtype, (3, 101)))
    agree(lambda a: getattr(jnp, "arctan" if name == "atan" else name)(a), x)


RARE_FUNCTIONS = [(jnp.sin, np.sin), (jnp.cos, np.cos), (jnp.tan, np.tan), (jnp.log, np.log),
                  (jnp.log1p, np.log1p)]
RARE_PAIRS = [(jax.lax.pow, np.power), (jax.lax.rem, np.fmod)]


def near(got, wanted, ulps=5):
    """Of functions computed in a wider type: XLA:CPU takes subnormals for zeros."""
    got, wanted = np.asarray(got), wanted.astype(got.dtype)
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    spacing = np.spacing(np.abs(wanted))
    with np.errstate(invalid="ignore"):
        assert np.all(same | (np.abs(got - wanted) <= ulps * spacing)), (got, wanted)


# Arguments that few vectors have, alone in a vector and many.
@pytest.mark.parametrize("size", [1, 15, 64, 333])
@pytest.mark.parametrize("share", [0.04, 1])
@pytest.mark.parametrize("dtype, wide", [("float32", "float64"), ("float64", "longdouble")])
def test_rare_arguments(tercel, rng, x64, dtype, wide, size, share):
    info = np.finfo(dtype)
    rare = np.array([0, -0.0, np.inf, -np.inf, np.nan, -2, -0.5, info.max, info.tiny / 8, 1e6, -3e11,
                     info.smallest_subnormal, -info.max / 3], dtype)
    x, y = np.abs(values(rng, dtype, (size,))), values(rng, dtype, (size,))
    x = np.where(rng.random(size) < share, rng.choice(rare, size), x)
    y = np.where(rng.random(size) < share, rng.choice(rare, size), y)
    with jax.default_device(tercel), np.errstate(all="ignore"):
        got = jax.jit(lambda a, b: ([f(a) for f, _ in RARE_FUNCTIONS],
                                    [f(a, b) for f, _ in RARE_PAIRS]))(x, y)
        for result, (_, f) in zip(got[0], RARE_FUNCTIONS):
            near(result, f(x.astype(wide)))
        for result, (_, f) in zip(got[1], RARE_PAIRS):
            near(result, f(x.astype(wide), y.astype(wide)))


@pytest.mark.parametrize("source", INTEGERS + FLOATS + ["bool"])
def test_conversions(agree, rng, x64, source):
    x = values(rng, source, (41,))
    if jnp.dtype(source).kind not in "iub":
        x = np.abs(x) * 10
    for target in INTEGERS + FLOATS + ["bool"]:
        if jnp.dtype(target).itemsize < 8 and jnp.dtype(source).kind in "iu":
            small = x % np.asarray(100, x.dtype)
        else:
            small = x
        agree(lambda a: a.astype(target), small)


def test_special_values(agree):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-37, -1e-37, 3e38, 1.5], np.float32)
    agree(lambda a: (a + 1, a * 0, 1 / a, jnp.isnan(a), jnp.isinf(a), jnp.exp(a), jnp.tanh(a),
                     jnp.maximum(a, 0), jnp.sign(a), jnp.signbit(a)), x)


def spread(rng, shape):
    """Of all exponents, with zeros and infinities."""
    x = np.ldexp(rng.normal(size=shape), rng.integers(-150, 128, shape)).astype(np.float32)
    x[rng.random(shape) < 0.05] = 0
    x[rng.random(shape) < 0.02] = -np.inf
    return x


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quotients_of_any_size(tercel, rng):
    x, y = spread(rng, (33, 500)), spread(rng, (33, 500))
    divide = jax.jit(lambda x, y: x / y)
    for d in (y, y[:, :1], y[:1], np.float32(3e30), np.float32(-0.7)):
        np.testing.assert_array_equal(np.asarray(divide(x, d)), x / d)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_exponentials_times_any_number(tercel, rng):
    x, y = -rng.uniform(0, 110, (33, 500)).astype(np.float32), spread(rng, (33, 500))
    z = np.where(rng.random(x.shape) < 0.5, 1e-39, rng.normal(size=x.shape)).astype(np.float32)
    e = np.asarray(jax.jit(jnp.exp)(x))
    for f in (y, y[:, :1], np.float32(0.4)):
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: jnp.exp(x) * f)(x)), e * f)
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: f * (jnp.exp(x) / 7))(x)),
                                      f * (e / np.float32(7)))
    small = np.minimum(np.abs(y), 1)
    sums = jax.jit(lambda x: jnp.exp(x) * small + z)(x)
    np.testing.assert_allclose(np.asarray(sums), e.astype(np.float64) * small + z, 1e-6, 2e-45)


def test_subnormals_are_kept(tercel):
    """JAX's CPU backend flushes them to zero, so that NumPy is the judge."""
    x = np.array([1e-45, -1e-45, 1e-40], np.float32)
    with jax.default_device(tercel):
        got = jax.jit(lambda a: (jnp.sign(a), a * 2, a > 0))(x)
    for left, right in zip(got, (np.sign(x), x * 2, x > 0)):
        np.testing.assert_array_equal(np.asarray(left), right)


def test_decays_keep_subnormals(tercel, rng):
    n = 1 << 17
    x = np.exp(rng.uniform(-103, 0, n)).astype(np.float32)
    p = np.where(rng.random(n) < 0.5, x[::-1], 0)
    with jax.default_device(tercel):
        decayed, trace, step = jax.jit(lambda x, p: (
            0.9 * x, 0.9 * x + p, p + (0.9 * x + p) / 0.3 * 1e-3))(x, p)
    np.testing.assert_array_equal(decayed, np.float32(0.9) * x)
    wide, other = x.astype(np.float64), p.astype(np.float64)
    sums = np.float64(np.float32(0.9)) * wide + other
    np.testing.assert_allclose(trace, sums, rtol=2e-7, atol=3e-45)
    np.testing.assert_allclose(step, other + sums / 0.3 * 1e-3, rtol=1e-6, atol=3e-45)


def test_broadcasts_and_movement(agree, rng):
    x = values(rng, "float32", (4, 6, 5))
    agree(lambda a: (a.T, a.reshape(24, 5), a[1:, ::2, 3], jnp.flip(a, 1), a[None] + a[:, :1],
                     jnp.concatenate([a, a * 2], 2), jnp.pad(a, ((1, 2), (0, 0), (3, 1))),
                     jnp.where(a > 0, a, 0), jnp.tile(a, (1, 2, 1)), jnp.arange(7)), x)


SHORT_ROWS = ["float32", "float64", "bfloat16", "int8", "complex64", "bool"]


@pytest.mark.parametrize("dtype", SHORT_ROWS)
@pytest.mark.parametrize("width", [2, 3, 6, 7])
def test_short_rows_meet_what_repeats(agree, rng, x64, dtype, width):
    def array(*shape):
        return jnp.asarray(rng.integers(-5, 6, shape)).astype(dtype)

    def programs(rows, column, row, block):
        product = rows * column[:, None]
        return (product + row, product == row, jnp.where(row != 0, rows, column[:, None]),
                jnp.repeat(column, width), rows[::-1] + row[::-1], block * row,
                (rows + row).astype(jnp.float32) if rows.dtype != jnp.complex64 else rows,
                jnp.concatenate([rows, column[:, None]], 1) * jnp.append(row, row[:1]),
                rows + jnp.arange(width).astype(dtype), rows[1:] * row + block[0, 0])

    n = 64 * width + 11
    agree(programs, array(n, width), array(n), array(width), array(3, 70, width))


@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("rows", [64, 70, 129])
def test_short_rows_of_several_operands(agree, rng, rows, width):
    x, y = (rng.standard_normal((rows + i, width)).astype(np.float32) for i in range(2))
    agree(lambda x, y: jnp.concatenate([x[None], y[None, :6]], 1), x, y)
    agree(lambda x, y: jnp.concatenate([x[None], y[None]], 1) + x[0], x, y)
    agree(lambda x, y: jnp.pad(x, ((0, 6), (0, 0))) - jnp.pad(y, ((5, 0), (0, 0))), x, y)


@pytest.mark.parametrize("width", [2, 3, 5, 7])
def test_differences_of_pairs_are_weighted(agree, rng, width):
    def pairs(x, y, weights, scale):
        scale = jnp.where(scale > 0, 1 / scale, jnp.tanh(scale) - 1)
        return (x[:, None] - y) * (scale[:, None] * weights / 3)[..., None]
    agree(pairs, *(rng.standard_normal(s).astype(np.float32)
                   for s in ((20, width), (83, width), (20, 83), (20,))))


def test_a_donated_array_of_short_rows(tercel, rng):
    rows, row = (rng.standard_normal(s).astype(np.float32) for s in ((1003, 3), (3,)))
    step = jax.jit(lambda rows, row: (rows - row) * 2, donate_argnums=0)
    got = step(jax.device_put(rows, tercel), jax.device_put(row, tercel))
    np.testing.assert_array_equal(got, (rows - row) * 2)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "complex64", "bool"])
@pytest.mark.parametrize("width", [2, 3, 5, 8])
def test_what_is_the_same_in_a_row(agree, rng, x64, dtype, width):
    def array(*shape):
        return jnp.asarray(rng.integers(-5, 6, shape)).astype(dtype)

    def weighted(rows, a, b, mask):
        weight = jnp.where(mask, a * b + a, b * b * a)
        kept = (a == b) | mask
        return (jnp.where(kept[..., None], rows * weight[..., None], rows[:1]),
                weight[..., None] + rows)

    def in_place(rows, a, b, mask):
        return weighted(jnp.sort(rows, 0), a, b, mask)[0]

    def moved(rows, a, b, mask):
        both = jnp.broadcast_to((a * b + a)[..., None], rows.shape)
        return both[::-1] + rows, jnp.roll(both, 1, 0) * rows, (rows * both).reshape(-1)

    for n in ((77,), (9, 32)):
        arguments = array(*n, width), array(*n), array(*n), array(*n) != 0
        for program in (weighted, in_place, moved):
            agree(program, *arguments)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + ["bool", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(67, 131), (3, 9, 70), (1000,)])
def test_movement_keeps_every_bit(tercel, rng, x64, dtype, shape):
    dtype = jnp.dtype(dtype)
    x = (rng.integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8).view(dtype)[..., 0]
         if dtype != bool else values(rng, dtype, shape))
    turn = tuple(range(len(shape)))[::-1]

    def moved(np):
        return lambda x: (np.pad(x, 1), np.concatenate([x[..., ::-1], x, x[..., 3:]], -1),
                          np.transpose(x, turn)[1:], np.broadcast_to(x[..., None, :1], (*shape, 5)),
                          np.broadcast_to(x[..., None], (*shape, 70)), x[..., ::2], x[::-1])

    got = jax.jit(moved(jnp))(jax.device_put(x, tercel))
    for a, b in zip(got, moved(np)(x)):
        assert np.asarray(a).tobytes() == b.tobytes()


def dividends(rng, dtype, divisors, count):
    """Of every size, and such that quotients lie next to the middle of two numbers."""
    info = np.finfo(dtype)
    any_size = rng.uniform(1, 2, (len(divisors), count)) * 2.0 ** rng.integers(
        info.minexp + info.nmant, info.maxexp - 30, (len(divisors), count))
    quotients = rng.uniform(1, 2, (len(divisors), count)).astype(dtype)
    middles = (quotients.astype(np.longdouble) + np.nextafter(quotients, dtype(3))) / 2
    with np.errstate(over="ignore"):
        close = (divisors[:, None].astype(np.longdouble) * middles).astype(dtype)
    x = np.concatenate([-any_size.astype(dtype), close], 1)
    x[:, :6] = [0, -0.0, np.nan, np.inf, info.smallest_subnormal, info.max]
    return x


@pytest.mark.native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quotients_of_one_divisor_are_rounded_once(tercel, rng, x64, dtype):
    divisors = (rng.choice([-1, 1], 40) * rng.uniform(1, 2, 40) *
                2.0 ** rng.integers(-70, 40, 40)).astype(dtype)
    divisors[:8] = [3, 255, -0.1, 0, -0.0, np.inf, np.nan, np.finfo(dtype).smallest_subnormal]
    x = dividends(rng, dtype, divisors, 1000)
    with np.errstate(all="ignore"):
        wanted = x / divisors[:, None]
    got = jax.jit(lambda x, y: (x / y[:, None], (x.T / y).T, x[0] / 3, x[1] / 255))(
        jax.device_put(x, tercel), jax.device_put(divisors, tercel))
    for a, b in zip(got, (wanted, wanted, wanted[0], wanted[1])):
        np.testing.assert_array_equal(a, b)
        assert np.array_equal(np.signbit(a)[~np.isnan(b)], np.signbit(b)[~np.isnan(b)])


@pytest.mark.parametrize("edges", ["edge", "wrap", "reflect", "constant"])
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("shape", [(37, 90), (3, 5)])
def test_windows_weighed_by_what_they_see(agree, rng, edges, window, shape):
    """Two long sums of the same terms, of many slices of one padded array."""
    reach = window // 2

    def bilateral(image):
        padded = jnp.pad(image, reach, mode=edges)
        total = weights = 0.
        for i in range(window):
            for j in range(window):
                near = padded[i:i + image.shape[0], j:j + image.shape[1]]
                weight = jnp.exp(-(i - reach) ** 2 - (near - image) ** 2)
                total, weights = total + weight * near, weights + weight
        return total / weights

    agree(bilateral, rng.random(shape, np.float32))
    if window == 3:
        agree(jax.grad(lambda image: bilateral(image).sum()), rng.random(shape, np.float32))


def expression(rng, count, span):
    """Of many steps that each use two of the last `span` values."""
    steps = [(*rng.integers(max(0, k + 2 - span), k + 2, 2), int(rng.integers(6)))
             for k in range(count)]

    def all_values(x, y):
        known = [x, y]
        for left, right, kind in steps:
            p, q = known[left], known[right]
            known.append([lambda: p * 0.5 + q * 0.25, lambda: p * q * 0.3, lambda: p / (1 + q * q),
                          lambda: jnp.where(p > q, p, q * 0.5), lambda: p - q * 0.2,
                          lambda: jnp.abs(p) * 0.9][kind]())
        return known

    return all_values


# So many steps that one loop had too much of them, and so many values that several would pass them
# on in memory.
@pytest.mark.parametrize("size", [100, 3000, 70001])
@pytest.mark.parametrize("count, span", [(60, 8), (120, 1000), (300, 40)])
def test_large_expressions(agree, rng, size, count, span):
    all_values = expression(rng, count, span)
    x, y = (rng.uniform(-1, 1, size).astype(np.float32) for _ in range(2))
    agree(lambda x, y: sum(all_values(x, y)[2::3]), x, y, scale=100)
    agree(lambda x, y: tuple(all_values(x, y)[-5:]), x, y, scale=100)
    gradient = jax.grad(lambda x, y: sum(all_values(x, y)[2::3]).sum(), (0, 1))
    agree(gradient, x, y, scale=1000)


def test_stencils_of_large_stencils(agree, rng):
    def around(x):
        return (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1])

    def step(x):
        first = around(x)
        flow = jnp.where((first[1:] - first[:-1]) * (x[2:-1, 1:-1] - x[1:-2, 1:-1]) > 0, 0,
                         first[1:] - first[:-1])
        return around(first)[:-1] + flow[1:-1, 1:-1]

    agree(step, rng.standard_normal((1300, 1007)).astype(np.float32), scale=10)


def test_empty_and_scalar_shapes(agree):
    agree(lambda a, b: (a + 1, b * 2, a.T, jnp.exp(b)), np.zeros((0, 3), np.float32),
          np.float32(3))


def test_dynamic_slices(agree, rng):
    x, small = values(rng, "float32", (8, 9)), values(rng, "float32", (2, 3))
    for start in (0, 3, 100, -4):
        agree(lambda a, b, i: (jax.lax.dynamic_slice(a, (i, 2), (2, 3)),
                               jax.lax.dynamic_update_slice(a, b, (i, 1))), x, small,
              np.int32(start))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                                   "uint64"])
def test_quotients_by_constants(tercel, rng, x64, dtype):
    info = np.iinfo(dtype)
    x = (np.arange(info.min, info.max + 1) if info.bits <= 16 else
         np.append(rng.integers(info.min, info.max, 9999, dtype, endpoint=True),
                   np.array([info.min, info.min + 1, info.max], dtype))).astype(dtype)
    divisors = [1, 2, 3, 7, 10, 64, 100, 127, info.max // 3, info.max - 1, info.max]
    if info.bits == 64:
        divisors += [1 << 31, 1 << 52, (1 << 53) + 1]
    if info.min < 0:
        divisors += [-d for d in divisors] + [info.min]
    with jax.default_device(tercel):
        got = jax.jit(lambda x: [(lax.div(x, np.array(d, dtype)), lax.rem(x, np.array(d, dtype)))
                                 for d in divisors])(x)
    for d, (quotient, remainder) in zip(divisors, got):
        d = np.array(d, dtype)
        with np.errstate(over="ignore"):
            rest = np.fmod(x, d)
            whole = np.where(d == -1, -x, ((x - rest) // d)).astype(dtype) if info.min < 0 else x // d
        np.testing.assert_array_equal(remainder, np.where(d == -1, 0, rest), f"{d}")
        np.testing.assert_array_equal(quotient, whole, f"{d}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_divided_by_numbers_are_rounded_once(tercel, rng, x64, dtype):
    info = np.finfo(dtype)
    sizes = np.exp2(rng.uniform(np.log2(info.smallest_subnormal), info.maxexp, 4000))
    x = (sizes * rng.choice([-1, 1], 4000)).astype(dtype)
    x[::50] = rng.choice(np.array([0, -0.0, np.inf, -np.inf, np.nan], dtype), 80)
    divisors = [3, -7, 0.7, 0.02, 10, 255, 1e-5, 784, 1 / 3, 1e-30, 3e30, info.max, info.tiny]
    given = [info.smallest_subnormal, -info.tiny / 8, 1e-36, -4e37, 0, -0.0, np.inf, np.nan]
    with jax.default_device(tercel):
        got = jax.jit(lambda x: [x / np.array(d, dtype) for d in divisors])(x)
        divide = jax.jit(lambda x, d: x / d[0])
        got += [divide(x, np.array([d], dtype)) for d in divisors + given]
    for d, quotient in zip(divisors + divisors + given, got):
        with np.errstate(all="ignore"):
            expected = x / np.array(d, dtype)
        np.testing.assert_array_equal(quotient, expected, f"{d}")
        np.testing.assert_array_equal(np.signbit(quotient)[~np.isnan(expected)],
                                      np.signbit(expected)[~np.isnan(expected)], f"{d}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(3,), (1000,), (37, 65)])
def test_choices_by_one_condition(agree, rng, x64, dtype, shape):
    x, y = values(rng, dtype, shape), values(rng, dtype, shape)

    def costly(v):
        return v % 7 + (v * v % 5) if dtype == "int32" else jnp.sin(v) * jnp.exp(-v * v)

    def choose(p, x, y):
        shared = costly(x)
        both = jnp.where(p, shared + costly(y), shared)
        return both, jnp.where(p, x, costly(x - y)), jnp.where(p, costly(x + y), costly(x - 2 * y))

    def loop(p, x, y):
        def turn(i, v):
            return jnp.where((i % 3 == 0) ^ p, costly(v) + y, v)

        return jax.lax.fori_loop(0, 7, turn, x), jnp.where(p, costly(x), y).sum(-1)

    for p in (False, True):
        agree(choose, np.array(p), x, y)
        agree(loop, np.array(p), x, y)


@pytest.mark.parametrize("size", [1, 15, 33, 63, 64, 65, 129, 1000])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "bool"])
def test_narrow_vectors(agree, rng, dtype, size):
    x, y = values(rng, dtype, (5, size)), values(rng, dtype, (5, size))

    def program(a, b):
        bits = (a & b) | (~a ^ b)
        chosen = jnp.where(a > b, bits, b[:, ::-1])
        return chosen, a == b, jnp.pad(chosen, ((1, 1), (2, 3))), chosen.max(1), chosen.max(0)
    agree(program, x, y)


@pytest.mark.parametrize("divisor", [255.0, -0.22, 3e-39, 1e38, float("inf")])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "uint32"])
def test_integers_divided_by_numbers(rng, dtype, divisor):
    """To the last bit, which XLA:CPU's product with the inverse is not."""
    x = values(rng, dtype, 40000)
    x[:300] = 0
    divisor = np.float32(divisor)
    made = jax.jit(lambda a: a.astype(jnp.float32) / divisor)(x)
    expected = x.astype(np.float32) / divisor
    assert np.array_equal(np.asarray(made).view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("by", [1, 6, 64, -4])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32"])
def test_integers_divided_by_one_number_downwards(agree, x64, dtype, by):
    if by < 0 and dtype.startswith("u"):
        by += 128
    info = np.iinfo(dtype)
    x = np.concatenate([np.arange(-70, 70), [info.min, info.min + 1, info.max - 1, info.max]])
    agree(lambda x: (x // by, x % by, divmod(x, by)), x.astype(dtype))
    agree(lambda x: (x // by, x % by), x.astype(dtype)[3])


@pytest.mark.parametrize("by", [1 << 31, 1000000007, 1 << 52, 1 << 53])
def test_long_integers_divided_by_one_number_downwards(agree, rng, x64, by):
    x = rng.integers(-2**63, 2**63, 999) >> rng.integers(0, 64, 999)
    agree(lambda x: (x // by, x % by, (x * 1103515245 + 12345) % by), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64", "uint8"])
@pytest.mark.parametrize("shape", [(509, 43), (64, 128), (3, 700)])
def test_choices_of_narrow_types(agree, rng, dtype, shape):
    """What is only moved and chosen is so as bits."""
    x, y = (rng.integers(-9, 10, shape).astype(np.float32).astype(jnp.dtype(dtype))
            for _ in range(2))
    flags, n = rng.random(shape) < 0.5, rng.integers(0, 9, shape[1]).astype(np.int32)
    agree(lambda v: (jnp.tril(v), jnp.triu(v, 3)), x)
    agree(lambda v, w, p, k: (jnp.where(p, v, w), jnp.where(k > 4, v[:, ::-1], w[0, 0])),
          x, y, flags, n)
    agree(lambda v, w, p: jnp.where(jnp.pad(p, 1), jnp.pad(v, 1), jnp.pad(w, 1, mode="wrap")),
          x, y, flags)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("most", [0, 1, 2, 3, 7, 8, 9, 12])
def test_whole_powers_along_rows(agree, rng, x64, dtype, most):
    x = np.concatenate([rng.normal(size=200) * 3, [0, -0.0, 1, -1, np.inf, -np.inf, np.nan]])
    up, down = np.arange(most + 1), np.arange(most + 1)[::-1]

    def program(x):
        return (x[:, None] ** up, x[:, None] ** jnp.arange(most + 1), jnp.vander(x, most + 1),
                x ** (down[:, None] - 0.5), x[:, None] ** -up, x ** jnp.full((3, 1), most % 4 + 0.0))

    agree(program, x.astype(dtype), scale=4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(8, 64), (34, 66), (128, 256), (7, 9), (30, 300)])
def test_several_functions_of_parts_of_one_array(agree, rng, dtype, shape):
    x = rng.integers(0, 7, shape).astype(dtype)

    def quarters(x):
        rows, columns = (n // 2 * 2 for n in x.shape)
        a, b, c, d = (x[i:rows:2, j:columns:2] for i in (0, 1) for j in (0, 1))
        return a | b if x.dtype == bool else a + b + c + d, a == d, b * c, jnp.where(a == b, c, d)

    def differences(x):
        x = x.astype(jnp.int32) if x.dtype == bool else x
        centre = 2 * x[1:-1, 1:-1]
        return (x[2:, 1:-1] - centre + x[:-2, 1:-1], x[1:-1, 2:] - centre + x[1:-1, :-2],
                x[2:, 2:] * x[:-2, :-2])

    def halves(x):
        n = x.shape[1] // 2
        low, high = x[:, :n], x[:, n:2 * n]
        return low * high, low == high, (low * high)[:, ::-1]

    for function in (quarters, differences, halves):
        agree(function, x)


@pytest.mark.native
def test_float16_is_rounded_after_each_operation(tercel, rng):
    """As NumPy does, which computes with one operation at a time; every exponent and subnormals."""
    bits = rng.integers(0, 1 << 16, (3, 5000)).astype(np.uint16)
    x, y, z = bits.view(np.float16)

    def run(np, x, y, z):
        chain = (x * y + z) * 0.5 - x / 3 + 1
        chosen = np.where(x < y, x - z, y * z) + np.where(z == z, -x, abs(y))
        return chain, chosen * 2 - x, (x - y) * (x + y), x * 65504 - y * 0.1, x > y * z

    with jax.default_device(tercel):
        got = jax.jit(lambda *a: run(jnp, *a))(x, y, z)
    with np.errstate(all="ignore"):
        wanted = run(np, x, y, z)
    for g, w in zip(got, wanted):
        assert g.dtype == w.dtype
        np.testing.assert_array_equal(np.asarray(g), w)
