"""The network, its training step and its data: plain JAX, nothing of Tercel's."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 64
RATE, DECAY1, DECAY2, EPSILON = 2e-3, 0.9, 0.999, 1e-8


def load_digits(seed=0):
    """1,797 images of 8x8, as (train images, train labels, test images, test labels)."""
    from sklearn.datasets import load_digits as load

    data = load()
    images = (data.images / 16.0).astype(np.float32)[..., None]
    labels = data.target.astype(np.int32)
    order = np.random.default_rng(seed).permutation(len(labels))
    test, train = order[:360], order[360:]
    return images[train], labels[train], images[test], labels[test]


def init(key):
    """He-normal weights of two convolutions and two dense layers."""
    shapes = {"conv1": (3, 3, 1, 32), "conv2": (3, 3, 32, 64), "dense1": (1024, 128),
              "dense2": (128, 10)}
    params = {}
    for name, subkey in zip(shapes, jax.random.split(key, len(shapes))):
        shape = shapes[name]
        fan_in = int(np.prod(shape[:-1]))
        params[name] = {"w": jax.random.normal(subkey, shape) * np.sqrt(2 / fan_in),
                        "b": jnp.zeros(shape[-1])}
    return params


def convolve(layer, x):
    y = jax.lax.conv_general_dilated(x, layer["w"], (1, 1), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(y + layer["b"])


def logits(params, images):
    x = convolve(params["conv2"], convolve(params["conv1"], images))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = x.reshape(x.shape[0], -1)
    x = jax.nn.relu(x @ params["dense1"]["w"] + params["dense1"]["b"])
    return x @ params["dense2"]["w"] + params["dense2"]["b"]


def loss(params, images, labels):
    scores = jax.nn.log_softmax(logits(params, images))
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


def start(seed):
    """Parameters and Adam's state."""
    params = init(jax.random.key(seed))
    zeros = jax.tree.map(jnp.zeros_like, params)
    return params, (zeros, jax.tree.map(jnp.zeros_like, params), jnp.float32(0))


def train_step(params, state, images, labels):
    """One step of Adam; returns the new parameters and state, and the loss."""
    value, gradient = jax.value_and_grad(loss)(params, images, labels)
    first, second, count = state
    count = count + 1
    first = jax.tree.map(lambda m, g: DECAY1 * m + (1 - DECAY1) * g, first, gradient)
    second = jax.tree.map(lambda v, g: DECAY2 * v + (1 - DECAY2) * g * g, second, gradient)
    rate = RATE * jnp.sqrt(1 - DECAY2**count) / (1 - DECAY1**count)
    params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + EPSILON),
                          params, first, second)
    return params, (first, second, count), value


def correct(params, images, labels):
    """How many images are recognised."""
    return jnp.sum(jnp.argmax(logits(params, images), axis=1) == labels)
