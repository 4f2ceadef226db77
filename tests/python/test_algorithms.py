"""StableHLO's algorithms and its ops of dynamic shape, as text: JAX emits others on cpu."""

import numpy as np
import pytest
from stablehlo_text import function, run


def tensor(x):
    names = {"float32": "f32", "float64": "f64", "complex64": "complex<f32>",
             "complex128": "complex<f64>", "int32": "i32", "bfloat16": "bf16", "float16": "f16"}
    return "tensor<" + "".join(f"{d}x" for d in x.shape) + names[x.dtype.name] + ">"


def numbers(rng, shape, dtype):
    if np.dtype(dtype).kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def tolerance(dtype):
    return 2e-3 if np.dtype(dtype).name in ("float32", "complex64") else 1e-10


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 17, 17), (2, 64, 64), (100, 100),
                                   (2, 2, 7, 7), (0, 4, 4), (2, 0, 0), (193, 193)])
@pytest.mark.parametrize("lower", ["true", "false"])
def test_cholesky(tercel, rng, x64, dtype, shape, lower):
    root = numbers(rng, shape, dtype)
    a = root @ np.conj(np.swapaxes(root, -1, -2)) + 3 * np.eye(shape[-1], dtype=dtype)
    # The other triangle is not read.
    given = np.tril(a) if lower == "true" else np.triu(a)
    text = function(f'%1 = stablehlo.cholesky %0, lower = {lower} : {tensor(a)}\n'
                    f'return %1 : {tensor(a)}', [tensor(a)], [tensor(a)])
    got, = run(tercel, text, given)
    factor = got if lower == "true" else np.conj(np.swapaxes(got, -1, -2))
    product = factor @ np.conj(np.swapaxes(factor, -1, -2))
    np.testing.assert_allclose(product, a, rtol=tolerance(dtype), atol=tolerance(dtype))
    np.testing.assert_array_equal(np.triu(factor, 1), np.zeros_like(factor))


