"""Ops of StableHLO whose operands and regions are of several types, which JAX never emits."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from stablehlo_text import function, run

TYPES = {"i1": np.bool_, "i8": np.int8, "ui16": np.uint16, "i32": np.int32,
         "f8E5M2": ml_dtypes.float8_e5m2, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
         "f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64}


def whole_numbers(rng, dtype, shape):
    return rng.integers(0, 3, shape).astype(dtype)


@pytest.mark.parametrize("lhs", TYPES)
def test_products_of_two_types(tercel, x64, rng, lhs):
    for rhs, out in itertools.product(TYPES, TYPES):
        types = [f"tensor<3x5x{lhs}>", f"tensor<5x2x{rhs}>", f"tensor<3x2x{out}>"]
        text = function(f"%2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : "
                        f"({types[0]}, {types[1]}) -> {types[2]}\nreturn %2 : {types[2]}",
                        types[:2], types[2:])
        x = whole_numbers(rng, TYPES[lhs], (3, 5)), whole_numbers(rng, TYPES[rhs], (5, 2))
        got, = run(tercel, text, *x)
        wide = [v.astype(np.complex128) for v in x]
        wanted = wide[0] @ wide[1]
        if out == "f8E5M2" or "f8E5M2" == lhs == rhs:
            most = 1 if out == "i1" else np.inf
            np.testing.assert_allclose(got.astype(np.complex128), np.minimum(wanted, most),
                                       rtol=0.25, err_msg=text)
        else:
            wanted = wanted.real if out != "complex<f32>" else wanted
            np.testing.assert_array_equal(got, wanted.astype(TYPES[out]), err_msg=text)


def sum_region(element):
    t = f"tensor<{element}>"
    return (f"{{ ^bb0(%a: {t}, %b: {t}): %c = stablehlo.add %a, %b : {t}\n"
            f"stablehlo.return %c : {t} }}")


@pytest.mark.parametrize("narrow, wide", [("f16", "f32"), ("bf16", "f32"), ("f32", "f64"),
                                          ("i8", "i32"), ("ui8", "ui16")])
def test_scatters_that_promote(tercel, x64, narrow, wide):
    text = function(f"""%i = stablehlo.constant dense<[[1],[3],[1]]> : tensor<3x1xi32>
      %r = "stablehlo.scatter"(%0, %i, %1) ({sum_region(wide)}) {{
        scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
        : (tensor<4x6x{narrow}>, tensor<3x1xi32>, tensor<3x6x{narrow}>) -> tensor<4x6x{wide}>
      return %r : tensor<4x6x{wide}>""",
                    [f"tensor<4x6x{narrow}>", f"tensor<3x6x{narrow}>"], [f"tensor<4x6x{wide}>"])
    dtype = np.dtype(TYPES.get(narrow) or "uint8")
    x = (100 + np.arange(24).reshape(4, 6)).astype(dtype)
    got, = run(tercel, text, x, x[:3])
    wanted = x.astype(np.float64)
    np.add.at(wanted, [1, 3, 1], x[:3].astype(np.float64))
    np.testing.assert_array_equal(got.astype(np.float64), wanted)


def test_select_and_scatter_that_promotes(tercel):
    half, single = "tensor<f16>", "tensor<f32>"
    text = function(f"""%z = stablehlo.constant dense<0.5> : {half}
      %r = "stablehlo.select_and_scatter"(%0, %1, %z) ({{
        ^bb0(%a: {half}, %b: {half}):
          %c = stablehlo.compare GE, %a, %b : ({half}, {half}) -> tensor<i1>
          stablehlo.return %c : tensor<i1> }}, {sum_region("f32")}) {{
        window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}}
        : (tensor<4x6xf16>, tensor<2x3xf16>, {half}) -> tensor<4x6xf32>
      return %r : tensor<4x6xf32>""", ["tensor<4x6xf16>", "tensor<2x3xf16>"], ["tensor<4x6xf32>"])
    x = np.arange(24).reshape(4, 6).astype(np.float16)
    source = np.full((2, 3), 2047, np.float16)  # halves of it are not in f16
    got, = run(tercel, text, x, source)
    wanted = np.full((4, 6), 0.5, np.float32)
    wanted[1::2, 1::2] = 2047.5
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, wanted)

