"""Gather, scatter, sort and random numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from stablehlo_text import function, run


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def test_gathers(agree, rng):
    x, i = floats(rng, 10, 6), np.array([[0, 3], [9, -1], [25, -30]], np.int32)
    agree(lambda a, k: (a[k], a[:, k], a[k, k], jnp.take(a, k, axis=0, mode="clip"), a[2, k],
                        a.at[k].get(mode="fill", fill_value=7)), x, i)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64"])
@pytest.mark.parametrize("length", [3, 4, 8, 24, 33])
def test_gathered_rows(agree, rng, dtype, length):
    x = rng.integers(0, 100, (77, length)).astype(dtype)
    i = rng.integers(-5, 85, (203,)).astype(np.int32)
    agree(lambda x, i: (x[i], x[i][:, 1:3], x[i] == x[i[::-1]]), x, i)


@pytest.mark.parametrize("index", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "bfloat16", "float32", "float64", "complex64"])
def test_elements_anywhere(agree, rng, x64, dtype, index):
    x = (rng.normal(size=(90, 41)) * 9).astype(jnp.dtype(dtype))
    i, k = (rng.integers(0, 127, (7, 53)).astype(index) for _ in range(2))
    agree(lambda x, i, k: (x[i, k], x[1][i] + x[:, 3][k], x[:, i[0]],
                           x.at[i, k].get(mode="fill"), x.at[i, k].get(mode="clip")), x, i, k)


def test_one_element_of_each_row(agree, rng):
    x, i = floats(rng, 50, 20, 6), rng.integers(-25, 25, (50, 9)).astype(np.int32)
    n = jnp.arange(50)
    agree(lambda x, i: (x[n, i[:, 0]], x[n[:, None], i], x[n, i[:, 0], 3], x[n[:40], i[:40, 0]],
                        x[n, :, i[:, 1]], x.at[n, i[:, 0]].set(7), x.at[n[:, None], i].add(x[:, :9]),
                        x[n % 20, n % 20, i[:, 0]], x[n[::-1], i[:, 0]]), x, i)
    agree(jax.grad(lambda x, i: (jnp.sin(x)[n[:, None], i] ** 2).sum()), x, i)
    agree(lambda c, x: jnp.choose(c, [x[0], x[1] * 2, x[2]], mode="clip"), i[:20, :6], x)


def test_scatters(agree, rng):
    x, v = floats(rng, 10, 6), floats(rng, 4, 6)
    i = np.array([1, 3, 9, 12], np.int32)
    agree(lambda a, k, u: (a.at[k].set(u), a.at[k].add(u), a.at[k].multiply(u), a.at[k].max(u),
                           a.at[2:6].set(u), a.at[k, 2].add(1.0)), x, i, v)


def test_scatters_of_one_window(agree, rng):
    x, u = floats(rng, 3, 70, 9), floats(rng, 68, 7)
    one = lambda a, v: (a.at[1:-1, 1:-1].set(v), a.at[1:-1, 1:-1].add(v), a.at[-1, 2].multiply(3),
                        a.at[:, 2].max(v[0, 0]), a.at[80:, 3].set(1), jnp.ones_like(a).at[5].set(2))
    agree(jax.vmap(one, (0, None)), x, u)
    agree(one, x[0], u)
    step = lambda i, a: a.at[1:-1, 1:-1].set(a[2:, 1:-1] - a[:-2, 1:-1] + a[1:-1, 2:])
    agree(jax.vmap(lambda a: jax.lax.fori_loop(0, 5, step, a)), x)
    agree(lambda a: jax.lax.fori_loop(0, 5, step, a), floats(rng, 80, 61))
    agree(jax.grad(lambda a: jnp.sin(jax.lax.fori_loop(0, 3, step, a)).sum()), x[1])


def test_scatter_with_repeated_indices(agree, rng):
    i = rng.integers(0, 5, 100).astype(np.int32)
    agree(lambda k: (jnp.zeros(5, jnp.int32).at[k].add(1), jax.ops.segment_max(k * 3, k, 5),
                     jnp.bincount(k, length=5)), i)


def test_gradient_of_an_embedding(agree, rng):
    i = rng.integers(0, 20, (4, 7)).astype(np.int32)
    agree(jax.grad(lambda e, k: (jnp.tanh(e[k]) ** 2).sum()), floats(rng, 20, 5), i)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "float16", "float32", "float64"])
def test_sort(agree, rng, x64, dtype):
    x = (rng.normal(size=(5, 100)) * 30).astype(dtype)
    agree(lambda v: (jnp.sort(v), jnp.sort(v, 0, descending=True), jnp.argsort(v, 1),
                     jnp.argsort(v, 0, descending=True)), x)


def test_sort_is_stable_and_places_nan_last(agree, rng):
    x = rng.integers(0, 4, 200).astype(np.float32)
    x[::17] = np.nan
    x[5] = -0.0
    agree(lambda v: (jnp.sort(v), jnp.argsort(v, stable=True)), x)


def test_sort_of_several_operands(agree, rng):
    keys, values = rng.integers(0, 9, 50).astype(np.int32), floats(rng, 50)
    agree(lambda k, v: (jax.lax.sort((k, v), num_keys=2), jax.lax.sort((k, v), num_keys=1),
                        jnp.lexsort((v, k))), keys, values)


def test_top_k_unique_searchsorted(agree, rng):
    x = floats(rng, 64)
    agree(lambda v: (jax.lax.top_k(v, 5), jnp.searchsorted(jnp.sort(v), v[:7]), jnp.median(v),
                     jnp.unique(jnp.round(v), size=8, fill_value=0)), x)


def test_random_bits_are_jaxs(agree):
    agree(lambda k: (jax.random.bits(k, (100,)), jax.random.split(k, 5),
                     jax.random.fold_in(k, 7)), np.array([1, 2], np.uint32))


def test_random_distributions(agree):
    agree(lambda k: (jax.random.uniform(k, (50,)), jax.random.normal(k, (3, 40)),
                     jax.random.randint(k, (20,), -5, 17), jax.random.bernoulli(k, 0.3, (30,)),
                     jax.random.permutation(k, 25), jax.random.categorical(k, jnp.zeros((4, 9))),
                     jax.random.exponential(k, (10,))), np.array([1, 2], np.uint32), scale=10)


def test_typed_keys(agree):
    agree(lambda seed: jax.random.normal(jax.random.fold_in(jax.random.key(seed), 3), (9,)), 5)


def test_approx_top_k_leaves_nothing_out(agree, rng):
    x = floats(rng, 3, 50, 4)
    agree(lambda v: (jax.lax.approx_max_k(v, 7, reduction_dimension=1),
                     jax.lax.approx_min_k(v, 1, reduction_dimension=-1),
                     jax.lax.approx_max_k(v[0], 50, reduction_dimension=0)), x)
    agree(jax.vmap(lambda v: jax.lax.approx_max_k(v, 3, reduction_dimension=0)), x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_approx_top_k_beside_nan(tercel, dtype):
    """NaN is the largest, and hides nothing."""
    x = jax.device_put(np.array([1, 2.5, np.nan, 3, -1]).astype(dtype), tercel)
    for k, (best, function) in {2: ([2, 3], jax.lax.approx_max_k),
                                4: ([4, 0, 1, 3], jax.lax.approx_min_k)}.items():
        values, places = jax.jit(function, static_argnums=1)(x, k)
        np.testing.assert_array_equal(places, best)
        np.testing.assert_array_equal(np.asarray(values, np.float32),
                                      np.asarray(x, np.float32)[best])


@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_sort_by_plain_comparison(tercel, rng, direction):
    """Floats compared as numbers: zeros of both signs are equal, and stay in their order."""
    x = rng.integers(-3, 4, 3000).astype(np.float32)
    x[rng.random(3000) < 0.3] *= -0.0 if direction == "LT" else 1
    x[::7] = np.copysign(0, rng.normal(size=x[::7].shape))
    places = np.arange(3000, dtype=np.int32)
    text = function(f"""%2:2 = "stablehlo.sort"(%0, %1) ({{
^bb0(%a: tensor<f32>, %b: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
%v = stablehlo.compare {direction}, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
stablehlo.return %v : tensor<i1> }}) {{dimension = 0 : i64, is_stable = true}} :
(tensor<3000xf32>, tensor<3000xi32>) -> (tensor<3000xf32>, tensor<3000xi32>)
return %2#0, %2#1 : tensor<3000xf32>, tensor<3000xi32>""",
                    ["tensor<3000xf32>", "tensor<3000xi32>"],
                    ["tensor<3000xf32>", "tensor<3000xi32>"])
    values, order = run(tercel, text, x, places)
    wanted = np.argsort(x if direction == "LT" else -x, kind="stable")
    np.testing.assert_array_equal(order, wanted)
    np.testing.assert_array_equal(np.signbit(values), np.signbit(x[wanted]))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "bool"])
