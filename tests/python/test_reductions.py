"""Reductions, windows, products, convolutions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2), (0, 1)])
def test_reductions_over_axes(agree, rng, axis):
    agree(lambda x: (x.sum(axis), x.max(axis), x.min(axis), x.mean(axis), x.var(axis)),
          floats(rng, 6, 17, 33))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "float16",
                                   "bfloat16", "float64"])
def test_reductions_of_dtypes(agree, rng, x64, dtype):
    x = (rng.normal(size=(9, 40)) * 4).astype(jnp.dtype(dtype))
    agree(lambda v: (v.sum(1), v.max(0), v.min(), jnp.any(v != 0, 1), jnp.all(v != 0, 0)), x)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("order", ["big", "little"])
def test_bits_in_bytes(agree, rng, axis, order):
    """Sums of which the lowest byte is kept, over rows and columns of eight."""
    x = rng.integers(0, 2, (203, 1000)).astype(np.uint8)
    agree(lambda v: jnp.packbits(v, axis=axis, bitorder=order), x)
    agree(lambda v: jnp.packbits(v != 0, bitorder=order), x)
    agree(lambda v: jnp.unpackbits(v, axis=axis, bitorder=order), x * np.uint8(173))


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_that_wrap(agree, rng, x64, axis):
    x = rng.integers(-128, 128, (77, 300)).astype(np.int8)
    agree(lambda v: v.sum(axis).astype(np.int8), x)
    agree(lambda v: v.astype(np.int64).prod(axis).astype(np.uint16), x)
    agree(lambda v: (v.astype(np.int32) * 77 - v.astype(np.uint8)).astype(np.int8), x)


# Of 8 MB and more: strips of columns, whole rows of them or pieces, with and without a rest.
IN_MEMORY = [((2100, 1001), 0), ((99, 43103), 0), ((640, 5003), 0), ((517, 4100), 0),
             ((131, 20011), 0), ((39, 60000), 0), ((5, 700, 650), 1), ((33, 9, 9, 800), (0, 1, 2)),
             ((2, 1031, 1100), (0, 1))]


@pytest.mark.parametrize("shape, axis", IN_MEMORY)
def test_columns_of_large_arrays(agree, rng, shape, axis):
    x, y = (rng.integers(-8, 9, shape).astype(np.float32) for _ in range(2))
    agree(lambda v: v.sum(axis), x)
    agree(lambda v: (jnp.where(v > 0, v, 0), jnp.where(v > 0, v, 0).sum(axis)), x)
    agree(lambda v, w: ((v * w).sum(axis), (v * w).max(axis)), x, y)


@pytest.mark.thorough
@pytest.mark.parametrize("length", [2, 3, 4, 5, 6, 7, 8, 9])
@pytest.mark.parametrize("rows", [(3,), (33,), (70, 13), (5, 3, 41), (2000,)])
def test_scans_of_short_rows(agree, rng, x64, length, rows):
    """Of which a vector holds several."""
    axis = len(rows)
    for dtype in ("uint8", "float16", "int32", "float32", "float64"):
        x = rng.integers(-4, 5, (*rows, length)).astype(dtype)
        agree(lambda v: jax.lax.cumsum(v, axis), x)
        agree(lambda v: jax.lax.cummax(v, axis, reverse=True), x)
        agree(lambda v, w: jax.lax.cumprod(jnp.minimum(v, 1) + w, axis) - v[..., :1], x,
              x[(0,) * axis] // np.asarray(4, x.dtype))
        agree(lambda v, w: jax.lax.cumsum(v * w, axis, reverse=True), x, x[(0,) * axis])


# Parts of all elements, the last one not full; of thin dimensions, which are joined.
THIN = [(81619, 2), (20011, 7, 3), (67, 1009, 2), (3, 50021), (150011,), (20149, 43, 3)]


@pytest.mark.parametrize("shape", THIN)
@pytest.mark.parametrize("dtype", ["int32", "float16", "float32"])
def test_all_of_thin_arrays(agree, rng, shape, dtype):
    x = rng.integers(-8, 9, shape).astype(dtype)
    agree(lambda v: (v.max(), v.min(), jnp.argmax(v)), x)
    agree(lambda v: (v.astype(np.float32) * np.float32(2) + 1).sum(), x)
    agree(lambda v, w: (v.astype(np.float32) * w).sum(), x,
          rng.integers(-3, 4, shape[-1:]).astype(np.float32))
    agree(lambda v: jax.nn.logsumexp(v.astype(np.float32)), x)
    agree(lambda v: (v.T.astype(np.float32) + np.float32(1)).sum(), x)


@pytest.mark.parametrize("shape, axis", [((60713, 3), 0), ((40009, 7), 0), ((3, 70003), 1),
                                         ((2, 30011, 3), 1), ((200003,), 0)])
@pytest.mark.parametrize("dtype", ["int32", "float32", "bfloat16"])
def test_places_in_parts(agree, rng, shape, axis, dtype):
    """Of equal elements the first, and of NaNs."""
    x = rng.integers(-50, 51, shape).astype(jnp.dtype(dtype))
    agree(lambda v: (jnp.argmax(v, axis), jnp.argmin(v, axis)), x)
    if dtype != "int32":
        x[rng.integers(0, 2, shape) * rng.integers(0, 2, shape) * (x > 40) > 0] = np.nan
        agree(lambda v: (jnp.argmax(v, axis), jnp.argmin(v, axis)), x)
        agree(lambda v: jnp.argmax(v, axis), np.full_like(x, -np.inf))


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(501, 4), (501, 7), (501, 10), (67, 33), (45, 5, 5), (45, 9, 9),
                                   (7, 16, 8), (3, 70, 20)])
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float32"])
def test_places_in_few(agree, rng, shape, dtype):
    """In short rows and columns, where the elements come in order, and merged from lanes."""
    x = rng.integers(0, 4, shape).astype(dtype)
    arrays = [x]
    if dtype.startswith("float"):
        some = rng.integers(0, 4, shape) == 0
        arrays += [np.where(some, np.array(np.nan, dtype), x), np.full_like(x, -np.inf),
                   np.where(some, np.array(-np.inf, dtype), x)]
    for v in arrays:
        for axis in range(x.ndim):
            agree(lambda v: (jnp.argmax(v, axis), jnp.argmin(v, axis), v.max(axis)), v)
        agree(lambda v: (jnp.argmax(v[..., ::-1], -1), jnp.argmin(v.T, 0)), v)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float32", "bool"])
@pytest.mark.parametrize("pairs, length", [((30, 20), 3), ((9, 70), 5), ((2, 40, 17), 8), ((33, 8), 31),
                                           ((20, 33), 40)])
def test_rows_of_pairs(agree, rng, pairs, length, dtype):
    """Reduced across the pairs, of what is spread over them along either side, or both."""
    a, b = (rng.integers(0, 4, (*pairs[:-2], n, length)).astype(dtype) for n in pairs[-2:])
    w = rng.integers(0, 4, length).astype(dtype)
    x, y = a[..., :, None, :], b[..., None, :, :]
    agree(lambda x, y: ((x <= y).all(-1), (x != y).any(-1), (x == y).sum(-1)), x, y)
    agree(lambda x, y, w: ((x | w) ^ y if dtype == "bool" else jnp.where(x > w, x, y)).max(-1),
          x, y, w)
    agree(lambda x, y: (jnp.argmax(x != y, -1), jnp.argmin((x < y).astype(np.int8), -1)), x, y)
    if dtype != "bool":
        agree(lambda x, y, w: ((x + y) * w).sum(-1, dtype=np.float32), x, y, w)
        agree(lambda x, y, w: (jnp.maximum(x, y) + w).min(-1).sum(-1, dtype=np.int32), x, y, w)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_best_and_its_place(agree, rng, dtype):
    """Both results of the one reduction are read."""
    def best(v, axis):
        places = jax.lax.broadcasted_iota(np.int32, v.shape, axis)
        def body(a, b):
            first = (a[0] > b[0]) | (a[0] != a[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
            return jnp.where((a[0] > b[0]) | (a[0] != a[0]), a[0], b[0]), jnp.where(first, a[1], b[1])
        return jax.lax.reduce((v, places), (np.array(-100, dtype), np.int32(0)), body, (axis,))
    for shape in [(33, 5), (5, 33), (20, 100)]:
        x = rng.integers(-9, 9, shape).astype(dtype)
        for axis in (0, 1):
            agree(lambda v: best(v, axis), x)
            agree(lambda v: best(v, axis)[0], x)
            agree(lambda v: best(v, axis)[1], x)


@pytest.mark.parametrize("dtype", ["int8", "int32", "bfloat16", "float64", "complex64"])
def test_columns_of_large_arrays_of_dtypes(agree, rng, x64, dtype):
    x = rng.integers(-3, 4, (2100, 4100)).astype(jnp.dtype(dtype))
    if dtype != "complex64":
        agree(lambda v: (v.max(0), v.argmin(0), jnp.any(v > 2, 0)), x)
    agree(lambda v: v[:40].sum(0), x)
    agree(lambda v: v.sum(0), x.ravel()[:99 * 43103].reshape(99, 43103))
    agree(lambda v: v.sum(0, dtype=jnp.promote_types(v.dtype, np.float32)), x)


@pytest.mark.parametrize("shape", [(4, 9, 9, 300), (16, 20, 20, 65), (40, 31, 64), (3000, 70),
                                   (9, 4, 6000)])
def test_batch_norm(agree, rng, shape):
    """Sums of one array and of what follows from it, in one pass where they go over it alike."""
    axes = tuple(range(len(shape) - 1))
    x, weights = floats(rng, *shape), floats(rng, *shape)
    scale, offset = floats(rng, shape[-1]), floats(rng, shape[-1])

    def norm(v, s, o):
        mean = v.mean(axes)
        variance = (v * v).mean(axes) - mean * mean
        return (v - mean) * jax.lax.rsqrt(variance + 1e-5) * s + o

    def loss(v, s, o):
        return (jax.nn.relu(norm(v, s, o)) * weights).sum()

    agree(norm, x, scale, offset)
    agree(jax.grad(loss, (0, 1, 2)), x, scale, offset, scale=8)
    agree(lambda v: (v.min(axes), v.mean(axes), jnp.abs(v).sum(axes), v.max(), v.std()), x)


def test_reductions_of_nothing(agree):
    agree(lambda x: (x.sum(0), x.sum(1), x.prod(0)), np.zeros((0, 4), np.float32))


def test_argmax_and_ties(agree, rng):
    x = rng.integers(0, 5, (20, 31)).astype(np.float32)
    agree(lambda v: (v.argmax(), v.argmax(0), v.argmin(1), jnp.nanargmax(v, 1)), x)


def test_nan_in_max(agree):
    x = np.array([[1, np.nan, 3], [4, 5, 6]], np.float32)
    agree(lambda v: (v.max(1), v.min(0), jnp.nanmax(v)), x)


@pytest.mark.parametrize("shape", [(4, 8), (3, 1000), (2, 5, 77)])
def test_softmax_and_norm(agree, rng, shape):
    def norm(x):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
    agree(lambda x: (jax.nn.softmax(x), jax.nn.log_softmax(x, 0), norm(x),
                     jax.nn.logsumexp(x, -1)), floats(rng, *shape))


@pytest.mark.parametrize("shape, axes", [((50, 10), 1), ((1001, 7), 1), ((33, 9, 12), 2),
                                         ((70, 3, 4), (1, 2)), ((65, 17), 1), ((8, 40, 5), (0, 2)),
                                         ((64, 100), 1), ((7, 41, 60), 2), ((90, 4, 9), (1, 2)),
                                         ((47, 300), 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_short_rows(agree, tercel, rng, x64, dtype, shape, axes):
    x = rng.normal(size=shape).astype(jnp.dtype(dtype))
    x[5, ..., 0] = -np.inf
    last = axes if isinstance(axes, int) else axes[-1]
    agree(lambda x: (x.max(axes), x.min(axes), x.argmax(last), jax.nn.softmax(x, axes),
                     (x * x).sum(axes)), x)
    x[3, ..., 1] = np.nan  # which XLA:CPU does not always find
    for name in ("max", "min"):
        got = jax.jit(lambda x: getattr(x, name)(axes))(jax.device_put(x, tercel))
        np.testing.assert_array_equal(np.asarray(got, np.float64),
                                      getattr(x.astype(np.float64), name)(axes))


def test_rows_in_place(agree, rng):
    x = rng.normal(size=(75, 40)).astype(np.float32)
    agree(lambda x: jax.lax.fori_loop(0, 3, lambda _, v: jax.nn.softmax(v * 2), x), x)
    agree(lambda x: jax.lax.scan(lambda v, _: (jax.nn.softmax(v, 1) + x, v.max(1)), x, None, 4), x)


@pytest.mark.parametrize("shape", [(1000, 300), (2500, 260), (700, 257), (300, 900)])
def test_softmax_of_columns(agree, rng, shape):
    x = rng.normal(size=shape).astype(np.float32)
    x[7, 3], x[:, 11] = -np.inf, np.nan
    agree(lambda x: (jax.nn.softmax(x, 0), jax.nn.log_softmax(x, 0),
                     (x - x.mean(0)) / (x.std(0) + 1)), x)


@pytest.mark.parametrize("shape", [(9, 70), (16, 64), (7, 300), (4, 3, 33)])
def test_what_columns_share_is_stored_whole(agree, rng, shape):
    """What lies along the columns and is needed by the sums over rows and by a product."""
    def function(x, y, weights, vector):
        shifted = x * 2 + 1
        apart = shifted - y
        shares = apart / (apart * apart).sum(0)
        return shares.reshape(len(y), -1).T @ weights, jnp.tensordot(shifted, vector, x.ndim)
    agree(function, floats(rng, *shape[1:]), floats(rng, *shape), floats(rng, shape[0], 5),
          floats(rng, *shape[1:], 11))


def test_cumulative(agree, rng):
    agree(lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), jnp.maximum.accumulate(x)),
          floats(rng, 5, 40))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape,axis", [((4099,), 0), ((7, 33), 0), ((7, 33), 1), ((5, 6, 7), 1),
                                        ((1, 300), 1), ((0, 3), 1), ((130, 3), 0)])
def test_scans(agree, rng, shape, axis, reverse):
    agree(lambda v: (jax.lax.cumsum(v * v, axis, reverse) - v, jax.lax.cummax(v, axis, reverse),
                     jax.lax.cumlogsumexp(v, axis, reverse)), floats(rng, *shape))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("size", [260, 20])
def test_scans_of_what_lies_in_another_order(agree, rng, size, reverse):
    x, y = (jnp.asarray(rng.integers(-50, 50, size), jnp.int32) for _ in range(2))
    scan = jax.lax.cumsum if size == 20 else jax.lax.cummax
    for low, high, inside in ((2, -1, 1), (4, -1, 1), (6, 0, 2), (-1, 3, 3), (0, 1, 3)):
        agree(lambda x: scan(jax.lax.pad(x, jnp.int32(1), [(low, high, inside)]), 0, reverse), x)
    for order in (lambda x, y: jnp.stack([x, y], -1), lambda x, y: jnp.repeat(x, 4),
                  lambda x, y: jnp.stack([x, y, x + y]).T, lambda x, y: jnp.tile(x, 3)[1::2],
                  lambda x, y: jnp.stack([x, y]).T.reshape(-1, 4)[:, ::-1]):
        agree(lambda x, y: scan(order(x, y).ravel(), 0, reverse), x, y)


def test_scans_of_short_rows_beside_a_number(agree, rng):
    """In the loop over whole blocks and in that over the last one, the number is read anew."""
    x = jnp.asarray(rng.integers(-9, 9, (1134, 2)), jnp.int32)
    for reverse in (False, True):
        agree(lambda x: jax.lax.cumsum(x.max() - x, 1, reverse), x)
        agree(lambda x, n: jax.lax.cummax(x * n, 1, reverse) + n, x, jnp.int32(3))


@pytest.mark.native
def test_scan_of_a_million():
    x = jnp.ones(1_000_003, jnp.int32)
    assert int(jnp.cumsum(x)[-1]) == 1_000_003


def test_scans_of_special_numbers(agree):
    x = np.array([1, np.nan, 3, np.inf, -np.inf, -0.0] * 7, np.float32).reshape(6, 7)
    agree(lambda v: (jnp.cumsum(v, 0), jax.lax.cummin(v, 1, True), jax.lax.cummax(v.T, 0)), x)


@pytest.mark.parametrize("window,stride,padding", [
    ((64, 1), 1, "SAME"), ((1, 77), 2, [(0, 0), (5, 90)]), ((300, 1), 1, "VALID"),
    ((8, 9), 1, "SAME"), ((16, 5), 2, "VALID"), ((64, 1), 1, [(-3, -7), (0, 0)])])
def test_wide_windows(agree, rng, window, stride, padding):
    def both(v):
        strides = (stride, stride)
        return (jax.lax.reduce_window(v, 0.0, jax.lax.add, window, strides, padding),
                jax.lax.reduce_window(v, -np.inf, jax.lax.max, window, strides, padding))

    x = floats(rng, 401, 103) / 8
    agree(both, x)
    x[17, 3], x[200, 50] = np.nan, np.inf
    agree(lambda v: both(v)[1], x)


# Large enough to be made in parts; no part's size divides the primes.
@pytest.mark.parametrize("shape", [(200_003,), (400, 401), (3, 50_021), (50_021, 3), (131, 1009)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "bfloat16", "float32", "float64"])
def test_reductions_in_parts(agree, rng, x64, shape, dtype):
    x = (rng.normal(size=shape) / 8).astype(jnp.dtype(dtype))
    agree(lambda v: (v.sum(), v.sum(0), v.max(), v.min(0), v.any(), v.all(-1)), x)


def test_nan_in_parts(tercel):
    x = np.ones((131, 1009), np.float32)
    x[17, 3] = np.nan
    y = jax.device_put(x, tercel)
    assert np.isnan(y.max()) and np.isnan(y.sum()) and float(jnp.nansum(y)) == 131 * 1009 - 1


def test_differences_of_pairs(agree, rng):
    def forces(x):
        delta = x[:, None] - x[None]
        distance = (delta * delta).sum(-1) + 1e-2
        return (delta * (distance ** -1.5)[..., None]).sum(1)

    agree(forces, floats(rng, 129, 3) / 8)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "float16", "bfloat16"])
@pytest.mark.parametrize("length", [3, 16, 33, 64, 130])
def test_pairs_of_rows_of_narrow_elements(agree, rng, dtype, length):
    x = rng.integers(0, 4, (37, length)).astype(jnp.dtype(dtype))
    y = rng.integers(0, 4, (50, length)).astype(jnp.dtype(dtype))
    agree(lambda x, y: (x[:, None] == y[None]).sum(-1), x, y)
    agree(lambda x, y: jnp.where(x[:, None] > y[None], x[:, None], y[None]).max(-1), x, y)
    agree(lambda x, y: (x[:, None] != y[None]).any(-1), x, y)


def test_gradient_of_a_sum_over_pairs(agree, rng):
    """Adds up along the rows of what it keeps of the pairs and across them, flags among it."""
    def energy(x, weight):
        delta = jnp.mod(x[:, None] - x[None] + 1, 2) - 1
        squares = (delta * delta).sum(-1)
        distance = jnp.sqrt(jnp.where(squares > 0, squares, 1))
        near = (squares > 0) & (distance < 1)
        return (jnp.where(near, (1 - distance) ** 2, 0) * weight).sum()

    agree(jax.grad(energy, (0, 1)), floats(rng, 97, 3), floats(rng, 97, 97))


@pytest.mark.native
@pytest.mark.parametrize("shape,axes", [((3, 20000, 16), 1), ((20001, 24), 0),
                                        ((5, 300, 70, 16), (1, 2)),
                                        ((40, 60, 3, 50, 8), (0, 2, 3))])
def test_long_sums_keep_their_digits(tercel, rng, shape, axes):
    """Added up one after another, the 20000 terms would lose two more digits."""
    x = np.abs(floats(rng, *shape))
    x = jax.device_put(x, tercel)
    sums = jax.jit(lambda v: (v.sum(axes), (v * v).sum(axes), v.mean(axes)))(x)
    exact = np.asarray(x).astype(np.float64)
    for got, expected in zip(sums, (exact.sum(axes), (exact ** 2).sum(axes), exact.mean(axes))):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [(70, 90), (31, 200, 3), (5, 40, 40)])
def test_sums_along_both_dimensions_of_one_value(agree, rng, shape):
    def both(x, y):
        z = jnp.exp(x * y) - x
        return z.sum(0), (z * z).max(1), z, z > 0

    agree(both, floats(rng, *shape), floats(rng, *shape))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "bfloat16", "float32", "float64",
                                   "complex64"])
def test_turning_large_matrices(tercel, x64, dtype):
    x = (np.arange(3001 * 1503) % 251).astype(jnp.dtype(dtype)).reshape(3001, 1503)
    y = jax.jit(lambda v: (v.T, v.T != 3))(jax.device_put(x, tercel))
    assert (np.asarray(y[0]) == x.T).all() and (np.asarray(y[1]) == (x.T != 3)).all()


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("window,stride", [((2, 2), (2, 2)), ((3, 3), (1, 2)), ((1, 3), (2, 1))])
def test_pooling_and_its_gradient(agree, rng, padding, window, stride):
    def pool(x, init, op):
        return jax.lax.reduce_window(x, init, op, (1, *window, 1), (1, *stride, 1), padding)
    agree(lambda x: (pool(x, -jnp.inf, jax.lax.max), pool(x, 0.0, jax.lax.add),
                     jax.grad(lambda v: (pool(v, -jnp.inf, jax.lax.max) ** 2).sum())(x)),
          floats(rng, 2, 9, 10, 3))


@pytest.mark.parametrize("spec,left,right", [
    ("ij,jk->ik", (5, 7), (7, 3)), ("ij,kj->ik", (33, 65), (17, 65)), ("ij,j->i", (40, 50), (50,)),
    ("bij,bjk->bik", (6, 4, 5), (6, 5, 3)), ("bhqd,bhkd->bhqk", (2, 3, 8, 4), (2, 3, 9, 4)),
    ("i,j->ij", (6,), (7,)), ("ijk,kjl->il", (4, 5, 6), (6, 5, 3)), ("i,i->", (100,), (100,)),
    ("bqhd,bkhd->bhqk", (2, 8, 3, 4), (2, 9, 3, 4))])
def test_products(agree, rng, spec, left, right):
    agree(lambda a, b: jnp.einsum(spec, a, b), floats(rng, *left), floats(rng, *right), scale=5)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "float16", "bfloat16", "float64",
                                   "complex64"])
def test_product_dtypes(agree, rng, x64, dtype):
    x, y = ((rng.normal(size=s) * 3).astype(jnp.dtype(dtype)) for s in ((9, 20), (20, 6)))
    agree(lambda a, b: a @ b, x, y, scale=20)


def test_product_with_epilogue_and_gradient(agree, rng):
    def layer(w, b, x):
        return jax.nn.gelu(x @ w + b).sum()
    agree(jax.grad(layer, (0, 1, 2)), floats(rng, 20, 30), floats(rng, 30), floats(rng, 11, 20),
          scale=20)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("stride,dilation,groups", [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 4),
                                                    (2, 1, 2)])
def test_convolutions_and_gradients(agree, rng, layout, stride, dilation, groups):
    shape = (2, 9, 8, 4) if layout == "NHWC" else (2, 4, 9, 8)
    weights = "HWIO" if layout == "NHWC" else "OIHW"
    kernel = (3, 3, 4 // groups, 8) if layout == "NHWC" else (8, 4 // groups, 3, 3)

    def convolve(x, w):
        return jax.lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", rhs_dilation=(dilation, dilation),
            feature_group_count=groups, dimension_numbers=(layout, weights, layout))

    def loss(x, w):
        return (convolve(x, w) ** 2).sum()

    agree(lambda x, w: (convolve(x, w), jax.grad(loss, (0, 1))(x, w)), floats(rng, *shape),
          floats(rng, *kernel), scale=20)


def test_convolutions_of_other_ranks(agree, rng):
    def convolve(x, w, stride):
        return jax.lax.conv_general_dilated(x, w, stride, "SAME")
    agree(lambda a, b, c, d: (convolve(a, b, (2,)), convolve(c, d, (1, 1, 2)),
                              jax.lax.conv_transpose(a, b.transpose(2, 1, 0), (2,), "SAME",
                                                     dimension_numbers=("NCH", "HIO", "NCH"))),
          floats(rng, 2, 3, 11), floats(rng, 5, 3, 4), floats(rng, 1, 2, 5, 6, 7),
          floats(rng, 3, 2, 2, 3, 2), scale=20)


def test_long_sums_of_products_stay_exact(tercel):
    rng = np.random.default_rng(0)
    a, b = (rng.random(shape, dtype=np.float32) for shape in ((3, 20000), (20000, 17)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    with jax.default_device(tercel):
        got = np.asarray(jax.jit(jnp.matmul)(a, b))
    assert np.max(np.abs(got - exact) / exact) < 1e-6


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape, axis", [((7, 1000), 1), ((500, 7), 0), ((20000,), 0),
                                         ((33, 65), 1), ((8, 100, 3), 1)])
def test_place_of_the_first_nan(tercel, x64, shape, axis, dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype)
    x[rng.random(shape) < 0.02] = np.nan
    for ours, theirs in ((jnp.argmax, np.argmax), (jnp.argmin, np.argmin)):
        place = jax.jit(lambda v, f=ours: f(v, axis=axis))(jax.device_put(x, tercel))
        np.testing.assert_array_equal(np.asarray(place), theirs(x, axis=axis))


TWOS = (2,) * 10
ORDER = (3, 0, 7, 1, 9, 2, 8, 4, 6, 5)


def dot_of_twos(a):
    sums = tuple(range(1, 10))
    return jax.lax.dot_general(a + 1j * a[::-1], jnp.transpose(a - 2j, ORDER),
                               ((sums, sums), ((), ())))


def reduce_of_twos(a):
    def larger_and_sum(p, q):
        return jnp.where(p[0] > q[0], p[0], q[0]), p[1] + q[1]

    return jax.lax.reduce((a, jnp.transpose(a, ORDER)), (jnp.float32(-9), jnp.float32(0)),
                          larger_and_sum, (0, 2, 4, 5, 6, 7, 8))


def windows_of_twos(a):
    return jax.lax.reduce_window(a, 0.0, jax.lax.add, (2,) * 8 + (1, 1), (1,) * 10, "SAME")


def pools_of_twos(a):
    window = (2,) * 8 + (1, 1)
    pooled = jax.lax.reduce_window(a, -jnp.inf, jax.lax.max, window, window, "VALID")
    return (pooled * jnp.float32([1, 2])).sum()


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16", "float32", "float64"])
@pytest.mark.parametrize("length", [*range(2, 14), 16, 17, 20, 33])
def test_rows_of_a_few(agree, rng, x64, dtype, length):
    x = (rng.normal(size=(150, length)) * 4).astype(dtype)
    order = rng.permutation(length)
    agree(lambda x: (x.sum(1), x.max(1), (x > 0).all(1), jnp.any(x == x[:, :1], 1)), x)
    agree(lambda x: (x[:, ::-1], x[:, order], jnp.stack([x, x[::-1]], -1), x.ravel()[1::length],
                     x.ravel()[2:2 - length:length], x[:, 1::2]), x)


@pytest.mark.parametrize("function", [dot_of_twos, reduce_of_twos, windows_of_twos,
                                      jax.grad(pools_of_twos)],
                         ids=["dot", "reduce", "window", "pool"])
def test_many_short_dimensions(agree, rng, function):
    """As of qubits: code for each of their elements would take seconds to compile."""
    x = floats(rng, *TWOS)
    agree(function, x)
    code = jax.jit(function).lower(x).compile().memory_analysis().generated_code_size_in_bytes
    assert code <= 1 << 15


@pytest.mark.parametrize("length", [3, 8, 10, 12, 13])
def test_short_rows_of_narrow_elements(agree, rng, length):
    flags = rng.integers(0, 2, (1003, length)).astype(bool)
    small = rng.integers(-128, 128, (1003, length)).astype(np.int8)
    weights = jnp.arange(length, dtype=jnp.uint8) % 8
    agree(lambda x, y: (x.any(-1), x.all(-1), y.max(-1), y.sum(-1), x[:, ::-1], x[::2],
                        (x.astype(jnp.uint8) << weights).sum(-1, dtype=jnp.uint8)), flags, small)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int32", "uint8"])
@pytest.mark.parametrize("length", [2, 3, 5, 8, 10, 12, 16])
def test_turned_rows(agree, rng, x64, length, dtype):
    x = jnp.asarray(rng.integers(0, 40, (7, 53, length))).astype(dtype)
    bias = jnp.asarray(rng.integers(0, 40, length)).astype(dtype)
    agree(lambda x: (x.max(-1), x.max(-1, keepdims=True) - x, x.sum(-1, dtype=x.dtype)), x)
    agree(lambda x, b: (x + b) + jnp.flip(x, -1).min(-1, keepdims=True) * (x + b).max(-1)[..., None],
          x, bias)
    agree(lambda x: (jnp.argmax(x, -1), x == x.max(-1, keepdims=True), x.min((0, 2))), x)
    agree(lambda x: jnp.roll(x, 1, 1) + x.max(-1, keepdims=True), x)
    agree(lambda x: x.sum(-1, keepdims=True, dtype=x.dtype) + sum(x[i:i + 1, 1:2] for i in range(6)) + x,
          x)
    if dtype.startswith("float"):
        agree(lambda x, b: jax.nn.softmax(x * 0.1 + b * 0.1, -1), x, bias)
        agree(lambda x: jax.nn.softmax(jnp.sin(x * jnp.ones((4, 1, 1, 1), x.dtype)), -1), x)
        agree(lambda x: jax.nn.standardize(x * 0.1, -1, epsilon=1), x)  # squares that f16 tells apart


def test_turned_rows_and_single_ones(agree, rng):
    for rows in (320, 333):
        x = jnp.asarray(rng.normal(size=(rows, 10)), jnp.float32)
        agree(lambda x: (x + sum(x[i:i + 1] for i in range(6))).max(-1), x)
        agree(lambda x: jax.nn.softmax(x + sum(x[i:i + 1] for i in range(6)), -1), x)
        agree(lambda x: jax.lax.fori_loop(0, 3, lambda i, y: jax.nn.softmax(y * 3, -1), x), x)
        once = jax.jit(lambda x: jax.nn.softmax(x, -1), donate_argnums=0)
        np.testing.assert_allclose(once(x + 0), jax.nn.softmax(np.asarray(x), -1), 1e-5)


SPECIAL = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0]


# Lines of few numbers are compared side by side: with equal ones in their order, NaN last.
@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "float16", "bfloat16", "float32",
                                   "float64", "complex64"])
@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_short_lines_are_sorted(agree, x64, rng, dtype, length):
    is_number = jnp.issubdtype(dtype, jnp.inexact)
    numbers = rng.choice(SPECIAL, (200, length)) if is_number else rng.integers(0, 4, (200, length))
    x, tags = numbers.astype(jnp.dtype(dtype)), rng.permutation(200 * length).reshape(200, length)
    agree(lambda x: (jnp.argsort(x, 1), jnp.argsort(x.T, 0, descending=True), jnp.sort(x, 1)), x)
    agree(lambda x, t: jax.lax.sort((x, t), num_keys=1), x, tags)
    agree(lambda x, t: jax.lax.sort((x % 2, x, t), num_keys=2) if x.dtype.kind in "iu" else x, x, tags)
    agree(lambda x: jax.lax.fori_loop(0, 3, lambda i, x: jnp.roll(jnp.sort(x), 1), x), x[0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool"])
@pytest.mark.parametrize("width", [2, 3, 5, 8, 10, 16, 31, 64, 200])
def test_flags_of_rows(agree, rng, x64, dtype, width):
    x = rng.integers(0, 2, (50, width)) * rng.integers(0, 2, (50, 1))
    x[7], x[8] = 1, 0
    x = x.astype(dtype)
    agree(lambda x: ((x > 0).any(1), (x > 0).all(1), jnp.any(x), jnp.all(x > 0), (x > 0).any(0),
                     (x > 0).all(1) & (x < 1).any(1),
                     jax.lax.reduce(x > 0, False, jax.lax.max, [1]),
                     jax.lax.reduce(x > 0, True, jax.lax.min, [1]),
                     jax.lax.reduce(x > 0, False, jax.lax.bitwise_xor, [1])), x)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "bfloat16", "int16", "float64"])
@pytest.mark.parametrize("width", [2, 3, 5, 6, 8, 9, 16, 17])
def test_flags_of_short_rows(agree, rng, x64, width, dtype):
    x = rng.integers(0, 9, (211, width)).astype(dtype)
    agree(lambda x: x == x.max(-1, keepdims=True), x)
    agree(lambda x: jnp.where(x <= x.min(-1, keepdims=True), x, 1), x)
    agree(lambda x: (x < x.max(-1, keepdims=True), x.max(-1), x - x.min(-1, keepdims=True)), x)
    agree(lambda x: (x.reshape(-1, width, 1) != x.max(-1)[:, None, None])[:, ::-1], x)


@pytest.mark.parametrize("shape", [(5, 6, 20), (4, 7, 11), (3, 60, 60)], ids=str)
def test_columns_of_a_line_that_is_found(agree, rng, shape):
    """A line at a place of run time, spread over columns: those lie in vectors all the same."""
    lines = rng.normal(size=shape).astype(np.float32)
    other = rng.normal(size=(*shape[1:], 13)).astype(np.float32)
    for axis in (0, 1, 2):
        agree(lambda d, e, i, axis=axis: (jnp.sum(d[i][:, :, None] * e, axis),
                                          jnp.min(d[i][:, :, None] + e, axis)),
              lines, other, np.int32(2))
    agree(lambda d, e, i: jnp.max(d[i][:, :, None] * e, 1), lines, other,
          rng.integers(0, shape[0], 4).astype(np.int32)[0])
