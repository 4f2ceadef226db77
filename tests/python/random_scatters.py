"""Random programs of scatters that read what other scatters write, as programs of whole numbers."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

UPDATES = ["set", "add", "max", "min", "multiply"]
MODES = [None, "drop", "clip"]


class Program:
    """A function of two arrays, two lists of rows and values for those, its arguments, and which of
    these may be donated."""

    def __init__(self, seed, large):
        rng = np.random.default_rng(seed)
        self.rows = int(rng.choice([300, 700] if large else [5, 17, 64]))
        self.columns = int(rng.choice([3, 8, 16, 19, 64] if large else [1, 2, 3, 4, 7, 16, 17, 33]))
        self.count = int(rng.choice([1, 3, 20, 50]))
        self.steps = [rng.integers(0, 1000, 6).tolist() for _ in range(rng.integers(1, 5))]
        self.around = int(rng.integers(0, 5))
        self.donated = (0, 1) if rng.integers(2) else ()
        dtype = str(rng.choice(["int32", "float32", "int8"]))

        def array(*shape):
            return rng.integers(-5, 6, shape).astype(dtype)

        def places():
            return rng.integers(0, self.rows, self.count).astype(np.int32)

        shape = (self.rows, self.columns)
        self.arguments = (array(*shape), array(*shape), places(), places(),
                          array(self.count, self.columns))

    def places(self, kind, b, i, j):
        match kind % 7:
            case 0: return i
            case 1: return j
            case 2: return (i + j) % self.rows
            case 3: return i - self.rows // 2
            case 4: return i * 2 - 1
            case 5: return i + b[0, 0].astype(jnp.int32)
            case _: return jnp.arange(self.count, dtype=jnp.int32)

    def values(self, kind, a, b, i, j, v):
        match kind % 10:
            case 0: return v
            case 1: return v * 2 + 1
            case 2: return b[j] + v
            case 3: return a[j] - v
            case 4: return jnp.where(v > 0, b[i], a[j])
            case 5: return jnp.full_like(v, 3)
            case 6: return b[j] * v[:, :1]
            case 7: return jnp.flip(v, 0) + a[i]
            case 8: return jnp.concatenate([v[: self.count // 2], b[j][self.count // 2 :]])
            case _: return jnp.broadcast_to(a[0] + b[-1], v.shape)

    def step(self, step, a, b, i, j, v):
        where, what, update, form, mode, after = step
        rows = self.places(where, b, i, j)
        columns = self.places(where + 1, b, i, j) % self.columns
        values = self.values(what, a, b, i, j, v).astype(a.dtype)
        match form % 5:
            case 0: at = a.at[rows, columns]; values = values[:, 0]
            case 1: at = a.at[:, columns]; values = jnp.resize(values, (self.rows, self.count))
            case _: at = a.at[rows]
        a = getattr(at, UPDATES[update % 5])(values, mode=MODES[mode % 3])
        match after % 6:
            case 0: return b, a
            case 1: return a, b + a[::-1]
            case 2: return a, b.at[rows].add(a[rows])
            case _: return a, b

    def once(self, a, b, i, j, v):
        for step in self.steps:
            a, b = self.step(step, a, b, i, j, v)
        return a, b

    def __call__(self, a, b, i, j, v):
        def turn(t, carry):
            return self.once(*carry, (i + t) % self.rows, j, v)

        match self.around:
            case 0: return lax.fori_loop(0, 3, turn, (a, b))
            case 1: return lax.scan(lambda c, t: (turn(t, c), c[0][0]), (a, b), jnp.arange(3))
            case 2:
                pairs = [jnp.stack([a, a + 1]), jnp.stack([j, (j + 1) % self.rows]), jnp.stack([v, v * 2])]
                return jax.vmap(self.once, (0, None, None, 0, 0))(pairs[0], b, i, *pairs[1:])
            case 3: return lax.cond(a[0, 0] > 0, lambda: self.once(a, b, i, j, v),
                                    lambda: self.once(b, a, j, i, v))
            case _: return self.once(a, b, i, j, v)

    def disagreements(self, *devices):
        def run(device):
            arguments = jax.device_put(self.arguments, device)
            return jax.tree.leaves(jax.jit(self.__call__, donate_argnums=self.donated)(*arguments))

        expected, got = (list(map(np.asarray, run(device))) for device in devices)
        return [k for k, (x, y) in enumerate(zip(expected, got))
                if not np.array_equal(x, y, equal_nan=x.dtype.kind == "f")]