@pytest.mark.parametrize("places", [[2, 0, 1], [1, 2, 0], [5, 5, 299, 0], [-1, 700, 3, 2, 1, 0, 9]])
def test_known_places_of_short_rows(agree, rng, x64, dtype, places):
    """Programs that differ in the constant alone, and rows that leave some lanes of a vector."""
    x = rng.integers(0, 100, (203, 300 if max(places) > 2 else 3)).astype(dtype)
    agree(lambda a: a.at[:, np.array(places)].get(mode="clip", wrap_negative_indices=False), x)
    agree(lambda a: jnp.sort(a[:, np.array(places[:3])] * 2, axis=0), x)


def test_scatters_of_windows_without_elements(agree, rng):
    into = jax.lax.ScatterDimensionNumbers((1,), (0,), (0,))
    agree(lambda x, i: jax.lax.scatter_add(x, i, jnp.zeros((2, 0)), into), floats(rng, 4, 5),
          np.array([[1], [2]]))


@pytest.mark.parametrize("dtype", ["uint8", "bool", "float32", "complex64"])
@pytest.mark.parametrize("length", [24, 33, 64])
def test_permutations_of_rows(agree, rng, dtype, length):
    places = rng.permutation(length)
    x = rng.integers(0, 100, (203, length)).astype(dtype)
    agree(lambda a: (a[:, places], a[:, places][::-1], a[:, places[3:]].astype("float32")), x)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("channels", [1, 3, 16])
