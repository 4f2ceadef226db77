"""Programs of many small ops, and what a compilation and a dispatch cost by themselves."""

import jax
import jax.numpy as jnp
import numpy as np

from workload import normal, workload


def chain(count):
    def run(x):
        for i in range(count):
            x = jnp.sin(x) * (1 + 0.001 * i) + 0.1
        return x

    return run


def small_products(count):
    def run(x, w):
        for i in range(count):
            x = jnp.tanh(x @ w * (1 + 0.001 * i))
        return x

    return run


def unrolled_rnn(x, w, u):
    h = jnp.zeros((16, 64))
    for step in range(64):
        h = jnp.tanh(x[step] @ w + h @ u)
    return (h * h).sum()


def gradient(function):
    return jax.grad(lambda *arguments: function(*arguments).sum())


WEIGHT = normal(64, 64, seed=1) / 8
for n, slow in ((100, False), (400, False), (1000, True), (2000, True)):
    workload("unrolled", f"chain_{n}", goal=3, compile_goal=10, slow=slow)(
        lambda n=n: (chain(n), (normal(16, 64),)))
for n, slow in ((100, False), (400, True), (1600, True)):
    workload("unrolled", f"small_products_{n}", goal=3, compile_goal=10, slow=slow)(
        lambda n=n: (small_products(n), (normal(16, 64), WEIGHT)))
for n, slow in ((50, False), (100, True), (200, True)):
    workload("unrolled", f"chain_gradient_{n}", goal=3, compile_goal=10, slow=slow)(
        lambda n=n: (gradient(chain(n)), (normal(16, 64),)))
workload("unrolled", "small_products_gradient_100", goal=3, compile_goal=10, slow=True)(
    lambda: (gradient(small_products(100)), (normal(16, 64), WEIGHT)))


@workload("unrolled", goal=3, compile_goal=10)
def rnn_64():
    return unrolled_rnn, (normal(64, 16, 64), WEIGHT, WEIGHT)


@workload("unrolled", goal=3, compile_goal=10)
def rnn_64_gradient():
    return jax.grad(unrolled_rnn, (1, 2)), (normal(64, 16, 64), WEIGHT, WEIGHT)


@workload("unrolled", goal=3, compile_goal=10)
def adam_200x64x64():
    def step(params, first, second, gradient):
        first = [0.9 * m + 0.1 * g for m, g in zip(first, gradient)]
        second = [0.999 * v + 0.001 * g * g for v, g in zip(second, gradient)]
        params = [p - 1e-3 * m / (jnp.sqrt(v) + 1e-8) for p, m, v in zip(params, first, second)]
        return params, first, second

    tensors = [normal(64, 64, seed=i) for i in range(200)]
    return step, (tensors, tensors, [t * t for t in tensors], tensors)


@workload("overheads", compile_goal=6, variants=5)
def compile_one_fused_kernel(variant=0):
    n = 1000 + 37 * variant
    return lambda x, y: jnp.tanh(x * 2 + y) * jax.nn.sigmoid(y) - x, (normal(64, n),
                                                                     normal(64, n, seed=1))


@workload("overheads", compile_goal=6, variants=5)
def compile_softmax(variant=0):
    return jax.nn.softmax, (normal(64, 1000 + 37 * variant),)


@workload("overheads", goal=1 / 1.2)
def dispatch_scalar():
    return lambda x: x + 1, (np.float32(1),)


@workload("overheads", goal=1 / 1.2)
def dispatch_20_arguments():
    return lambda *xs: sum(xs), tuple(np.float32(i) for i in range(20))
