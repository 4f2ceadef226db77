"""What random programs are made of: each operation takes operands from a pool and gives an array.

`exact` operations give the same bits wherever they run, when their operands do; `rounded` ones may
differ in the last bits; what `jumps`, where a last bit may decide, takes exact operands alone.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax

OPERATIONS = []


def operation(exact, jumps=False):
    def declare(function):
        OPERATIONS.append((function, exact, jumps))
        return function
    return declare


exact = operation(True)
rounded = operation(False)
jumps = operation(True, jumps=True)


def kind(array):
    """k: booleans, i: integers, c: complex numbers, f: floats."""
    return {"b": "k", "i": "i", "u": "i", "c": "c"}.get(array.dtype.kind, "f")


def fit(array, shape):
    """The array's elements in another shape, repeated or left out at its end."""
    if array.shape == tuple(shape):
        return array
    if array.size == math.prod(shape):
        return array.reshape(shape)
    return jnp.resize(array, tuple(shape)) if array.size else jnp.ones(shape, array.dtype)


def tame(d, x):
    """Floats that stay small, whatever comes after."""
    if kind(x) == "i":
        return x
    ways = [lambda v: v / (1 + jnp.abs(v))]
    if kind(x) == "f":
        ways += [jnp.tanh, jnp.sin, lambda v: jnp.clip(v, -1.5, 1.25), lambda v: v / (1 + v * v)]
    return d.choice(ways)(x)


def pair(d, kinds="fic"):
    x = d.pick(kinds)
    return x, fit(d.like(x), x.shape)


# Elementwise.

@exact
def moves_signs(d):
    x = d.pick("fi")
    return d.choice([jnp.negative, jnp.abs, jnp.positive])(x)


@rounded
def smooth(d):
    return d.choice([
        jnp.sin, jnp.cos, jnp.tanh, jnp.arctan, jnp.arcsinh, lax.erf, jax.nn.gelu, jax.nn.softplus,
        jax.nn.sigmoid, jnp.square, jnp.cbrt, jnp.expm1, jnp.sinc, jax.nn.silu,
        lambda x: jnp.log1p(jnp.abs(x)), lambda x: jnp.sqrt(jnp.abs(x) + 0.1),
        lambda x: lax.rsqrt(x * x + 0.2), lambda x: (jnp.abs(x) + 0.1) ** 1.3,
        lambda x: x ** 3, lambda x: jnp.exp(jnp.minimum(x, 2)), lambda x: lax.lgamma(x * x + 0.5),
        lambda x: lax.digamma(x * x + 0.5), lambda x: jnp.arctan2(x, 1 + x * x),
        lambda x: jax.scipy.special.i0e(x), lambda x: jnp.logaddexp(x, -x)])(tame(d, d.pick("f")))


@jumps
def steps(d):
    x = d.pick("f")
    return d.choice([jnp.floor, jnp.ceil, jnp.round, jnp.sign, jnp.trunc, lax.round,
                     lambda v: jnp.remainder(v, 0.75), lambda v: jnp.fmod(v, 0.5),
                     lambda v: jnp.signbit(v), jnp.isfinite, jnp.isnan,
                     lambda v: jnp.frexp(v)[1], lambda v: jnp.heaviside(v, 0.5)])(x)


@rounded
def arithmetic(d):
    x, y = pair(d)
    forms = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b]
    if kind(x) != "i":
        forms += [lambda a, b: a / (1 + b * b.conj()), lambda a, b: a * b + a]
    return tame(d, d.choice(forms)(x, y))


@exact
def extremes(d):
    x, y = pair(d, "fi")
    return d.choice([jnp.maximum, jnp.minimum,
                     lambda a, b: jnp.clip(a, jnp.minimum(b, 0), abs(b))])(x, y)


@exact
def integers(d):
    x, y = pair(d, "i")
    count = x.dtype.type(x.dtype.itemsize * 8)
    return d.choice([
        lambda: x // y, lambda: x % y, lambda: lax.div(x, y), lambda: lax.rem(x, y),
        lambda: x & y, lambda: x | ~y, lambda: x ^ y,
        lambda: lax.population_count(x), lambda: lax.clz(x),
        lambda: x << (y % count), lambda: lax.shift_right_logical(x, y % count),
        lambda: lax.shift_right_arithmetic(x, y), lambda: lax.shift_left(x, y), lambda: x ** 3,
        lambda: jnp.gcd(x, y), lambda: jnp.sign(x) * y])()


