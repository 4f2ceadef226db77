"""Work that memory bounds: elementwise chains, reductions and transposes of tens of MB."""

import jax
import jax.numpy as jnp

from workload import normal, workload

MB = 1 << 20


@workload("elementwise", goal=1.3, moved=48 * MB)
def chain_4m():
    return (lambda x, y: jnp.maximum(x * 1.5 + y, 0) * y - x / 3,
            (normal(4 * MB), normal(4 * MB, seed=1)))


@workload("elementwise", goal=1.3, moved=32 * MB)
def chain_functions_4m():
    return lambda x: jnp.tanh(jnp.exp(-x * x) + jnp.sin(x)) * jax.nn.sigmoid(x), (normal(4 * MB),)


@workload("elementwise", goal=1.3, moved=32 * MB)
def gelu_4096x1024():
    return jax.nn.gelu, (normal(4096, 1024),)


@workload("elementwise", goal=1.3, moved=32 * MB)
def chain_bf16_8m():
    return lambda x: jnp.maximum(x * 1.5 + 1, 0) * x, (normal(8 * MB, dtype="bfloat16"),)


@workload("elementwise", goal=1.3, moved=32 * MB)
def softmax_1024x4096():
    return jax.nn.softmax, (normal(1024, 4096),)


@workload("elementwise", goal=1.3, moved=2 * 5000 * 999 * 4)
def softmax_5000x999():
    return jax.nn.softmax, (normal(5000, 999),)


@workload("elementwise", goal=1.3, moved=32 * MB)
def layer_norm_4096x1024():
    def layer_norm(x, scale, bias):
        mean = x.mean(-1, keepdims=True)
        centred = x - mean
        variance = (centred * centred).mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt(variance + 1e-5) * scale + bias

    return layer_norm, (normal(4096, 1024), normal(1024), normal(1024))


def reduction(name, function, shape):
    size = 4
    for extent in shape:
        size *= extent
    workload("elementwise", name, goal=1.3, moved=size)(lambda: (function, (normal(*shape),)))


reduction("sum_rows_4096x4096", lambda x: x.sum(1), (4096, 4096))
reduction("sum_columns_4096x4096", lambda x: x.sum(0), (4096, 4096))
reduction("sum_all_16m", lambda x: x.sum(), (16 * MB,))
reduction("max_rows_5000x3001", lambda x: x.max(1), (5000, 3001))
reduction("variance_columns_4096x1024", lambda x: x.var(0), (4096, 1024))
reduction("argmax_rows_4096x1024", lambda x: x.argmax(1), (4096, 1024))
reduction("sum_middle_64x512x512", lambda x: x.sum(1), (64, 512, 512))


def transpose(name, shape, order, dtype="float32", size=4):
    count = 2 * size
    for extent in shape:
        count *= extent
    workload("transposes", name, goal=5, moved=count)(
        lambda: (lambda x: jnp.transpose(x, order), (normal(*shape, dtype=dtype),)))


transpose("transpose_4096x4096", (4096, 4096), (1, 0))
transpose("transpose_3000x5001", (3000, 5001), (1, 0))
transpose("transpose_256_cubed_reversed", (256, 256, 256), (2, 1, 0))
transpose("transpose_64x512x512_inner", (64, 512, 512), (0, 2, 1))
transpose("transpose_4096x4096_bf16", (4096, 4096), (1, 0), "bfloat16", 2)
