"""einsum, unary_einsum and torch_index_select: ops that JAX no longer emits, as text."""

import numpy as np
import pytest
from stablehlo_text import function, run


def tensor(shape, element="f32"):
    return "tensor<" + "".join(f"{d}x" for d in shape) + element + ">"


SIZES = {"a": 2, "b": 3, "c": 4, "d": 5}


def array(rng, labels):
    shape = []
    for label in labels.replace("...", "."):
        shape += [7, 2] if label == "." else [SIZES[label]]
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("config", [
    "ab,bc->ac", "ab,cb->ca", "abc,abd->cd", "abc,acd->abd", "ab,cd->dacb", "abc,c->ab", "a,a->",
    "a,b->ba", "ab,ab->ab", "abc,bd->ad", "abc,abc->", "aab,b->a", "ab,aa->b", "...ab,...bc->...ac",
    "a...,a->...", "ab, bc -> ac", "a,->a"])
def test_einsum(tercel, rng, config):
    plain = config.replace(" ", "")
    left, right = plain.split("->")[0].split(",")

    a, b = (array(rng, labels) for labels in (left, right))
    wanted = np.einsum(plain, a, b)
    text = function(f'%r = "stablehlo.einsum"(%0, %1) {{einsum_config = "{config}"}} : '
                    f"({tensor(a.shape)}, {tensor(b.shape)}) -> {tensor(wanted.shape)}\n"
                    f"return %r : {tensor(wanted.shape)}", [tensor(a.shape), tensor(b.shape)],
                    [tensor(wanted.shape)])
    np.testing.assert_allclose(run(tercel, text, a, b)[0], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("config", ["ab->ba", "abc->b", "aa->a", "aab->", "abab->ab", "...a->a..."])
def test_unary_einsum(tercel, rng, config):
    a = array(rng, config.split("->")[0])
    wanted = np.einsum(config, a)
    text = function(f'%r = "stablehlo.unary_einsum"(%0) {{einsum_config = "{config}"}} : '
                    f"({tensor(a.shape)}) -> {tensor(wanted.shape)}\n"
                    f"return %r : {tensor(wanted.shape)}", [tensor(a.shape)],
                    [tensor(wanted.shape)])
    np.testing.assert_allclose(run(tercel, text, a)[0], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("config", ["ab->c", "ab,bc", "abc,bc->a", "ab,ac->aa", "a1,ab->b"])
def test_wrong_einsum(tercel, config):
    a = np.zeros((2, 3), np.float32)
    text = function(f'%r = "stablehlo.einsum"(%0, %0) {{einsum_config = "{config}"}} : '
                    f"({tensor(a.shape)}, {tensor(a.shape)}) -> tensor<2x2xf32>\n"
                    "return %r : tensor<2x2xf32>", [tensor(a.shape)], ["tensor<2x2xf32>"])
    with pytest.raises(Exception, match="einsum_config"):
        run(tercel, text, a)


@pytest.mark.parametrize("dim,batches,index", [(0, 0, (3,)), (1, 0, (2, 2)), (2, 0, ()),
                                               (1, 1, (4, 3)), (2, 1, (4,)), (2, 2, (4, 5, 2))])
def test_torch_index_select(tercel, rng, dim, batches, index):
    a = rng.normal(size=(4, 5, 6)).astype(np.float32)
    places = rng.integers(0, 4, index).astype(np.int32)
    if batches == 0:
        wanted = np.take(a, places, dim)
    else:
        flat = a.reshape((-1,) + a.shape[batches:])
        rows = places.reshape((flat.shape[0],) + index[batches:])
        wanted = np.stack([np.take(x, i, dim - batches) for x, i in zip(flat, rows)])
        wanted = wanted.reshape(a.shape[:batches] + wanted.shape[1:])
    text = function(f'%r = "stablehlo.torch_index_select"(%0, %1) {{dim = {dim} : i64, '
                    f"batch_dims = {batches} : i64}} : ({tensor(a.shape)}, {tensor(index, 'i32')}) -> "
                    f"{tensor(wanted.shape)}\nreturn %r : {tensor(wanted.shape)}",
                    [tensor(a.shape), tensor(index, "i32")], [tensor(wanted.shape)])
    np.testing.assert_array_equal(run(tercel, text, a, places)[0], wanted)
