"""Custom calls that JAX writes for other platforms, or where shapes were unknown, as text."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from stablehlo_text import function, run

TYPES = {"float32": "f32", "float64": "f64", "complex64": "complex<f32>",
         "complex128": "complex<f64>", "int32": "i32", "uint32": "ui32", "uint64": "ui64"}


def tensor(shape, dtype):
    return "tensor<" + "".join(f"{d}x" for d in shape) + TYPES[np.dtype(dtype).name] + ">"


def call(device, target, arguments, results, attributes="", functions=""):
    """One custom call; results are pairs of shape and dtype."""
    given = [tensor(x.shape, x.dtype) for x in arguments]
    made = [tensor(*r) for r in results]
    names = ", ".join(f"%{i}" for i in range(len(arguments)))
    returned = ", ".join(["%r"] if len(made) == 1 else [f"%r#{i}" for i in range(len(made))])
    count = f":{len(made)}" if len(made) > 1 else ""
    text = function(
        f"%r{count} = stablehlo.custom_call @{target}({names}) {{{attributes}}} : "
        f"({', '.join(given)}) -> {made[0] if len(made) == 1 else '(' + ', '.join(made) + ')'}\n"
        f"return {returned} : {', '.join(made)}", given, made)
    return run(device, text.replace("func.func public", functions + "\nfunc.func public", 1),
               *arguments)


def comparator(dtype, direction):
    scalar = tensor((), dtype)
    return (f"func.func private @before(%a: {scalar}, %b: {scalar}, %c: tensor<i32>, "
            f"%d: tensor<i32>) -> tensor<i1> {{\n%p = stablehlo.compare {direction}, %a, %b : "
            f"({scalar}, {scalar}) -> tensor<i1>\nreturn %p : tensor<i1> }}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (7, 3), (3, 7), (2, 6, 4), (2, 1, 33, 20),
                                   (0, 4, 4), (3, 0), (0, 3)])
def test_qr(tercel, rng, x64, dtype, shape):
    a = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.normal(size=shape)
    a = a.astype(dtype)
    m, n = shape[-2:]
    k = min(m, n)
    packed, taus = call(tercel, "Qr", [a], [(shape, dtype), (shape[:-2] + (k,), dtype)])
    q, = call(tercel, "ProductOfElementaryHouseholderReflectors", [packed[..., :k], taus],
              [(shape[:-1] + (k,), dtype)])
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype in ("float32", "complex64") else {
        "rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(q @ np.triu(packed[..., :k, :]), a, **close)
    unit = np.broadcast_to(np.eye(k), shape[:-2] + (k, k))
    np.testing.assert_allclose(np.conj(np.swapaxes(q, -1, -2)) @ q, unit, **close)
    if a.size and np.dtype(dtype).kind == "f":  # as LAPACK has it: the diagonal is real
        wanted, scale = np.linalg.qr(a[(0,) * (a.ndim - 2)], mode="raw")
        np.testing.assert_allclose(packed[(0,) * (a.ndim - 2)], wanted.T, **close)
        np.testing.assert_allclose(taus[(0,) * (a.ndim - 2)], scale, **close)


def test_qr_of_what_is_triangular(tercel):
    a = np.float32([[2, 3], [0, -4], [0, 0]])
    packed, taus = call(tercel, "Qr", [a], [((3, 2), "float32"), ((2,), "float32")])
    np.testing.assert_array_equal(packed, a)
    np.testing.assert_array_equal(taus, [0, 0])


def test_reflectors_fewer_than_columns(tercel, rng):
    a = rng.normal(size=(5, 4)).astype(np.float32)
    packed, taus = call(tercel, "Qr", [a[:, :2]], [((5, 2), "float32"), ((2,), "float32")])
    wide = np.concatenate([packed, a[:, 2:]], 1)
    q, = call(tercel, "ProductOfElementaryHouseholderReflectors", [wide, taus],
              [((5, 4), "float32")])
    np.testing.assert_allclose(q.T @ q, np.eye(4), atol=1e-5)
    np.testing.assert_allclose(q[:, :2] @ np.triu(packed[:2]), a[:, :2], atol=1e-5)


@pytest.mark.parametrize("target", ["ApproxTopK", "stablehlo.dynamic_approx_top_k"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_approx_top_k(tercel, rng, target, axis):
    x = rng.normal(size=(30, 40)).astype(np.float32)
    places = np.broadcast_to(np.arange(x.shape[axis], dtype=np.int32).reshape(
        (-1, 1) if axis == 0 else (1, -1)), x.shape)
    operands = [x, places, np.float32(np.inf), np.int32(-1)]
    if target != "ApproxTopK":
        operands.append(np.int32(7))
    shape = (7, 40) if axis == 0 else (30, 7)
    smallest, where = call(
        tercel, target, operands, [(shape, "float32"), (shape, "int32")],
        "called_computations = [@before], mhlo.backend_config = {aggregate_to_topk = true, "
        f"reduction_dim = {axis} : i64, recall_target = 0.95 : f32}}", comparator("float32", "LT"))
    np.testing.assert_array_equal(smallest, np.take(np.sort(x, axis), np.arange(7), axis))
    np.testing.assert_array_equal(np.take_along_axis(x, where, axis), smallest)


@pytest.mark.parametrize("target", ["stablehlo.dynamic_top_k", "mhlo.topk"])
def test_top_k(tercel, rng, target):
    for dtype in ("float32", "int32"):
        x = rng.integers(-9, 9, (4, 50)).astype(dtype)
        own = target == "mhlo.topk"  # which jaxlib writes up to 0.9.0
        values, places = call(tercel, target, [x] if own else [x, np.int32(6)],
                              [((4, 6), dtype), ((4, 6), "int32")],
                              "mhlo.attributes = {k = 6 : i64, largest = true}" if own else "")
        order = np.argsort(-x, axis=1, kind="stable")[:, :6]
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


def test_the_smallest_of_rows_are_refused(tercel):
    with pytest.raises(Exception, match="the smallest of rows by mhlo.topk"):
        call(tercel, "mhlo.topk", [np.ones((2, 5), np.float32)],
             [((2, 3), "float32"), ((2, 3), "int32")],
             "mhlo.attributes = {k = 3 : i64, largest = false}")


def test_dynamic_rng_bit_generator(tercel, x64):
    state = np.array([1, 2], np.uint64)
    results = [((2,), "uint64"), ((3, 4), "uint32")]
    got = call(tercel, "stablehlo.dynamic_rng_bit_generator", [state, np.int32([3, 4])], results,
               "rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>")
    kinds = ", ".join(tensor(*r) for r in results)
    wanted = run(tercel, function(
        "%r:2 = stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (tensor<2xui64>) -> "
        f"({kinds})\nreturn %r#0, %r#1 : {kinds}", ["tensor<2xui64>"],
        [tensor(*r) for r in results]), state)
    for left, right in zip(got, wanted):
        np.testing.assert_array_equal(left, right)


def test_dynamic_reduce_window(tercel, rng):
    x = rng.normal(size=(9, 4)).astype(np.float32)
    text = """module @m {
func.func private @sum(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
%s = stablehlo.add %a, %b : tensor<f32>
return %s : tensor<f32> }
func.func public @main(%x: tensor<9x4xf32>) -> tensor<9x4xf32> {
%z = stablehlo.constant dense<0.0> : tensor<f32>
%w = stablehlo.constant dense<[3, 1]> : tensor<2xi32>
%o = stablehlo.constant dense<1> : tensor<2xi32>
%p = stablehlo.constant dense<[[1, 1], [0, 0]]> : tensor<2x2xi32>
%r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %z, %w, %o, %o, %o, %p)
 {called_computations = [@sum]} : (tensor<9x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>,
 tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<9x4xf32>
return %r : tensor<9x4xf32> } }"""
    got, = run(tercel, text, x)
    padded = np.pad(x, ((1, 1), (0, 0)))
    np.testing.assert_allclose(got, padded[:-2] + padded[1:-1] + padded[2:], rtol=1e-6,
                               atol=1e-6)


@pytest.mark.parametrize("least", [4, 5])
def test_shape_assertion(tercel, least):
    text = f"""module @m {{ func.func public @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {{
%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<4x2xf32>) -> tensor<i32>
%k = stablehlo.constant dense<{least}> : tensor<i32>
%c = stablehlo.compare GE, %n, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
stablehlo.custom_call @shape_assertion(%c, %n, %k) {{has_side_effect = true,
 error_message = "expected at least {{1}} rows, not {{0}}"}}
 : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
return %x : tensor<4x2xf32> }} }}"""
    x = np.zeros((4, 2), np.float32)
    if least == 4:
        np.testing.assert_array_equal(run(tercel, text, x)[0], x)
        return
    with pytest.raises(Exception, match="expected at least 5 rows, not 4"):
        run(tercel, text, x)


def of_type(rng, shape, dtype):
    a = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.normal(size=shape)
    return a.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (2, 3, 5, 5), (0, 0), (0, 4, 4)])
@pytest.mark.parametrize("lower", [True, False])
def test_eigh(tercel, rng, x64, dtype, shape, lower):
    a = of_type(rng, shape, dtype)
    real = np.zeros(1, dtype).real.dtype
    vectors, values = call(tercel, "Eigh", [a], [(shape, dtype), (shape[:-1], real)],
                           f'backend_config = "{int(lower)},1,15,0.00001"')
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if real == np.float32 else {
        "rtol": 1e-11, "atol": 1e-11}
    wanted = np.linalg.eigvalsh(a, "L" if lower else "U")
    np.testing.assert_allclose(values, wanted, **tolerance)
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    whole = half + np.conj(np.swapaxes(half, -1, -2)) + np.eye(shape[-1]) * a.real
    np.testing.assert_allclose(whole @ vectors, vectors * values[..., None, :], **tolerance)


def test_lapack_is_there_for_programs_that_jax_has_not_lowered():
    program = (
        "import jax, numpy as np, test_foreign_calls as t\n"
        "a = np.diag(np.float32([3, 1]))\n"
        "results = [((2, 2), 'float32'), ((2,), 'float32')]\n"
        "print(t.call(jax.devices()[0], 'Eigh', [a], results,\n"
        "             'backend_config = \"1,1,15,0.00001\"')[1])\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=120, cwd=os.path.dirname(__file__))
    assert done.returncode == 0 and done.stdout == "[1. 3.]\n", done.stderr


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (7, 4), (4, 7), (2, 3, 5, 6), (3, 0), (0, 4, 4)])
def test_lu(tercel, rng, x64, dtype, shape):
    a = of_type(rng, shape, dtype)
    m, n, k = *shape[-2:], min(shape[-2:])
    packed, swaps, order = call(
        tercel, "LuDecomposition", [a],
        [(shape, dtype), (shape[:-2] + (k,), "int32"), (shape[:-2] + (m,), "int32")])
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if a.real.dtype == np.float32 else {
        "rtol": 1e-11, "atol": 1e-11}
    low = np.tril(packed[..., :k], -1) + np.eye(m, k)
    np.testing.assert_allclose(low @ np.triu(packed[..., :k, :]),
                               np.take_along_axis(a, order[..., None], -2), **tolerance)
    count = math.prod(shape[:-2])
    for steps, wanted in zip(swaps.reshape(count, k), order.reshape(count, m)):
        rows = np.arange(m)
        for i, j in enumerate(steps):
            rows[[i, j]] = rows[[j, i]]
        np.testing.assert_array_equal(rows, wanted)


def test_what_is_wrong_is_refused(tercel):
    x = np.zeros((3, 3), np.float32)
    for target, results in (("Qr", [((3, 3), "float32"), ((4,), "float32")]),
                            ("Qr", [((3, 3), "float32")]),
                            ("Eigh", [((3, 3), "float32"), ((3,), "float32")]),
                            ("LuDecomposition", [((3, 3), "float32"), ((3,), "int32")]),
                            ("LuDecomposition",
                             [((3, 3), "float32"), ((3,), "int32"), ((4,), "int32")]),
                            ("ApproxTopK", [((2, 3), "float32")]),
                            ("stablehlo.dynamic_top_k", [((3, 4), "float32"), ((3, 4), "int32")])):
        with pytest.raises(Exception, match=f"a wrong custom call to {target}"):
            call(tercel, target, [x], results)


@pytest.mark.parametrize("target, operands, results", [
    ("Qr", ["4x4xf32"], ["4x4xf32", "?xf32"]),
    ("mhlo.topk", ["8xf32"], ["?xf32", "?xi32"]),
    ("ApproxTopK", ["8xf32", "f32"], ["?xf32"])])
def test_open_sizes_are_refused(tercel, target, operands, results):
    kinds = [[f"tensor<{k}>" for k in some] for some in (operands, results)]
    names = ", ".join(f"%{i}" for i in range(len(operands)))
    count = f":{len(results)}" if len(results) > 1 else ""
    last = f"%r#{len(results) - 1}" if count else "%r"
    text = function(
        f"%r{count} = stablehlo.custom_call @{target}({names}) {{"
        "mhlo.backend_config = {reduction_dim = 0 : i64}, called_computations = [@before]} : "
        f"({', '.join(kinds[0])}) -> ({', '.join(kinds[1])})\n"
        f"%s = stablehlo.get_dimension_size {last}, dim = 0 : ({kinds[1][-1]}) -> tensor<i32>\n"
        "return %s : tensor<i32>", kinds[0], ["tensor<i32>"])
    text = text.replace("func.func public", comparator("float32", "LT") + "\nfunc.func public", 1)
    with pytest.raises(Exception, match=f"a wrong custom call to {target}"):
        run(tercel, text, *(np.zeros([int(d) for d in k.split("x")[:-1]], np.float32)
                            for k in operands))