@pytest.mark.parametrize("size", [(36, 48), (24, 96), (12, 16), (8, 12), (7, 30), (54, 56)])
def test_images_of_other_sizes(agree, rng, dtype, channels, size):
    image = rng.integers(0, 256, (24, 32, channels)).astype(dtype)
    agree(lambda x: jax.image.resize(x, (*size, channels), "nearest"), image)
    agree(lambda x: jax.image.resize(x.transpose(2, 0, 1), (channels, *size), "nearest"), image)


def test_lines_at_places_that_are_known(agree, rng):
    def run(x):
        back = jnp.arange(20, 5, -3)
        return (x[jnp.arange(3, 24, 4)], x[:, back], jnp.repeat(x, 3, axis=1),
                jnp.take(x, jnp.arange(30) // 2 - 3, axis=0, mode="clip"),
                jnp.take(x, jnp.arange(8) * 5 // 3, axis=1), x[jnp.arange(24) % 6],
                jnp.take(x, jnp.arange(20, 28), axis=0, mode="fill", fill_value=-1))

    agree(run, rng.standard_normal((24, 32)).astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_gradients_and_sums_at_places_that_are_known(agree, rng, dtype):
    def run(x, u):
        half, back = jnp.arange(24) // 2, jnp.arange(23, -1, -1)
        return (x.at[half].add(u), x.at[back].add(u), x.at[3:20:4].add(u[:5]),
                x.at[jnp.arange(24) + 5].add(u), x.at[half * 2 + 1].add(u))

    agree(run, *(rng.integers(-99, 99, (24, 32)).astype(dtype) for _ in range(2)))


@pytest.mark.parametrize("size", [(48, 64), (12, 16), (36, 48), (72, 32)])
def test_gradients_of_images_of_other_sizes(agree, rng, size):
    def loss(x):
        return jnp.sum(jnp.sin(jax.image.resize(x, (*size, 3), "nearest")))

    agree(jax.grad(loss), rng.standard_normal((24, 32, 3)).astype(np.float32))


def test_minus_zero_stays_where_nothing_is_added(tercel):
    with jax.default_device(tercel):
        x = jax.jit(lambda x: x.at[jnp.arange(0, 8, 2)].add(1.0))(jnp.full(8, -0.0))
    assert np.signbit(np.asarray(x)).tolist() == [False, True] * 4


READINGS = {
    "three_lookups": lambda x, i, y: ((x[i] * x[i[::-1]] - x[i // 2]) ** 2).sum(),
    "elements": lambda x, i, y: (x[i, i % 5] * x[i[::-1], i % 3]).sum() + x[3].sum(),
    "in_a_scan": lambda x, i, y: lax.scan(lambda c, k: (jnp.tanh(c * x[k]), c[0]), y, i)[0].sum(),
    "twice_in_a_scan": lambda x, i, y: lax.scan(
        lambda c, k: (jnp.sin(c * x[k] - x[k // 2]), None), y, i)[0].sum(),
    "slices": lambda x, i, y: sum(
        (lax.dynamic_slice(x, (i[k], 0), (3, x.shape[1])) ** 2).sum() * k for k in range(4)),
    "and_products": lambda x, i, y: (jnp.tanh(x[i]) @ x.T).sum(),
}


@pytest.mark.parametrize("name", READINGS)
@pytest.mark.parametrize("shape", [(20, 5), (40, 33)])
def test_gradients_of_what_is_read_in_places(agree, rng, name, shape):
    x, y = rng.normal(size=shape).astype(np.float32), rng.normal(size=shape[1]).astype(np.float32)
    places = rng.integers(-3, shape[0] + 3, 30).astype(np.int32)
    agree(jax.grad(READINGS[name], (0, 2)), x, places, y)


def test_sums_in_place_leave_no_negative_zeros(tercel):
    x = jax.device_put(np.full((40, 20), -0.0, np.float32), tercel)

    @jax.jit
    def signs(x, i):
        added = jnp.zeros_like(x).at[i].add(jnp.full((3, 20), -0.0))
        part = lax.dynamic_update_slice(jnp.zeros_like(x), x[:2], (i[0], 0))
        return jnp.signbit(x + added), jnp.signbit(added + part), jnp.signbit(x + part)

    of_added, of_both, of_part = signs(x, np.array([3, 7, 3], np.int32))
    assert not of_added.any() and not of_both.any()
    assert of_part[3:5].all() and not of_part[:3].any() and not of_part[5:].any()


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_parts_have_the_signs_of_their_zeros(tercel, seed):
    rng = np.random.default_rng(seed)
    shape = [(300,), (20, 16), (8, 9, 10)][seed % 3]
    sizes = [tuple(rng.integers(1, 1 + d // (2 if i else 3)) if rng.random() < 0.8 else d
                   for i, d in enumerate(shape)) for _ in range(rng.integers(2, 5))]
    # Near each other, so that all of them overlap more often than not; some beyond the ends.
    starts = [rng.integers(-2, 3, len(shape)).astype(np.int32) + [d // 3 for d in shape]
              for _ in sizes]
    parts = [rng.choice(np.array([-0.0, -0.0, -0.0, 0.0, 1.5], np.float32), size)
             for size in sizes]

    def placed(zeros, part, start):
        return lax.dynamic_update_slice(zeros, part, tuple(start))

    @jax.jit
    def total(parts, starts):
        arrays = [placed(jnp.zeros(shape), *both) for both in zip(parts, starts, strict=True)]
        return sum(arrays[1:], arrays[0])

    expected = None
    for part, start in zip(parts, starts, strict=True):
        first = [min(max(s, 0), d - n) for s, d, n in zip(start, shape, part.shape, strict=True)]
        one = np.zeros(shape, np.float32)
        one[tuple(slice(f, f + n) for f, n in zip(first, part.shape, strict=True))] = part
        expected = one if expected is None else expected + one
    with jax.default_device(tercel):
        got = np.asarray(total(parts, starts))
    np.testing.assert_array_equal(got.view(np.int32), expected.view(np.int32))


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 8, 12, 20])
def test_gathered_and_cropped_images(agree, rng, channels, dtype):
    """With numbers for each channel, from within what is padded."""
    images = rng.integers(0, 9, (7, 12, 13, channels)).astype(dtype)
    picked, mean = np.array([3, 6, 0, 3], np.int32), rng.integers(1, 5, channels).astype(np.float32)
    corners = rng.integers(0, 9, (7, 2)).astype(np.int32)
    agree(lambda x, i, m: (x[i] * np.float32(0.5) - m) * m, images, picked, mean)
    agree(lambda x, i, m: jnp.maximum(x[i, :, i[::-1]], m), images, picked, mean)

    def crop(image, corner):
        return lax.dynamic_slice(image, (*corner, 0), (10, 9, channels))

    agree(lambda x, c, m: jax.vmap(crop)(x, c) - m, images, corners, mean)
    agree(lambda x, c: jax.vmap(crop)(jnp.pad(x, ((0, 0), (4, 4), (4, 4), (0, 0))), c), images, corners)
    agree(lambda x, c: jax.vmap(crop)(x[:, ::-1], c)[::-1], images, corners)
    agree(lambda x, c: jax.vmap(lambda v, k: jnp.roll(v, k[0], 1))(x, c), images, corners)


@pytest.mark.parametrize("width", [1, 5, 16, 33, 64])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_bags_of_embeddings(agree, rng, width, dtype):
    """Weighted, or masked, sums and extrema of gathered rows."""
    table = rng.integers(-4, 5, (50, width)).astype(jnp.dtype(dtype))
    picked = rng.integers(0, 50, (6, 20)).astype(np.int32)
    weights = rng.integers(0, 3, (6, 20)).astype(jnp.dtype(dtype))
    agree(lambda t, i, w: (t[i] * w[..., None]).sum(1), table, picked, weights)
    agree(lambda t, i, w: jnp.where(w[..., None] > 0, t[i], -9).max(1), table, picked, weights)
    agree(lambda t, i, w: jax.ops.segment_sum(t[i[0]] * w[0, :, None], i[1], 50), table, picked,
          weights)


@pytest.mark.parametrize("heads, width", [(4, 8), (2, 16), (3, 5), (8, 4), (4, 12), (5, 32)])
def test_sums_of_weighted_heads(agree, rng, heads, width):
    h = rng.integers(-3, 4, (30, heads, width)).astype(np.float32)
    sent, to = rng.integers(0, 30, (2, 200)).astype(np.int32)
    weights = rng.integers(0, 3, (200, heads)).astype(np.float32)
    agree(lambda h, s, t, a: jax.ops.segment_sum(h[s] * a[..., None], t, 30), h, sent, to, weights)
    agree(lambda h, s, t, a: jax.ops.segment_max(h[s] * a[..., None], t, 30), h, sent, to, weights)


@pytest.mark.parametrize("columns", [3, 4, 12, 33])
@pytest.mark.parametrize("mode", ["clip", "fill", None])
def test_lines_at_places_of_several_numbers(agree, rng, columns, mode):
    x = rng.normal(size=(3, 7, 9, 5, columns)).astype(np.float32)
    i, j = rng.integers(-12, 13, (2, 3, 40)).astype(np.int32)
    k = rng.integers(0, 256, (3, 40)).astype(np.uint8)

    def lines(x, i, j, k):
        at = dict(mode=mode)
        one = lambda x, i, j, k: x.at[i, j, k].get(**at)
        return (jax.vmap(one)(x, i, j, k), x.at[1, i, j].get(**at)[..., 0, :], x[k % 3, i, j, k],
                x[:, 2].at[k & 3, i % 9, j].get(**at), x[0].at[:, i, k].get(**at))

    agree(lines, x, i, j, k)
    agree(jax.grad(lambda *a: sum((y ** 2).sum() for y in lines(*a))), *(v for v in (x, i, j, k)))


@pytest.mark.parametrize("change", [
    lambda x: x.at[:].apply(jnp.sin), lambda x: x.at[:].multiply(3), lambda x: x.at[...].max(4.5),
    lambda x: x.at[2:].multiply(3), lambda x: x.at[:].add(1), lambda x: x.at[:].set(7),
    lambda x: x.at[jnp.array([3, 1])].multiply(3)], ids=lambda _: "change")
def test_what_is_changed_where_a_predicate_says(agree, change):
    x = np.arange(32, dtype=np.float32)
    for p in (False, True):
        agree(lambda p, x: jnp.where(p, change(x), x), p, x)
        agree(lambda p, x: jnp.where(p, x, change(x)), p, x)
    agree(jax.vmap(lambda p, x: jnp.where(p, change(x), x)), np.arange(4) % 2 == 0,
          np.arange(128, dtype=np.float32).reshape(4, 32))


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int8", "int32",
                                   "uint16", "bool", "complex64"])
@pytest.mark.parametrize("size", [1, 3, 8, 17, 33, 64, 130, 300])
def test_numbers_into_small_tables(agree, rng, x64, size, dtype):
    table = rng.integers(0, 99, (size,)).astype(dtype)
    rows = rng.integers(0, 99, (37, size)).astype(dtype)
    i = rng.integers(-size, size, 133).astype(np.int32)
    for count in (5, 8, 16, 17, 133):
        agree(lambda t, i: t[i], table, i[:count])
        agree(lambda x, i: x[:, i], rows, i[:count])
    agree(lambda t, i: t[i.astype(jnp.uint8)], table, np.abs(i) % size)
    agree(lambda t, i: t.at[i * 2].get(mode="fill", fill_value=1), table, i)
    agree(lambda t, i: jnp.pad(t, (2, 1))[i], table, i)
    agree(lambda x, i, j: x[i, j], rows[:5], i % 5, i)
    agree(lambda x, i: jnp.take_along_axis(x, i, 1), rows, np.resize(i, (37, 6)) % size)
    agree(lambda x, i: jnp.where(i > 0, x[:, i], x[:, :1]), rows, i)
    agree(lambda x, i: jnp.concatenate([x[:, i], x], 1), rows, i[:9])