def test_cholesky_of_what_has_no_root(tercel):
    a = np.float32([[1, 0], [0, -1]])
    text = function(f"%1 = stablehlo.cholesky %0, lower = true : {tensor(a)}\n"
                    f"return %1 : {tensor(a)}", [tensor(a)], [tensor(a)])
    got, = run(tercel, text, a)
    assert got[0, 0] == 1 and np.isnan(got[1, 1])


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("form", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_solve(tercel, rng, x64, dtype, left, lower, form, unit):
    for batch, n, m in (((), 1, 1), ((3,), 4, 2), ((2,), 9, 5), ((), 70, 3), ((3,), 130, 41), ((2, 1), 4, 0)):
        a = numbers(rng, batch + (n, n), dtype) / n + 2 * np.eye(n, dtype=dtype)
        b = numbers(rng, batch + ((n, m) if left else (m, n)), dtype)
        text = function(
            f'%2 = "stablehlo.triangular_solve"(%0, %1) {{left_side = {str(left).lower()}, '
            f'lower = {str(lower).lower()}, unit_diagonal = {str(unit).lower()}, transpose_a = '
            f'#stablehlo<transpose {form}>}} : ({tensor(a)}, {tensor(b)}) -> {tensor(b)}\n'
            f'return %2 : {tensor(b)}', [tensor(a), tensor(b)], [tensor(b)])
        got, = run(tercel, text, a, b)
        matrix = np.tril(a) if lower else np.triu(a)
        if unit:
            matrix = matrix - matrix * np.eye(n) + np.eye(n, dtype=dtype)
        if form != "NO_TRANSPOSE":
            matrix = np.swapaxes(matrix, -1, -2)
        if form == "ADJOINT":
            matrix = np.conj(matrix)
        again = matrix @ got if left else got @ matrix
        np.testing.assert_allclose(again, b, rtol=tolerance(dtype), atol=tolerance(dtype))


@pytest.mark.parametrize("shape,axis", [((4, 3), 1), ((2, 5, 5, 7), 3), ((6, 1, 4), 1),
                                        ((3, 9), 0)])
def test_batch_norm(tercel, rng, shape, axis):
    x, given = numbers(rng, shape, "float32"), numbers(rng, shape, "float32")
    scale, offset, mean = (numbers(rng, (shape[axis],), "float32") for _ in range(3))
    variance = np.abs(numbers(rng, (shape[axis],), "float32")) + 0.5
    whole, each = tensor(x), tensor(scale)
    attributes = f"{{epsilon = 0.01 : f32, feature_index = {axis} : i64}}"
    others = tuple(d for d in range(len(shape)) if d != axis)
    count = x.size / shape[axis]

    def spread(v):
        return v.reshape([-1 if d == axis else 1 for d in range(len(shape))])

    wide = x.astype(np.float64)
    average, spread_out = wide.mean(others), wide.var(others)
    training = function(
        f'%o, %m, %v = "stablehlo.batch_norm_training"(%0, %1, %2) {attributes} : '
        f'({whole}, {each}, {each}) -> ({whole}, {each}, {each})\n'
        f'return %o, %m, %v : {whole}, {each}, {each}', [whole, each, each], [whole, each, each])
    wanted = ((wide - spread(average)) / np.sqrt(spread(spread_out) + 0.01) * spread(scale)
              + spread(offset), average, spread_out)
    for got, right in zip(run(tercel, training, x, scale, offset), wanted):
        np.testing.assert_allclose(got, right, rtol=2e-4, atol=2e-4)
    inference = function(
        f'%o = "stablehlo.batch_norm_inference"(%0, %1, %2, %3, %4) {attributes} : '
        f'({whole}, {each}, {each}, {each}, {each}) -> {whole}\nreturn %o : {whole}',
        [whole, each, each, each, each], [whole])
    wanted = (wide - spread(mean)) / np.sqrt(spread(variance) + 0.01) * spread(scale)
    np.testing.assert_allclose(run(tercel, inference, x, scale, offset, mean, variance)[0],
                               wanted + spread(offset), rtol=2e-4, atol=2e-4)
    grad = function(
        f'%o, %s, %f = "stablehlo.batch_norm_grad"(%0, %1, %2, %3, %4) {attributes} : '
        f'({whole}, {each}, {each}, {each}, {whole}) -> ({whole}, {each}, {each})\n'
        f'return %o, %s, %f : {whole}, {each}, {each}',
        [whole, each, each, each, whole], [whole, each, each])
    off, inverse = wide - spread(mean), 1 / np.sqrt(variance.astype(np.float64) + 0.01)
    along, total = (given * off).sum(others), given.sum(others, dtype=np.float64)
    wanted = (spread(scale * inverse) / count * (count * given - spread(total) - off
                                                 * spread(along * inverse ** 2)),
              along * inverse, total)
    for got, right in zip(run(tercel, grad, x, scale, mean, variance, given), wanted):
        np.testing.assert_allclose(got, right, rtol=3e-4, atol=3e-4)


@pytest.mark.parametrize("dtype,low,high", [("f32", "1.5", "4.0"), ("f64", "-1.0", "1.0"),
                                            ("i32", "-5", "9"), ("bf16", "0.0", "1.0")])
def test_uniform_numbers(tercel, x64, dtype, low, high):
    text = function(
        f"%a = stablehlo.constant dense<{low}> : tensor<{dtype}>\n"
        f"%b = stablehlo.constant dense<{high}> : tensor<{dtype}>\n"
        "%s = stablehlo.constant dense<[100, 77]> : tensor<2xi64>\n"
        f"%r = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<{dtype}>, "
        f"tensor<{dtype}>, tensor<2xi64>) -> tensor<100x77x{dtype}>\n"
        f"%q = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<{dtype}>, "
        f"tensor<{dtype}>, tensor<2xi64>) -> tensor<100x77x{dtype}>\n"
        f"return %r, %q : tensor<100x77x{dtype}>, tensor<100x77x{dtype}>", [],
        [f"tensor<100x77x{dtype}>"] * 2)
    first, second = (x.astype(np.float64) for x in run(tercel, text))
    low, high = float(low), float(high)
    for x in (first, second):
        assert x.min() >= low and x.max() <= high
        end = high - 1 if dtype == "i32" else high
        assert abs(x.mean() - (low + end) / 2) < 0.05 * (high - low)
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.05


def test_normal_numbers(tercel):
    text = function(
        "%a = stablehlo.constant dense<2.0> : tensor<f32>\n"
        "%b = stablehlo.constant dense<0.5> : tensor<f32>\n"
        "%s = stablehlo.constant dense<[20011]> : tensor<1xi64>\n"
        "%r = stablehlo.rng %a, %b, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, "
        "tensor<1xi64>) -> tensor<20011xf32>\nreturn %r : tensor<20011xf32>", [],
        ["tensor<20011xf32>"])
    x, = run(tercel, text)
    assert abs(x.mean() - 2) < 0.02 and abs(x.std() - 0.5) < 0.02
    assert abs(np.mean((x - 2) ** 4) / 0.5 ** 4 - 3) < 0.3


def test_dynamic_forms_of_constants(tercel, rng):
    x = numbers(rng, (4, 6), "float32")
    index = "tensor<2xi64>"
    constants = "".join(f"%{n} = stablehlo.constant dense<{v}> : {index}\n" for n, v in
                        (("d", [6, 4]), ("lo", [1, 0]), ("hi", [0, 2]), ("in", [0, 1]),
                         ("st", [1, 0]), ("li", [4, 6]), ("sr", [2, 3])))
    body = constants + (
        f"%r = stablehlo.dynamic_reshape %0, %d : (tensor<4x6xf32>, {index}) -> tensor<6x4xf32>\n"
        "%z = stablehlo.constant dense<7.0> : tensor<f32>\n"
        f"%p = stablehlo.dynamic_pad %0, %z, %lo, %hi, %in : (tensor<4x6xf32>, tensor<f32>, "
        f"{index}, {index}, {index}) -> tensor<5x13xf32>\n"
        f"%s = stablehlo.real_dynamic_slice %0, %st, %li, %sr : (tensor<4x6xf32>, {index}, "
        f"{index}, {index}) -> tensor<2x2xf32>\n"
        f"%i = stablehlo.dynamic_iota %d, dim = 1 : ({index}) -> tensor<6x4xf32>\n"
        f"%b = stablehlo.dynamic_broadcast_in_dim %z, %d, dims = [] : (tensor<f32>, {index}) -> "
        "tensor<6x4xf32>\n"
        "return %r, %p, %s, %i, %b : tensor<6x4xf32>, tensor<5x13xf32>, tensor<2x2xf32>, "
        "tensor<6x4xf32>, tensor<6x4xf32>")
    text = function(body, ["tensor<4x6xf32>"], ["tensor<6x4xf32>", "tensor<5x13xf32>",
                                                "tensor<2x2xf32>", "tensor<6x4xf32>",
                                                "tensor<6x4xf32>"])
    got = run(tercel, text, x)
    padded = np.full((5, 13), 7, np.float32)
    padded[1:, 0:11:2] = x
    wanted = (x.reshape(6, 4), padded, x[1:4:2, 0:6:3], np.tile(np.float32([0, 1, 2, 3]), (6, 1)),
              np.full((6, 4), 7, np.float32))
    for left, right in zip(got, wanted):
        np.testing.assert_array_equal(left, right)
