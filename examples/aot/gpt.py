"""A small language model that generates text in C++: python gpt.py FOLDER

The model learns a text by heart, character by character, then goes into a library with `encode`,
which reads a prompt, and `decode`, which reads one character more. Keys and values of what was
read stay in globals without a first value. The last line is what gpt.cpp prints, too.
"""

import functools
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

from tercel.aot import Program

TEXT = ("A kestrel hangs on the wind above the moor, and the moor holds still below it. "
        "Nothing moves but the grass. Then the wings fold, and the sky is empty again.\n")
PROMPT = "A kestrel hangs on"
LAYERS, HEADS, WIDTH, LENGTH, CHARACTERS, STEPS = 2, 4, 64, 160, 128, 100
SIZES = (1, 4, 16)  # characters that encode takes at once


def start(key):
    keys = iter(jax.random.split(key, 4 * LAYERS + 3))

    def weights(*shape):
        return 0.02 * jax.random.normal(next(keys), shape)

    layers = [{"attend": weights(WIDTH, 3 * WIDTH), "mix": weights(WIDTH, WIDTH),
               "widen": weights(WIDTH, 4 * WIDTH), "narrow": weights(4 * WIDTH, WIDTH)}
              for _ in range(LAYERS)]
    return {"characters": weights(CHARACTERS, WIDTH), "places": weights(LENGTH, WIDTH),
            "layers": layers, "scores": weights(WIDTH, CHARACTERS)}


def norm(x):
    x = x - jnp.mean(x, -1, keepdims=True)
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def attention(layer, x, cache, first):
    """Of the characters from place `first` on, to all before them, whose keys are in the cache."""
    count = x.shape[0]
    query, key, value = jnp.split(norm(x) @ layer["attend"], 3, axis=-1)
    query, key, value = (part.reshape(count, HEADS, -1) for part in (query, key, value))
    keys = jax.lax.dynamic_update_slice(cache["keys"], key, (first, 0, 0))
    values = jax.lax.dynamic_update_slice(cache["values"], value, (first, 0, 0))
    scores = jnp.einsum("qhd,khd->hqk", query, keys) / np.sqrt(WIDTH // HEADS)
    seen = jnp.arange(LENGTH) <= first + jnp.arange(count)[:, None]
    mixed = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)), values)
    return mixed.reshape(count, WIDTH) @ layer["mix"], {"keys": keys, "values": values}


def forward(params, cache, characters, first):
    """Scores of the character after each, and the cache with these characters in it."""
    places = jax.lax.dynamic_slice(params["places"], (first, 0), (len(characters), WIDTH))
    x = params["characters"][characters] + places
    after = []
    for layer, kept in zip(params["layers"], cache):
        mixed, kept = attention(layer, x, kept, first)
        x = x + mixed
        x = x + jax.nn.gelu(norm(x) @ layer["widen"]) @ layer["narrow"]
        after.append(kept)
    return norm(x) @ params["scores"], after


def empty_cache():
    shape = jax.ShapeDtypeStruct((LENGTH, HEADS, WIDTH // HEADS), jnp.float32)
    return [{"keys": shape, "values": shape} for _ in range(LAYERS)]


def loss(params, text):
    cache = jax.tree.map(lambda kind: jnp.zeros(kind.shape, kind.dtype), empty_cache())
    scores, _ = forward(params, cache, text[:-1], 0)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), text[1:, None], 1))


@functools.partial(jax.jit, static_argnums=1)
def learn(text, steps):
    """The parameters after so many steps of Adam."""

    def step(state, count):
        params, mean, square = state
        gradient = jax.grad(loss)(params, text)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, gradient)
        rate = 3e-3 * jnp.sqrt(1 - 0.99 ** (count + 1)) / (1 - 0.9 ** (count + 1))
        params = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8),
                              params, mean, square)
        return (params, mean, square), None

    params = start(jax.random.PRNGKey(1))
    zeros = jax.tree.map(jnp.zeros_like, params)
    return jax.lax.scan(step, (params, zeros, zeros), jnp.arange(steps, dtype=jnp.float32))[0][0]


def characters_of(text):
    return np.frombuffer(text.encode("ascii"), np.uint8).astype(np.int32)


def program(params):
    class GPT(Program):
        _params = Program.export_global(params, mutable=False)
        _cache = Program.export_global(empty_cache(), initialize=False)
        _length = jnp.int32(0)

        def reset(self):
            self._length = jnp.int32(0)

        def encode(self, characters=Program.like(np.int32([0]), "length", length=SIZES)):
            return {"next": self._read(characters)}

        def decode(self, character=Program.like(np.int32(0))):
            return {"next": self._read(character[None])}

        def _read(self, characters):
            scores, self._cache = forward(self._params, self._cache, characters, self._length)
            self._length = self._length + len(characters)
            return jnp.argmax(scores[-1]).astype(jnp.int32)

    return GPT


def generate(gpt, prompt):
    """The prompt and what follows, up to the end of the line."""
    read = 0
    while read < len(prompt):
        size = max(size for size in SIZES if size <= len(prompt) - read)
        following = gpt.encode(characters_of(prompt[read:read + size]))["next"]
        read += size
    while int(following) != ord("\n") and len(prompt) < LENGTH:
        prompt += chr(int(following))
        following = gpt.decode(following)["next"]
    return prompt


def main(folder):
    params = learn(characters_of(TEXT), STEPS)
    GPT = program(params)
    Program.get_compiled_artifact(GPT).save_library(folder)
    print(generate(GPT(), PROMPT))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
