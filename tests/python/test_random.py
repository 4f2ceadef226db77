"""Random numbers: the bits of every generator that JAX offers are those of its CPU backend."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

GENERATORS = ["threefry2x32", "rbg", "unsafe_rbg"]
SHAPES = [(), (1,), (7,), (3, 5), (4, 33), (2, 1, 1000)]


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits(agree, generator, shape):
    def bits(seed):
        key = jax.random.key(seed, impl=generator)
        return [jax.random.bits(key, shape, dtype) for dtype in (jnp.uint8, jnp.uint16, jnp.uint32)]

    agree(bits, np.int32(42))


@pytest.mark.parametrize("generator", GENERATORS)
def test_bits_of_64(agree, x64, generator):
    agree(lambda seed: jax.random.bits(jax.random.key(seed, impl=generator), (5, 3), jnp.uint64),
          np.int64(-3))


@pytest.mark.parametrize("generator", GENERATORS)
def test_keys_made_of_keys(agree, generator):
    def keys(seed):
        key = jax.random.key(seed, impl=generator)
        several = jax.random.split(key, 5)
        folded = jax.random.fold_in(several[2], 17)
        return jax.random.key_data(several), jax.random.key_data(folded)

    agree(keys, np.int32(7))


@pytest.mark.parametrize("generator", GENERATORS)
def test_distributions(agree, generator):
    def draw(seed):
        first, second, third = jax.random.split(jax.random.key(seed, impl=generator), 3)
        return (jax.random.uniform(first, (100,)), jax.random.normal(second, (10, 11)),
                jax.random.randint(third, (50,), -3, 9), jax.random.bernoulli(first, 0.3, (20,)))

    agree(draw, np.int32(2024))


@pytest.mark.parametrize("generator", GENERATORS)
def test_keys_carried_by_a_loop(agree, generator):
    def draw(seed):
        def step(key, _):
            key, now = jax.random.split(key)
            return key, jax.random.bits(now, (3,))

        key, drawn = jax.lax.scan(step, jax.random.key(seed, impl=generator), length=6)
        return jax.random.key_data(key), drawn

    agree(draw, np.int32(1))


@pytest.mark.parametrize("algorithm", ["RNG_THREE_FRY", "RNG_PHILOX", "RNG_DEFAULT"])
@pytest.mark.parametrize("dtype", [jnp.uint8, jnp.uint16, jnp.uint32])
def test_bit_generator(agree, algorithm, dtype):
    how = getattr(jax.lax.RandomAlgorithm, algorithm)
    # The counter is about to carry into its high word.
    key = np.array([19088743, 2309737967, 4294967294, 4294967295], np.uint32)
    agree(lambda k: jax.lax.rng_bit_generator(k, (5, 3), dtype, how), key)
