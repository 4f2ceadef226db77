"""Arrays whose dimensions lie in memory in another order: jax.experimental.layout."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import serialize_executable
from jax.experimental.layout import Format, Layout

pytestmark = pytest.mark.skipif(jax.__version_info__ < (0, 9, 1),
                                reason="jaxlib does not ask plugins for the layouts of arguments")

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def sharding(tercel):
    return jax.sharding.SingleDeviceSharding(tercel)


@pytest.fixture
def columns(sharding):
    return Format(Layout((1, 0)), sharding)


@pytest.fixture
def rows(sharding):
    return Format(Layout((0, 1)), sharding)


def order(array):
    return array.format.layout.major_to_minor


def test_put_and_read(columns):
    a = jax.device_put(X, columns)
    assert order(a) == (1, 0) and a.shape == (3, 4)
    np.testing.assert_array_equal(a, X)
    assert np.asarray(a).strides == (4, 12)  # a view, not a copy
    np.testing.assert_array_equal(np.from_dlpack(a), X)
    assert a[1, 2].item() == 6
    np.testing.assert_array_equal(np.stack([np.asarray(row) for row in a]), X)


@pytest.mark.parametrize("major_to_minor", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1),
                                            (2, 1, 0)])
@pytest.mark.parametrize("dtype", ["bool", "int4", "int8", "float8_e4m3fn", "bfloat16", "float32",
                                   "complex64"])
def test_every_order(sharding, major_to_minor, dtype):
    x = (np.arange(2 * 3 * 5) % 7).reshape(2, 3, 5).astype(dtype)
    a = jax.device_put(x, Format(Layout(major_to_minor), sharding))
    assert order(a) == major_to_minor
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(a.reshape(-1), x.reshape(-1))
    np.testing.assert_array_equal(jax.jit(lambda v: v[:, 1] == v[:, 0])(a), x[:, 1] == x[:, 0])


def test_programs_take_what_lies_otherwise(columns, sharding):
    a, b = jax.device_put(X, columns), jax.device_put(X, sharding)
    f = jax.jit(lambda u, v: (u - 2 * v, u @ v.T, u.sum(0)))
    for got in f(a, b), f(b, a), f(a, a):
        for left, right in zip(got, (-X, X @ X.T, X.sum(0))):
            np.testing.assert_allclose(left, right, rtol=1e-6)
            assert order(left) == tuple(range(left.ndim))


def test_formats_of_jit(columns, rows):
    f = jax.jit(lambda v: v + 1, in_shardings=columns, out_shardings=columns)
    for given in X, jnp.asarray(X), jax.device_put(X, columns):
        got = f(given)
        assert order(got) == (1, 0)
        np.testing.assert_array_equal(got, X + 1)
    compiled = f.lower(X).compile()
    for format in compiled.input_formats[0][0], compiled.output_formats:
        assert format.layout.major_to_minor == (1, 0)
    with pytest.raises(ValueError, match="does not match the layout"):
        f(jax.device_put(X, rows))


def test_auto_gives_out_a_transpose_as_it_lay(sharding):
    auto = Format(Layout.AUTO)
    compiled = jax.jit(lambda v: (v * 2).T, in_shardings=auto, out_shardings=auto).lower(
        jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=sharding)).compile()
    assert compiled.input_formats[0][0].layout.major_to_minor == (0, 1)
    assert compiled.output_formats.layout.major_to_minor == (1, 0)
    got = compiled(jax.device_put(X, sharding))
    assert order(got) == (1, 0)
    np.testing.assert_array_equal(got, 2 * X.T)


def test_from_one_layout_to_another(columns, rows, sharding):
    a = jax.device_put(X, columns)
    for target, wanted in (rows, (0, 1)), (columns, (1, 0)), (sharding, (1, 0)):
        moved = jax.device_put(a, target)
        assert order(moved) == wanted
        np.testing.assert_array_equal(moved, X)


@pytest.mark.parametrize("wanted", [(0, 1), (1, 0)])
@pytest.mark.parametrize("shape", [(4, 4), (3, 4), (1, 4)])
def test_donation(columns, sharding, wanted, shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    a = jax.device_put(x, columns)
    f = jax.jit(lambda v: v.at[0].multiply(3) + v.sum(), donate_argnums=0, in_shardings=columns,
                out_shardings=Format(Layout(wanted), sharding))
    got = f(a)
    assert a.is_deleted() and order(got) == wanted
    expected = x.copy()
    expected[0] *= 3
    np.testing.assert_array_equal(got, expected + x.sum())


@pytest.mark.native
def test_serialised_programs_keep_theirs(columns):
    f = jax.jit(lambda v: v * 2, in_shardings=columns, out_shardings=columns).lower(X).compile()
    loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(f))
    got = loaded(jax.device_put(X, columns))
    assert order(got) == (1, 0)
    assert loaded.input_formats[0][0].layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(got, 2 * X)


def test_random_keys_and_callbacks_see_rows(columns):
    seen = []
    def f(v):
        jax.debug.callback(lambda w: seen.append(np.asarray(w).copy()), v)
        return jax.pure_callback(lambda w: w[::-1].copy(), jax.ShapeDtypeStruct(v.shape, v.dtype), v)
    got = jax.jit(f)(jax.device_put(X, columns))
    np.testing.assert_array_equal(got, X[::-1])
    jax.effects_barrier()
    np.testing.assert_array_equal(seen[0], X)


def test_tiles_are_refused_by_name(sharding):
    tiled = Format(Layout((0, 1), tiling=((8, 128),)), sharding)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"result 0: the layout \{1,0:T\(8,128\)\}"):
        jax.jit(lambda v: v + 1, out_shardings=tiled)(X)
