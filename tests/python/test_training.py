"""Programs not written for Tercel train on it as they do on JAX's CPU backend."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def train(device, step, state, batches):
    losses = []
    with jax.default_device(device):
        step = jax.jit(step)
        for batch in batches:
            state, loss = step(state, *batch)
            losses.append(float(loss))
    return np.array(losses)


def agree_on_training(tercel, cpu, step, state, batches, tolerance=2e-3):
    ours, theirs = (train(d, step, state, batches) for d in (tercel, cpu))
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    assert ours[-1] < ours[0]


def test_mlp(tercel, cpu, rng):
    params = [(rng.normal(size=(m, n)).astype(np.float32) / np.sqrt(m).astype(np.float32),
               np.zeros(n, np.float32)) for m, n in ((20, 32), (32, 4))]

    def loss(params, x, y):
        (w, b), (v, c) = params
        scores = jax.nn.log_softmax(jax.nn.relu(x @ w + b) @ v + c)
        return -jnp.take_along_axis(scores, y[:, None], 1).mean()

    def step(params, x, y):
        value, gradient = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.3 * g, params, gradient), value

    x = rng.normal(size=(64, 20)).astype(np.float32)
    y = x[:, :4].argmax(1).astype(np.int32)
    agree_on_training(tercel, cpu, step, params, [(x, y)] * 20)


def test_the_demos_network(tercel, cpu):
    from tercel.demo import digits

    images, labels = digits.load_digits()[:2]
    with jax.default_device(cpu):
        start = jax.tree.map(np.asarray, digits.start(0))

    def step(state, x, y):
        params, state, loss = digits.train_step(*state, x, y)
        return (params, state), loss

    batches = [(images[i:i + 32], labels[i:i + 32]) for i in range(0, 320, 32)]
    agree_on_training(tercel, cpu, step, start, batches, tolerance=2e-2)


def test_recurrent_network_with_optax(tercel, cpu, rng):
    import optax

    optimiser = optax.adamw(1e-2)
    params = {"w": rng.normal(size=(3, 16)).astype(np.float32) / 2,
              "u": rng.normal(size=(16, 16)).astype(np.float32) / 4,
              "v": rng.normal(size=(16, 1)).astype(np.float32) / 4}

    def loss(params, x, y):
        def cell(h, v):
            h = jnp.tanh(v @ params["w"] + h @ params["u"])
            return h, None
        h, _ = jax.lax.scan(cell, jnp.zeros((x.shape[1], 16)), x)
        return jnp.mean((h @ params["v"] - y) ** 2)

    def step(state, x, y):
        params, opt = state
        value, gradient = jax.value_and_grad(loss)(params, x, y)
        updates, opt = optimiser.update(gradient, opt, params)
        return (optax.apply_updates(params, updates), opt), value

    x = rng.normal(size=(12, 32, 3)).astype(np.float32)
    y = x.sum((0, 2))[:, None] / 4
    with jax.default_device(cpu):
        state = jax.tree.map(np.asarray, (params, optimiser.init(params)))
    agree_on_training(tercel, cpu, step, state, [(x, y)] * 25)


def test_flax_module_with_optax(tercel, cpu, rng):
    import optax
    from flax import linen as nn

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.LayerNorm()(nn.gelu(nn.Dense(32)(x)))
            x = nn.MultiHeadDotProductAttention(num_heads=4)(x, x)
            return nn.Dense(3)(x.mean(1))

    network, optimiser = Network(), optax.sgd(0.1, momentum=0.9)
    x = rng.normal(size=(16, 6, 8)).astype(np.float32)
    y = (x.mean((1, 2)) > 0).astype(np.int32)
    with jax.default_device(cpu):
        params = network.init(jax.random.key(0), x)
        state = jax.tree.map(np.asarray, (params, optimiser.init(params)))

    def step(state, x, y):
        params, opt = state

        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(network.apply(p, x), y).mean()

        value, gradient = jax.value_and_grad(loss)(params)
        updates, opt = optimiser.update(gradient, opt)
        return (optax.apply_updates(params, updates), opt), value

    agree_on_training(tercel, cpu, step, state, [(x, y)] * 12, tolerance=1e-2)


def test_variational_autoencoder(tercel, cpu, rng):
    def dense(m, n):
        return rng.normal(size=(m, n)).astype(np.float32) / np.sqrt(m).astype(np.float32)

    params = {"enc": dense(16, 24), "mean": dense(24, 2), "log": dense(24, 2) / 10,
              "dec": dense(2, 24), "out": dense(24, 16)}

    def loss(params, x, key):
        h = jnp.tanh(x @ params["enc"])
        mean, log = h @ params["mean"], h @ params["log"]
        z = mean + jnp.exp(log / 2) * jax.random.normal(key, mean.shape)
        logits = jnp.tanh(z @ params["dec"]) @ params["out"]
        fit = jnp.sum(jnp.logaddexp(0, logits) - x * logits, 1)
        return jnp.mean(fit + 0.5 * jnp.sum(jnp.exp(log) + mean ** 2 - 1 - log, 1))

    def step(params, x, key):
        value, gradient = jax.value_and_grad(loss)(params, x, key)
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradient), value

    x = (rng.random((32, 16)) < 0.2).astype(np.float32)
    keys = [np.array([0, i], np.uint32) for i in range(20)]
    agree_on_training(tercel, cpu, step, params, [(x, k) for k in keys])
