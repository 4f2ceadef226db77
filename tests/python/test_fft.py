"""Fourier transforms of every kind, against NumPy's in double precision and JAX's CPU backend."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17, 30, 31, 48, 59, 64, 67, 97, 128, 200, 210, 243,
           255, 256, 575, 976, 1000, 1009, 1024, 1331, 2048, 4096, 10007, 16384]


def numbers(rng, shape, dtype):
    if np.dtype(dtype).kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def close(got, wanted, single):
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    size = np.max(np.abs(wanted), initial=1e-30)
    assert np.max(np.abs(got - wanted), initial=0) <= (2e-6 if single else 4e-15) * size


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
def test_lengths(tercel, rng, x64, length, single):
    complex_type, real_type = ("complex64", "float32") if single else ("complex128", "float64")
    for batch in ((), (3,), (37,)):
        if length * max(batch, default=1) > 100000:
            continue
        z = numbers(rng, batch + (length,), complex_type)
        x = numbers(rng, batch + (length,), real_type)
        half = numbers(rng, batch + (length // 2 + 1,), complex_type)
        with jax.default_device(tercel):
            results = jax.jit(lambda z, x, half: (
                jnp.fft.fft(z), jnp.fft.ifft(z), jnp.fft.rfft(x), jnp.fft.irfft(half, length)))(
                    z, x, half)
        wide = half.astype(complex)
        wide[..., 0] = wide[..., 0].real
        if length % 2 == 0:
            wide[..., -1] = wide[..., -1].real
        wanted = (np.fft.fft(z.astype(complex)), np.fft.ifft(z.astype(complex)),
                  np.fft.rfft(x.astype(float)), np.fft.irfft(wide, length))
        for got, right in zip(results, wanted):
            close(got, right, single)


@pytest.mark.parametrize("shape", [(4, 5), (16, 16), (3, 8, 8), (2, 7, 6, 5), (64, 48), (1, 1),
                                   (5, 32, 33), (129, 20)])
def test_several_dimensions(agree, rng, shape):
    z, x = numbers(rng, shape, "complex64"), numbers(rng, shape, "float32")
    rank = min(3, len(shape))
    axes = tuple(range(-rank, 0))
    agree(lambda z, x: (jnp.fft.fftn(z, axes=axes), jnp.fft.ifftn(z, axes=axes),
                        jnp.fft.rfftn(x, axes=axes),
                        jnp.fft.irfftn(jnp.fft.rfftn(x, axes=axes), shape[-rank:], axes=axes),
                        jnp.fft.fft(z, axis=0), jnp.fft.ifft(z, axis=-2)), z, x, scale=10)


@pytest.mark.native
def test_long_ones(tercel, rng):
    for length in (1 << 18, 3 * (1 << 16), 65537):
        z = numbers(rng, (length,), "complex64")
        with jax.default_device(tercel):
            got = jax.jit(lambda z: (jnp.fft.fft(z), jnp.fft.rfft(z.real)))(z)
        close(got[0], np.fft.fft(z.astype(complex)), True)
        close(got[1], np.fft.rfft(z.real.astype(float)), True)


def test_each_line_is_by_itself(tercel, rng):
    # NaN and infinity stay in their line, and a line's rounding does not depend on the others'.
    z = numbers(rng, (21, 60), "complex64")
    z[4, 7], z[9, 0] = np.nan, np.inf
    z[5] *= 1e20
    with jax.default_device(tercel):
        transform = jax.jit(jnp.fft.fft)
        all_lines = np.asarray(transform(z))
    assert np.isnan(all_lines[4]).all() and not np.isfinite(all_lines[9]).any()
    rest = [i for i in range(21) if i not in (4, 9)]
    assert np.isfinite(all_lines[rest]).all()
    for i in rest:
        close(all_lines[i], np.fft.fft(z[i].astype(complex)), True)


def test_gradients_and_vmap(agree, rng):
    x, w = numbers(rng, (3, 20), "float32"), numbers(rng, (3, 11), "complex64")

    def loss(x):
        return jnp.sum(jnp.abs(jnp.fft.rfft(x) * w) ** 2) + jnp.sum(jnp.fft.irfft(w * x[:, :11]))

    agree(jax.grad(loss), x, scale=10)
    agree(jax.vmap(lambda v: jnp.fft.ifft(jnp.fft.fft(v) * 2)), w, scale=10)
    agree(lambda x: jax.scipy.signal.fftconvolve(x[0], x[1]), x, scale=10)


def test_inside_a_loop(agree, rng):
    z = numbers(rng, (6, 32), "complex64")

    def turn(_, z):
        return jnp.fft.ifft(jnp.fft.fft(z) * 0.9)

    agree(lambda z: jax.lax.fori_loop(0, 5, turn, z), z, scale=10)


def test_of_nothing(agree):
    agree(lambda z: jnp.fft.fft(z), np.zeros((0, 4), np.complex64))
    agree(lambda x: jnp.fft.rfft(x), np.zeros((3, 0, 6), np.float32))
