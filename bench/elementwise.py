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


# As in equations of state: quotients of polynomials of three variables, with what they share.
def state(x, y, z):
    def polynomial(seed):
        root, total = jnp.sqrt(x), 0
        for i, power in enumerate([1, y, y * y, root, root * x, z, z * z, y * z]):
            part = 1 + 0.1 * (i + seed)
            for k in range(4):
                part = part * y * 0.3 + x * (0.2 + 0.05 * k) + z * root * 0.1
            total = total + part * power
        return total

    a, b, c = polynomial(1), polynomial(2), polynomial(3)
    return jnp.log(1 + a * a) / (1 + b * b) + a * c / (2 + c * c) + b


@workload("elementwise", goal=1.3, moved=16 * MB)
def state_1m():
    return state, (abs(normal(MB)), abs(normal(MB, seed=1)), abs(normal(MB, seed=2)))


@workload("elementwise", goal=1.3, moved=24 * MB)
def state_gradient_1m():
    gradient = jax.grad(lambda *xyz: state(*xyz).sum(), (0, 1, 2))
    return gradient, (abs(normal(MB)) + 0.1, abs(normal(MB, seed=1)), abs(normal(MB, seed=2)))


@workload("elementwise", goal=1, moved=3 * 128 * 128 * 160 * 4)
def limited_fluxes_128x128x160():
    def step(x, weights):
        around = (4 * x[1:-1, 1:-1] - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2])
        down, right = jnp.diff(around, axis=0), jnp.diff(around, axis=1)
        down = jnp.where(down * jnp.diff(x[1:-1, 1:-1], axis=0) > 0, 0, down)
        right = jnp.where(right * jnp.diff(x[1:-1, 1:-1], axis=1) > 0, 0, right)
        fluxes = jnp.diff(down, axis=0)[:, 1:-1] + jnp.diff(right, axis=1)[1:-1]
        return x[2:-2, 2:-2] - weights * fluxes

    return step, (normal(132, 132, 160), normal(128, 128, 160, seed=1))


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


@workload("elementwise", goal=1, moved=2 * 3 * 40**3 * 4)
def curl_3x40x40x40():
    def curl(field):
        def slope(component, axis):
            return jnp.roll(field[component], -1, axis) - field[component]

        return jnp.stack([slope((i + 2) % 3, (i + 1) % 3) - slope((i + 1) % 3, (i + 2) % 3)
                          for i in range(3)])

    return curl, (normal(3, 40, 40, 40),)
