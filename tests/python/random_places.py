"""Random gathers at places that follow from coordinates, as programs of arrays of whole numbers."""

import jax.numpy as jnp
import numpy as np

INDEX_TYPES = ["int32", "int32", "int32", "uint8", "int16", "uint32", "int8"]
ELEMENT_TYPES = ["float32", "float32", "int32", "uint8", "bool", "complex64", "bfloat16", "int16"]


def counted(rng, xp, n):
    """n places as a user writes them, of numbers near those of an axis of n elements."""
    i = xp.arange(n, dtype=str(rng.choice(INDEX_TYPES)) if n < 120 else "int32")
    for _ in range(rng.integers(0, 4)):
        k = int(rng.integers(1, 9))
        match rng.integers(0, 12):
            case 0: i = i[::-1]
            case 1: i = i * k
            case 2: i = i // k
            case 3: i = (i + k) % max(n - 1, 1)
            case 4: i = xp.clip(i.astype("int32") - k, 0, n - 1)
            case 5: i = i.astype("int32") + (k - 4)
            case 6: i = xp.where(i < n // 2, i, i + k)
            case 7: i = xp.minimum(i, i.dtype.type(min(n // 2, 100)))
            case 8: i = i[k % max(len(i), 1):]
            case 9: i = xp.concatenate([i[k:], i[:k]])
            case 10: i = xp.repeat(i[: max(n // 3, 1)], 2)
            case 11: i = i[:: k % 3 + 1]
    return i


def gather(rng, xp):
    """A function of one array, and the array's shape and type; `xp` makes the places."""
    shape = tuple(int(n) for n in rng.integers(1, 70, rng.integers(1, 4)))
    axis = int(rng.integers(0, len(shape)))
    mode = str(rng.choice(["fill", "clip", "promise_in_bounds"]))
    i = counted(rng, xp, shape[axis])
    kind = rng.integers(0, 5)
    if kind == 1:
        i = i.astype("int32")[:, None] * int(rng.integers(-3, 4)) + xp.arange(int(rng.integers(1, 20)))
    if kind == 2 and i.size % 2 == 0:
        i = i.reshape(2, -1) if rng.integers(2) else i.reshape(-1, 2).T
    if mode == "promise_in_bounds":
        i = xp.clip(i.astype("int32"), 0, shape[axis] - 1)
    where = (slice(None),) * axis + (i,)
    if kind == 3 and axis + 1 < len(shape):  # two axes at once, paired or crossed
        j = counted(rng, xp, shape[axis + 1])
        n = min(i.shape[0], j.shape[0])
        where = (slice(None),) * axis + ((i[:n], j[:n]) if rng.integers(2) else (i[:, None], j[None, :]))
        if mode == "promise_in_bounds":
            where = where[:-1] + (xp.clip(where[-1].astype("int32"), 0, shape[axis + 1] - 1),)
    after = rng.integers(0, 5)

    def program(x):
        y = jnp.asarray(x).at[where].get(mode=mode)
        if after == 1:
            return y, y[..., ::-1]
        if after == 2:
            return jnp.where(y == y, y, 0).sum(-1, dtype=y.dtype)
        if after == 3:
            return y.T + jnp.ones((), y.dtype)
        if after == 4:
            return jnp.sin(y.astype("float32").sum(0))
        return y

    return program, shape, str(rng.choice(ELEMENT_TYPES))
