"""Convolutions of all shapes: lines of outputs that tiles and tasks go over."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

pytestmark = pytest.mark.lesser_cpus

SPACES = {1: "W", 2: "HW", 3: "DHW"}


def shape_of(seed):
    rng = np.random.default_rng(seed)
    dimensions = int(rng.integers(1, 4))
    largest = {1: 70, 2: 19, 3: 8}[dimensions]
    return {
        "spatial": [int(rng.integers(3, largest)) for _ in range(dimensions)],
        "window": [int(rng.integers(1, 4)) for _ in range(dimensions)],
        "strides": [int(rng.integers(1, 3)) for _ in range(dimensions)],
        "dilation": [int(rng.integers(1, 3)) for _ in range(dimensions)],
        "batch": int(rng.integers(1, 5)),
        "channels": int(2 ** rng.uniform(0, 6)),
        "features": int(2 ** rng.uniform(0, 6)),
        "padding": "SAME" if rng.integers(2) else "VALID",
    }


def convolution(rng, first, shape, **options):
    """A convolution with its image and kernel; first: whether channels come before space."""
    space = SPACES[len(shape["spatial"])]
    image = f"NC{space}" if first else f"N{space}C"
    kernel = f"OI{space}" if first else f"{space}IO"
    sizes = dict(zip(space, shape["spatial"]), N=shape["batch"], C=shape["channels"])
    window = dict(zip(space, shape["window"]), I=shape["channels"], O=shape["features"])
    padding = shape["padding"]
    extents = zip(*(shape[k] for k in ("spatial", "window", "dilation")))
    if padding == "VALID" and any(s <= (w - 1) * d for s, w, d in extents):
        padding = "SAME"

    def convolve(x, w):
        return jax.lax.conv_general_dilated(
            x, w, shape["strides"], padding, rhs_dilation=shape["dilation"],
            dimension_numbers=(image, kernel, image), **options)

    def normal(layout, extents):
        return rng.normal(size=[extents[d] for d in layout]).astype(np.float32)

    return convolve, normal(image, sizes), normal(kernel, window)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_random_shapes_and_their_gradients(agree, rng, first, seed):
    convolve, x, w = convolution(rng, first, shape_of(seed))

    def loss(x, w):
        y = convolve(x, w)
        return (y * y).mean(), y

    agree(jax.value_and_grad(loss, (0, 1), has_aux=True), x, w, scale=10)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_dilated_images(agree, rng, first, seed):
    shape = shape_of(seed)
    own = np.random.default_rng(100 + seed)
    dimensions = len(shape["spatial"])
    shape["strides"] = shape["dilation"] = [1] * dimensions
    shape["padding"] = [tuple(int(p) for p in own.integers(-1, 4, 2)) for _ in range(dimensions)]
    gaps = [int(own.integers(1, 4)) for _ in range(dimensions)]
    convolve, x, w = convolution(rng, first, shape, lhs_dilation=gaps)
    agree(convolve, x, w, scale=10)
    agree(lambda x, w: convolve(x, w[..., ::-1] if first else w[::-1]), x, w, scale=10)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("size, channels, features", [(7, 96, 80), (14, 40, 70), (5, 130, 33),
                                                      (2, 64, 64), (1, 128, 96)])
def test_small_images_with_many_channels(agree, rng, first, size, channels, features):
    shape = {"spatial": [size, size], "window": [3, 3], "strides": [1, 1], "dilation": [1, 1],
             "batch": 3, "channels": channels, "features": features, "padding": "SAME"}
    convolve, x, w = convolution(rng, first, shape)
    agree(lambda x, w: jax.nn.relu(convolve(x, w) / channels + 0.5), x, w, scale=10)
    agree(jax.grad(lambda x, w: (convolve(x, w) ** 2).mean(), (0, 1)), x, w, scale=10)


@pytest.mark.parametrize("first", [False, True])
def test_nan_reaches_the_outputs_whose_windows_hold_it(tercel, rng, first):
    shape = {"spatial": [14, 14], "window": [3, 3], "strides": [1, 1], "dilation": [1, 1],
             "batch": 3, "channels": 24, "features": 50, "padding": "SAME"}
    convolve, x, w = convolution(rng, first, shape)
    x[(1, 5, 3, 7) if first else (1, 3, 7, 5)] = np.nan
    got = np.asarray(jax.jit(convolve)(jax.device_put(x, tercel), jax.device_put(w, tercel)))
    finite = np.ones((3, 14, 14), bool)
    finite[1, 2:5, 6:9] = False
    assert np.array_equal(np.isfinite(got).all(1 if first else 3), finite)
    assert np.array_equal(np.isnan(got).all(1 if first else 3), ~finite)


# Few rows of sums over batches and space; a window of few elements, of which many lie side by side.
@pytest.mark.parametrize("channels", [3, 11])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("features, window, strides, dtype", [
    (1, [5, 2], [1, 1], "float32"), (3, [3, 3], [2, 2], "float32"), (6, [1, 7], [1, 2], "float32"),
    (2, [3, 3], [1, 1], "bfloat16"), (1, [20, 20], [1, 1], "float32"), (4, [9], [1], "float32")])
def test_gradients_of_few_features(
        agree, rng, first, channels, features, window, strides, dtype):
    shape = {"spatial": [23, 37][-len(window):], "window": window, "strides": strides,
             "padding": "SAME", "dilation": [1] * len(window), "batch": 5, "channels": channels,
             "features": features}
    convolve, x, w = convolution(rng, first, shape)
    x, w, y = (v.astype(dtype) for v in (x, w, rng.normal(size=convolve(x, w).shape)))
    agree(lambda x, y: jax.linear_transpose(lambda w: convolve(x, w), w)(y), x, y, scale=100)


# Batches in which products with the zeros around images are left out, where that pays.
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("spatial, window, strides, padding", [
    ([8, 8], [3, 3], [1, 1], "SAME"), ([7, 7], [3, 3], [2, 2], "SAME"),
    ([6, 9], [5, 2], [2, 1], [(4, 0), (0, 1)]), ([4, 5], [3, 3], [1, 1], [(5, 6), (3, 4)]),
    ([3, 3], [5, 5], [1, 1], "SAME"), ([12], [7], [1], [(3, 3)]),
    ([4, 3, 4], [3, 3, 3], [1, 1, 1], "SAME"), ([8, 8], [3, 3], [1, 1], [(-1, 2), (1, -2)])])
def test_batches_of_small_padded_images(agree, rng, first, spatial, window, strides, padding):
    shape = {"spatial": spatial, "window": window, "strides": strides, "padding": padding,
             "dilation": [1] * len(spatial), "batch": 64, "channels": 24, "features": 40}
    convolve, x, w = convolution(rng, first, shape)
    agree(lambda x, w: jax.nn.relu(convolve(x, w)), x, w, scale=10)
    agree(jax.grad(lambda x, w: (convolve(x, w) ** 2).mean(), (0, 1)), x, w, scale=10)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_weight_that_is_not_finite_makes_nan_of_padding(tercel, rng, value):
    shape = {"spatial": [8, 8], "window": [3, 3], "strides": [1, 1], "dilation": [1, 1],
             "batch": 64, "channels": 24, "features": 40, "padding": "SAME"}
    convolve, x, w = convolution(rng, False, shape)
    w[0, 2, 5, 17] = value
    got = np.asarray(jax.jit(convolve)(jax.device_put(x, tercel), jax.device_put(w, tercel)))
    padded = np.pad(x.astype(np.float64), [(0, 0), (1, 1), (1, 1), (0, 0)])
    with np.errstate(invalid="ignore"):
        wanted = sum(np.einsum("nyxc,co->nyxo", padded[:, i:i + 8, j:j + 8], w[i, j])
                     for i in range(3) for j in range(3))
    assert np.isnan(wanted[:, 0, :, 17]).all() and np.isnan(wanted[:, :, 7, 17]).all()
    np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-3)


def test_what_lies_around_an_image_need_not_be_zeros(agree, rng):
    shape = {"spatial": [10, 10], "window": [3, 3], "strides": [1, 1], "dilation": [1, 1],
             "batch": 64, "channels": 24, "features": 40, "padding": "VALID"}
    convolve, x, w = convolution(rng, False, shape)
    edges = [(0, 0), (1, 1), (1, 1), (0, 0)]
    for value in (0, 2):  # the kernels differ, though what they compute is written alike
        agree(lambda x, w: convolve(jax.numpy.pad(x, edges, constant_values=value), w),
              x[:, :8, :8], w, scale=10)
    agree(convolve, x, w, scale=10)


EDGES = [[(0, 0), (1, 2), (3, 0)], [(0, 0), (0, 0), (0, 1)], [(0, 0), (0, 0), (20, 17)],
         [(1, 0), (1, 1), (0, 0)]]


@pytest.mark.parametrize("dtype, edges", [("float32", edges) for edges in EDGES] + [
    (dtype, EDGES[0]) for dtype in ("float64", "bfloat16", "int32", "complex64")])
def test_products_inside_of_arrays_with_edges(agree, rng, x64, dtype, edges):
    x, w = (rng.integers(-3, 4, shape).astype(dtype) for shape in ((70, 9, 24), (24, 40)))
    before = np.zeros([n + sum(e) for n, e in zip((70, 9, 40), edges)], dtype)
    agree(lambda x, w: jax.numpy.pad(x @ w + 1, edges, constant_values=5), x, w)
    agree(lambda x, w: jax.numpy.pad(x[:1, :3] @ w[:, :5], edges), x, w)
    agree(lambda x, w: jax.lax.fori_loop(
        0, 2, lambda i, y: jax.numpy.pad((x + i) @ w, edges) - y, before), x, w)


@pytest.mark.parametrize("seed, first", [(0, False), (1, False), (2, True), (3, True)])
def test_convolutions_of_convolutions(agree, rng, seed, first):
    shape = shape_of(seed) | {"padding": "SAME", "features": 8, "channels": 8}
    convolve, x, w = convolution(rng, first, shape)

    def network(x, w):
        for _ in range(3):
            x = jax.nn.relu(convolve(x, w) + 0.5)
        return x

    agree(network, x, w, scale=30)
    agree(jax.grad(lambda x, w: (network(x, w) ** 2).mean(), (0, 1)), x, w, scale=100)


@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_images_of_size_0_that_are_dilated(tercel, dilation):
    image, kernel = np.zeros((1, 1, 0, 1), np.float32), np.ones((2, 1, 1, 1), np.float32)

    def convolve(image, kernel):
        return lax.conv_general_dilated(image, kernel, (1, 1), ((3, 3), (0, 0)),
                                        lhs_dilation=(dilation, 1))

    def reduce(image):
        return lax.reduce_window(image, np.float32(2), lax.add, (1, 1, 1, 1), (1, 1, 1, 1),
                                 ((0, 0), (0, 0), (3, 2), (0, 0)),
                                 base_dilation=(1, 1, dilation, 1))

    with jax.default_device(tercel):
        np.testing.assert_array_equal(jax.jit(convolve)(image, kernel), np.zeros((1, 2, 6, 1)))
        np.testing.assert_array_equal(jax.jit(reduce)(image), np.full((1, 1, 5, 1), 2))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int8", "int16", "uint8"])
@pytest.mark.parametrize("features, padding, stride, dilation", [
    (16, "SAME", 1, 1), (8, "VALID", 2, 1), (9, ((1, 1), (1, 1)), 1, 1),
    (16, ((1, 2), (2, 1)), 1, 2)])
def test_sums_of_one_product(agree, rng, dtype, features, padding, stride, dilation):
    x = rng.integers(-9, 9, (3, 9, 9, 1)).astype(dtype)
    w = rng.integers(-9, 9, (1, 1, 1, features)).astype(dtype)

    def convolve(x, w):
        return lax.conv_general_dilated(x, w, (stride, stride), padding, (dilation, dilation),
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))

    agree(convolve, x, w)
    agree(lambda x, w: convolve(x, jnp.tile(w, (3, 3, 1, 1))), x, w)


@pytest.mark.parametrize("count", [2, 3, 17])
@pytest.mark.parametrize("taps", [1, 2])
def test_lines_that_are_put_together(agree, rng, count, taps):
    lines = [rng.standard_normal(8).astype(np.float32) for _ in range(count)]
    w = rng.standard_normal((1, 1, taps)).astype(np.float32)

    def convolve(x, w):
        return lax.conv_general_dilated(x[:, None], w, (1,), "VALID")

    agree(lambda w, *lines: convolve(jnp.stack(lines, -1), w), w, *lines)
    agree(lambda w, x: convolve(jnp.pad(x[:, None], ((0, 0), (1, 2))), w), w, lines[0])
    agree(jax.vmap(jnp.poly), np.stack(lines, -1)[:, :3])


# As the gradients of gradients of weights are: the window is larger than the image.
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("image, window, padding, strides, dilations", [
    ([3, 3], [20, 22], [(18, 18), (20, 20)], [1, 1], [(1, 1), (1, 1)]),
    ([4, 5], [60, 52], [(57, 56), (50, 47)], [3, 2], [(1, 1), (1, 1)]),
    ([3, 2, 3], [4, 5, 5], [(6, 5), (7, 7), (8, 7)], [1, 1, 1], [(1, 1, 1), (2, 2, 2)]),
    ([3], [23], [(15, 29)], [2], [(3,), (2,)]), ([1], [4], [(3, 0)], [1], [(1,), (1,)]),
    ([2, 2], [9, 1], [(-1, 9), (0, 3)], [1, 1], [(2, 1), (1, 3)])])
def test_windows_larger_than_images(agree, rng, first, image, window, padding, strides, dilations):
    x, w = (rng.standard_normal([*a, *s] if first else [a[0], *s, a[1]]).astype(np.float32)
            for a, s in (((9, 5), image), ((4, 5), window)))
    space = SPACES[len(image)]
    layouts = [f"NC{space}", f"OI{space}"] if first else [f"N{space}C", f"O{space}I"]

    def convolve(x, w):
        return lax.conv_general_dilated(x, w, strides, padding, *dilations,
                                        dimension_numbers=(*layouts, layouts[0]))

    agree(lambda x, w: jnp.tanh(convolve(x, w)), x, w, scale=10)
    agree(jax.grad(lambda x, w: (convolve(x, w) ** 2).mean(), (0, 1)), x, w, scale=10)
