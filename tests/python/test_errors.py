"""What Tercel does not do, it says: the op, its types and the line of the program."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

SQUARE = np.eye(4, dtype=np.float32)


def message(tercel, function, *arguments):
    with jax.default_device(tercel), pytest.raises(Exception) as error:
        jax.block_until_ready(jax.jit(function)(*arguments))
    return str(error.value)


@pytest.mark.parametrize("function, words", [
    (lambda x: jax.ffi.ffi_call("unheard_of", jax.ShapeDtypeStruct((4, 4), np.float32))(x),
     ["unheard_of", "f32[4,4]"]),
])
def test_unsupported_names_op_type_and_line(tercel, function, words):
    said = message(tercel, function, SQUARE)
    line = inspect.getsourcelines(function)[1]
    assert said.startswith("UNIMPLEMENTED: ")
    for word in [*words, f"test_errors.py:{line}:"]:
        assert word in said, said


def test_a_layout_is_no_reason_to_refuse(agree):
    from jax.experimental.layout import Layout, with_layout_constraint
    agree(lambda x: with_layout_constraint(x * 2, Layout((1, 0))) + 1, SQUARE)


def test_memory_kinds_are_annotations(agree):
    agree(lambda x: jax.device_put(x, jax.memory.Space.Host) + 1, SQUARE)


def test_programs_without_results(tercel):
    with jax.default_device(tercel):
        assert jax.jit(lambda: ())() == ()
        assert jax.jit(lambda x: [])(SQUARE) == []


def test_composite_with_array_attributes(agree):
    def scaled(x, *, table):
        return x * 3.0

    composite = lax.composite(scaled, "tercel_test.scaled")
    agree(lambda x: composite(x, table=np.array([0.5, 1.5], np.float32)), SQUARE)


def test_no_random_bits(agree):
    agree(lambda key: lax.rng_bit_generator(key, (0, 3)), np.array([3, 1, 4, 2], np.uint32))


def test_products_of_mixed_float_types(agree):
    narrow = np.linspace(-2, 2, 12, dtype=np.float32).reshape(4, 3).astype(jnp.bfloat16)
    for operands in ((SQUARE + 0.1, narrow), (narrow.T, SQUARE + 0.1)):
        agree(lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())),
                                           preferred_element_type=np.float32), *operands)