@jumps
def comparisons(d):
    x, y = pair(d, "fi")
    return d.choice([jnp.less, jnp.greater_equal, jnp.equal, jnp.not_equal])(x, y)


@exact
def logic(d):
    x, y = pair(d, "k")
    return d.choice([jnp.logical_and, jnp.logical_or, jnp.logical_xor, lambda a, b: ~a | b])(x, y)


@exact
def selects(d):
    x, y = pair(d, "fick")
    return jnp.where(fit(d.pick("k"), x.shape), x, y)


@jumps
def to_integers(d):
    x = jnp.nan_to_num(jnp.clip(d.pick("f"), -90, 90)) * d.choice([1, 1, 7])
    to = d.integer_type()
    return jnp.clip(x, 0 if jnp.iinfo(to).min == 0 else -100, 100).astype(to)


@exact
def between_integers(d):
    return d.pick("ik").astype(d.integer_type())


@rounded
def to_floats(d):
    x = d.pick("fik")
    return (x if kind(x) == "f" else x % 100 if kind(x) == "i" else x).astype(d.float_type())


@exact
def through_narrow_types(d):
    x = d.pick("i") % 7
    to = d.choice(["int4", "uint4", "float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "int8"])
    return x.astype(jnp.float32 if "float" in to else x.dtype).astype(to).astype(x.dtype)


@jumps
def bits(d):
    x = jnp.where(jnp.isnan(x := d.pick("f")), 0, x).astype(jnp.float32)
    to = d.choice([jnp.int32, jnp.uint32, jnp.uint8, jnp.int16])
    return lax.bitcast_convert_type(x, to)


@rounded
def complex_numbers(d):
    z = d.complex()
    return d.choice([lambda v: v, jnp.conj, lambda v: v * v, lambda v: jnp.exp(v / (1 + abs(v))),
                     lambda v: 1 / (v + 2j), jnp.sin, lambda v: v / (1 + abs(v))])(z)


@rounded
def parts(d):
    return d.choice([jnp.real, jnp.imag, jnp.abs, lambda v: (v * v.conj()).real])(d.pick("c"))


@exact
def random_numbers(d):
    key = jax.random.fold_in(jax.random.key(d.integer(0, 99)), d.pick("i").sum().astype(jnp.int32))
    shape = d.shape()
    return d.choice([
        lambda: jax.random.bits(key, shape, jnp.uint32),
        lambda: jax.random.uniform(key, shape, jnp.float32),
        lambda: jax.random.randint(key, shape, -9, 50, jnp.int32),
        lambda: jax.random.bernoulli(key, jnp.float32(0.3), shape),
        lambda: jax.random.permutation(key, jnp.arange(17, dtype=jnp.int32))])()


# Movement.

@exact
def reshapes(d):
    x = d.pick("fick")
    return d.choice([jnp.ravel, lambda v: v[None], lambda v: v[..., None], jnp.atleast_2d,
                     lambda v: v.reshape(v.shape[:-2] + (-1,) if v.size else v.shape)])(x)


@exact
def transposes(d):
    x = d.pick("fick")
    return jnp.transpose(x, d.shuffled(range(x.ndim)))


@exact
def reverses(d):
    x = d.pick("fick")
    return lax.rev(x, d.some(range(x.ndim)))


@exact
def broadcasts(d):
    x = d.pick("fick")
    shape = tuple(d.integer(1, 4) if n == 1 else n for n in x.shape)
    return jnp.broadcast_to(x, (d.integer(1, 4),) * d.integer(0, 1) + shape)


@exact
def slices(d):
    x = d.pick("fick")
    at = [d.integer(0, n) for n in x.shape]
    return lax.slice(x, at, [d.integer(a, n) for a, n in zip(at, x.shape)],
                     [d.integer(1, 3) for _ in at])


@exact
def pads(d):
    x = d.pick("fick")
    edges = [(d.integer(-1 if n > 3 else 0, 3), d.integer(-1 if n > 3 else 0, 3),
              d.choice([0, 0, 0, 1, 2])) for n in x.shape]
    return lax.pad(x, x.dtype.type(d.choice([0, 1])), edges)


@exact
def edges(d):
    x = d.pick("fi", rank=1, filled=True)
    mode = d.choice(["edge", "wrap", "reflect", "symmetric"])
    return jnp.pad(x, [(d.integer(0, 2), d.integer(0, 2))] * x.ndim, mode=mode)


@exact
def concatenations(d):
    x = d.pick("fick", rank=1)
    axis = d.integer(0, x.ndim - 1)
    pieces = [x]
    for _ in range(d.integer(1, 4)):
        shape = list(x.shape)
        shape[axis] = d.integer(0, 9)
        pieces.append(fit(d.like(x), shape))
    return jnp.concatenate(d.shuffled(pieces), axis)


@exact
def stacks(d):
    x, y = pair(d, "fick")
    return jnp.stack([x, y, x][:d.integer(1, 3)], d.integer(0, x.ndim))


@exact
def rolls(d):
    x = d.pick("fick", rank=1)
    by = d.choice([d.integer(-30, 30), d.scalar()])
    return jnp.roll(x, by, d.integer(0, x.ndim - 1))


@exact
def repeats(d):
    x = d.pick("fick", rank=1)
    return d.choice([jnp.repeat(x, 3, d.integer(0, x.ndim - 1)), jnp.tile(x, (2,) * x.ndim)])


@exact
def triangles(d):
    return d.choice([jnp.tril, jnp.triu])(d.pick("fi", rank=2), d.integer(-2, 2))


@exact
def dynamic_slices(d):
    x = d.pick("fick", rank=1)
    return lax.dynamic_slice(x, [d.scalar() for _ in x.shape], [d.integer(0, n) for n in x.shape])


@exact
def dynamic_updates(d):
    x = d.pick("fick", rank=1)
    piece = fit(d.like(x), [d.integer(0, n) for n in x.shape])
    return lax.dynamic_update_slice(x, piece, [d.scalar() for _ in x.shape])


# By index.

def below(d, most, shape):
    """Integers from 0 to `most`, of a type that has it."""
    x = fit(d.pick("i"), shape)
    return (x if most < 127 else x.astype(jnp.int32)) % most


def places(d, x):
    """An index of x: arrays, slices and new dimensions."""
    index, shape = [], [d.integer(1, 5)] * d.integer(1, 2)
    for n in x.shape[:d.integer(1, x.ndim)]:
        index.append(d.choice([slice(None), slice(None, None, -1),
                               below(d, 2 * n + 1, shape) - n // 2,
                               below(d, 2 * n + 1, shape) - n // 2]))
    return tuple(index)


def gather_mode(d):
    return d.choice(["clip", "fill"])


@exact
def gathers(d):
    x = d.pick("fick", rank=1, filled=True)
    return x.at[places(d, x)].get(mode=gather_mode(d))


@exact
def takes_along(d):
    x = d.pick("fick", rank=1, filled=True)
    axis = d.integer(0, x.ndim - 1)
    shape = list(x.shape)
    shape[axis] = d.integer(1, 9)
    return jnp.take_along_axis(x, below(d, x.shape[axis], shape), axis)


@rounded
def scatters(d):
    x = d.pick("fi", rank=1, filled=True)
    at = x.at[places(d, x)]
    piece = tame(d, fit(d.like(x), jax.eval_shape(lambda: at.get()).shape))
    names = ["add", "min", "max", "subtract"] + ([] if d.smooth else ["mul"])
    update = getattr(at, d.choice(names))
    return tame(d, update(piece, mode=d.choice(["clip", "drop"])))


@exact
def sets(d):
    x = d.pick("fick", rank=1, filled=True)
    order = jnp.argsort(fit(d.pick("i"), x.shape[:1]))[:d.integer(0, x.shape[0])]
    return x.at[order].set(fit(d.like(x), order.shape + x.shape[1:]), unique_indices=d.chance(),
                           mode=d.choice(["drop", "promise_in_bounds"]))


@rounded
def segments(d):
    x = d.pick("fi", rank=1)
    index = fit(d.pick("i"), x.shape[:1]) % 9
    functions = [jax.ops.segment_sum] + ([] if d.smooth else [jax.ops.segment_prod])
    return tame(d, d.choice(functions)(
        tame(d, x), index.astype(jnp.int32), num_segments=d.integer(1, 8)))


@exact
def one_hot(d):
    return jax.nn.one_hot(d.pick("i") % 12, d.integer(1, 11), dtype=d.float_type())


# Over dimensions.

@rounded
def sums(d):
    x = tame(d, d.pick("fic"))
    function = d.choice([jnp.sum, jnp.prod] + ([jnp.mean] if kind(x) != "i" else []))
    return tame(d, function(x, axis=d.some(range(x.ndim)), keepdims=d.chance(), dtype=x.dtype))


@rounded
def statistics(d):
    x = tame(d, d.pick("f", rank=1, filled=True))
    axis = d.integer(0, x.ndim - 1)
    return d.choice([
        lambda: jax.nn.softmax(x, axis), lambda: jax.nn.log_softmax(x, axis),
        lambda: jax.nn.logsumexp(x, axis), lambda: jnp.var(x, axis),
        lambda: jax.nn.standardize(x, axis), lambda: jnp.diff(x, axis=axis),
        lambda: lax.cumlogsumexp(x, axis, reverse=d.chance()), lambda: jnp.median(x, axis),
        lambda: jnp.trapezoid(x, axis=axis), lambda: jnp.quantile(x, 0.3, axis),
        lambda: jnp.linalg.norm(x + 2, axis=axis), lambda: jnp.ptp(x, axis)])()


@exact
def selections(d):
    x = d.pick("fik", filled=True)
    function = d.choice([jnp.any, jnp.all] if kind(x) == "k" else [jnp.max, jnp.min])
    return function(x, axis=d.some(range(x.ndim)), keepdims=d.chance())


@jumps
def positions(d):
    x = d.pick("fi", rank=1, filled=True)
    return d.choice([jnp.argmax, jnp.argmin])(x, d.integer(0, x.ndim - 1))


@exact
def own_reductions(d):
    x = d.pick("i", rank=1)
    y = fit(d.like(x), x.shape)
    axes = d.some(range(x.ndim))
    if d.chance():
        return lax.reduce(x, x.dtype.type(0), lax.bitwise_xor, axes)
    limits = jnp.iinfo(x.dtype)
    return lax.reduce((x, y), (x.dtype.type(limits.min), x.dtype.type(limits.max)), lambda a, b: (
        jnp.maximum(a[0], b[0]), jnp.where(a[0] == b[0], jnp.minimum(a[1], b[1]),
                                           jnp.where(a[0] > b[0], a[1], b[1]))), axes)[1]


@rounded
def windows(d):
    x = d.pick("fi", rank=1)
    functions = [(lax.add, 0), (lax.max, -100), (lax.min, 100)] + [(lax.mul, 1)] * (not d.smooth)
    function, start = d.choice(functions)
    if function in (lax.max, lax.min) and kind(x) == "i" and jnp.iinfo(x.dtype).min == 0:
        function, start = lax.max, 0
    window = [d.integer(1, 3) for _ in x.shape]
    y = lax.reduce_window(
        tame(d, x), x.dtype.type(start), function, window, [d.integer(1, 3) for _ in window],
        [(d.integer(0, 2), d.integer(0, 2)) for _ in window],
        base_dilation=[d.choice([1, 1, 1, 2]) for _ in window],
        window_dilation=[d.choice([1, 1, 2]) for _ in window])
    return tame(d, y)


@rounded
def running(d):
    x = d.pick("fic", rank=1)
    return tame(d, d.choice([lax.cumsum, lax.cumprod])(
        tame(d, x), d.integer(0, x.ndim - 1), reverse=d.chance()))


@exact
def running_extremes(d):
    x = d.pick("fi", rank=1)
    return d.choice([lax.cummax, lax.cummin])(x, d.integer(0, x.ndim - 1), reverse=d.chance())


@rounded
def recurrences(d):
    x = tame(d, d.pick("f", rank=1, filled=True))
    return lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
                                (x, tame(d, fit(d.like(x), x.shape))),
                                reverse=d.chance(), axis=d.integer(0, x.ndim - 1))[1]


@exact
def sorts(d):
    x = d.pick("fi", rank=1)
    return d.choice([jnp.sort(x, d.integer(0, x.ndim - 1), descending=d.chance()),
                     lax.top_k(x, d.integer(0, x.shape[-1]))[0]])


@jumps
def sorts_of_several(d):
    x = d.pick("fi", rank=1)
    others = [fit(d.pick("fick"), x.shape) for _ in range(d.integer(1, 3))]
    keys = 1 + (kind(others[0]) != "c" and d.chance())
    axis = d.integer(0, x.ndim - 1)
    return lax.sort((x, *others), dimension=axis, num_keys=keys)[d.integer(0, 1)]


@jumps
def orders(d):
    x = d.pick("fi", rank=1, filled=True)
    return d.choice([
        lambda: jnp.argsort(x, stable=True), lambda: lax.top_k(x, d.integer(0, x.shape[-1]))[1],
        lambda: jnp.searchsorted(jnp.sort(x.ravel()), fit(d.like(x), (7,))),
        lambda: jnp.unique(x, size=6, fill_value=0), lambda: jnp.nonzero(x, size=5)[0],
        lambda: jnp.bincount(jnp.clip(x, 0, 9).ravel().astype(jnp.int32), length=8)])()


# Products.

@rounded
def products(d):
    batch, summed, left, right = (f"{name}{name.upper()}"[:d.integer(0, 2)] for name in "bsmn")
    extents = {name: d.extent() for name in batch + summed + left + right}
    names = [d.shuffled(part) for part in (batch + summed + left, batch + summed + right,
                                           batch + left + right)]
    x = d.pick("fic")
    x, y = (fit(v, [extents[name] for name in part]) for v, part in zip((x, d.like(x)), names))
    return tame(d, jnp.einsum("{},{}->{}".format(*map("".join, names)), tame(d, x), y))


@rounded
def convolutions(d):
    spatial, groups, batches = d.integer(1, 3), d.choice([1, 1, 1, 2, 3]), d.choice([1, 1, 1, 2])
    if groups > 1:
        batches = 1
    extents = [d.integer(1, 9) for _ in range(spatial)]
    window = [d.integer(1, 3) for _ in range(spatial)]
    x = d.pick("fc" if d.chance() else "f")
    inputs = d.integer(1, 5)
    letters = "DHW"[-spatial:]
    specs = ["".join(d.shuffled(s + letters)) for s in ("NC", "OI", "NC")]
    shapes = [dict(zip("NC" + letters, [batches * d.integer(1, 3), groups * inputs] + extents)),
              dict(zip("OI" + letters, [groups * batches * d.integer(1, 5), inputs] + window))]
    image, filters = (fit(v, [s[c] for c in spec])
                      for v, s, spec in zip((tame(d, x), d.like(x)), shapes, specs))
    low = -1 if min(extents) > 1 else 0
    return tame(d, lax.conv_general_dilated(
        image, filters, [d.integer(1, 2) for _ in window],
        [(d.integer(low, 2), d.integer(low, 3)) for _ in window],
        lhs_dilation=[d.choice([1, 1, 2]) for _ in window],
        rhs_dilation=[d.choice([1, 1, 2]) for _ in window],
        feature_group_count=groups, batch_group_count=batches, dimension_numbers=tuple(specs)))


# Transforms and matrices.

@rounded
def transforms(d):
    shape = [d.choice([1, 2, 3, 4, 5, 8, 12, 16]) for _ in range(d.integer(1, 3))]
    x = d.pick("fc")
    x = tame(d, fit(x, shape).astype(d.plain_type() if kind(x) == "f" else x.dtype))
    axes = d.some(range(x.ndim)) or (0,)
    functions = [lambda: jnp.fft.fftn(x, axes=axes), lambda: jnp.fft.ifftn(x, axes=axes),
                 lambda: jnp.fft.irfft(x, axis=axes[0], n=6), lambda: jnp.fft.fftshift(x)]
    if kind(x) == "f":
        functions.append(lambda: jnp.fft.rfftn(x, axes=axes))
    return tame(d, d.choice(functions)())


@rounded
def matrices(d):
    n, rows = d.integer(1, 12), d.integer(1, 5)
    x = d.pick("fc")
    x = tame(d, x.astype(d.plain_type() if kind(x) == "f" else x.dtype))
    batch = (2,) * d.integer(0, 1)
    a = fit(x, (*batch, n, n))
    good = a @ jnp.swapaxes(a.conj(), -1, -2) / n + 2 * jnp.eye(n, dtype=a.dtype)
    b = fit(x, (*batch, n, rows))
    triangle = jnp.tril(a) / n + 2 * jnp.eye(n, dtype=a.dtype)
    return tame(d, d.choice([
        lambda: jnp.linalg.cholesky(good), lambda: jnp.linalg.solve(good, b),
        lambda: jnp.linalg.inv(good), lambda: jnp.linalg.slogdet(good)[1] / n,
        lambda: jnp.linalg.svd(good, compute_uv=False), lambda: jnp.linalg.eigvalsh(good),
        lambda: abs(jnp.linalg.qr(good)[1]), lambda: jax.scipy.linalg.expm(a / n),
        lambda: jax.scipy.linalg.solve_triangular(triangle, b, d.integer(0, 2), lower=True),
        lambda: jnp.linalg.matrix_power(a / n, 3), lambda: jnp.linalg.det(good / 3),
        lambda: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(good), True), b)])())
