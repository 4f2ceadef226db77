"""Whole training steps."""

import jax
import jax.numpy as jnp
import numpy as np

from workload import normal, workload


@workload("training", goal=1.3, compile_goal=5)
def demo_step():
    from tercel.demo import digits

    with jax.default_device(jax.devices("cpu")[0]):
        params, state = jax.tree.map(np.asarray, digits.start(0))
    images, labels = digits.load_digits()[:2]
    return digits.train_step, (params, state, images[:digits.BATCH], labels[:digits.BATCH])


@workload("training", goal=1.3)
def mlp_step():
    sizes = (784, 512, 512, 10)
    params = [(normal(m, n, seed=n) / np.float32(np.sqrt(m)), np.zeros(n, np.float32))
              for m, n in zip(sizes, sizes[1:])]

    def loss(params, x, labels):
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        scores = jax.nn.log_softmax(x @ params[-1][0] + params[-1][1])
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    def step(params, x, labels):
        value, gradient = jax.value_and_grad(loss)(params, x, labels)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    labels = np.arange(128, dtype=np.int32) % 10
    return step, (params, normal(128, 784), labels)


LAYERS, WIDTH, HEADS, VOCABULARY, TOKENS, BATCH = 6, 256, 8, 512, 128, 4


def transformer_params():
    def matrix(m, n, seed):
        return normal(m, n, seed=seed) / np.float32(np.sqrt(m))

    blocks = [{"qkv": matrix(WIDTH, 3 * WIDTH, 4 * i), "out": matrix(WIDTH, WIDTH, 4 * i + 1),
               "up": matrix(WIDTH, 4 * WIDTH, 4 * i + 2),
               "down": matrix(4 * WIDTH, WIDTH, 4 * i + 3),
               "norm1": np.ones(WIDTH, np.float32), "norm2": np.ones(WIDTH, np.float32)}
              for i in range(LAYERS)]
    return {"embed": normal(VOCABULARY, WIDTH, seed=98) * np.float32(0.02),
            "position": normal(TOKENS, WIDTH, seed=99) * np.float32(0.02), "blocks": blocks}


def norm(x, scale):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def block(params, x):
    y = norm(x, params["norm1"]) @ params["qkv"]
    q, k, v = jnp.split(y.reshape(*x.shape[:2], HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(np.sqrt(q.shape[-1]))
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ params["out"]
    return x + jax.nn.gelu(norm(x, params["norm2"]) @ params["up"]) @ params["down"]


def transformer_loss(params, tokens):
    x = params["embed"][tokens[:, :-1]] + params["position"]
    for layer in params["blocks"]:
        x = block(layer, x)
    scores = jax.nn.log_softmax(x @ params["embed"].T)
    return -jnp.take_along_axis(scores, tokens[:, 1:, None], -1).mean()


def tokens():
    return np.random.default_rng(0).integers(0, VOCABULARY, (BATCH, TOKENS + 1), np.int32)


@workload("training", goal=1.3, compile_goal=5)
def transformer_step():
    def step(params, batch):
        value, gradient = jax.value_and_grad(transformer_loss)(params, batch)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradient), value

    return step, (transformer_params(), tokens())


@workload("training", goal=1)
def transformer_inference():
    return transformer_loss, (transformer_params(), tokens())
