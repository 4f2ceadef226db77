"""Random JAX programs: what a seed stands for, and whether two results of it agree.

A program is drawn while it is traced: from a pool of arrays each step takes operands and adds its
result. `wide` draws the same program with all of its floats in float64, to judge the others by.
"""

import random
import warnings
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from random_operations import OPERATIONS, fit, kind, tame

MOST_ELEMENTS = 20000
EXTENTS = [1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64]
FLOATS = [["float32"], ["float32", "bfloat16"], ["float32", "float16"], ["float64", "float32"]]
INTEGERS = ["int32", "int32", "uint8", "int8", "int16", "uint32", "uint16"]
TOLERANCE = {"float64": 1e-7, "float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}


class Value(NamedTuple):
    array: jax.Array
    exact: bool  # the same bits wherever it is computed


class Draw:
    """A pool of values and the decisions about what is done with them."""

    def __init__(self, source, pool, floats, integers, wide=False, depth=0, smooth=False):
        self.source, self.pool, self.depth, self.smooth = source, list(pool), depth, smooth
        self.floats, self.integers, self.wide = floats, integers, wide
        self.only_exact, self.all_exact = False, True

    def chance(self, p=0.5):
        return self.source.random() < p

    def choice(self, options):
        return self.source.choice(options)

    def integer(self, low, high):
        return self.source.randint(low, high)

    def shuffled(self, options):
        options = list(options)
        self.source.shuffle(options)
        return options

    def some(self, options):
        return tuple(o for o in options if self.chance())

    def extent(self):
        return self.integer(0, 9) if self.chance(0.9) else self.choice(EXTENTS)

    def shape(self):
        return tuple(self.extent() for _ in range(self.integer(0, 3)))

    def float_type(self):
        return jnp.dtype("float64") if self.wide else jnp.dtype(self.choice(self.floats))

    def plain_type(self):
        return jnp.dtype("float64" if self.wide else self.floats[0])

    def integer_type(self):
        return jnp.dtype(self.choice(self.integers))

    def take(self, suits):
        """One of the pool's values that suit, late ones rather."""
        found = [v for v in self.pool if suits(v) and (v.exact or not self.only_exact)]
        if not found:
            return None
        value = found[-1] if self.chance(0.4) else self.choice(found)
        self.all_exact &= value.exact
        return value.array

    def pick(self, kinds, rank=0, filled=False):
        wanted = self.choice(kinds)
        array = self.take(lambda v: kind(v.array) == wanted and v.array.ndim >= rank
                          and (v.array.size > 0 or not filled))
        if array is not None:
            return array
        array = self.take(lambda v: kind(v.array) == wanted)
        if array is None:
            array = self.made(wanted)
        if filled and array.size == 0:
            array = jnp.ones((3,), array.dtype)
        return array.reshape((1,) * (rank - array.ndim) + array.shape)

    def made(self, wanted):
        """An array of a kind that the pool lacks."""
        if wanted == "c":
            return self.complex()
        if wanted == "k":
            return self.pick("i") % 3 == 1
        return jnp.ones((3,), self.integer_type() if wanted == "i" else self.float_type())

    def complex(self):
        """Of finite parts: what an infinite one gives differs among programs of XLA's."""
        x = self.pick("f").astype(self.plain_type())
        x = jnp.where(jnp.isfinite(x), x, 1)
        return lax.complex(x, jnp.flip(x))

    def like(self, x):
        other = self.pick(kind(x))
        return other if kind(x) == "k" else other.astype(x.dtype)

    def scalar(self):
        x = self.pick("i")
        return fit(x, ()).astype(jnp.int32) % 16

    def add(self, array, exact):
        if array.dtype.name in ("int64", "uint64") and array.dtype.name not in self.integers:
            array = array.astype(array.dtype.name.replace("64", "32"))  # `wide` alone has them
        while array.size > MOST_ELEMENTS:
            axis = int(np.argmax(array.shape))
            array = lax.slice_in_dim(array, 0, array.shape[axis] // 3, axis=axis)
        self.pool.append(Value(array, exact))

    def step(self):
        if self.depth < 3 and self.chance(0.2):
            for value in self.choice(STRUCTURES)(self):
                self.add(*value)
            return
        function, exact, self.only_exact = self.choice(OPERATIONS)
        self.all_exact = True
        try:
            result = function(self)
        finally:
            self.only_exact = False
        self.add(result, self.all_exact and (exact or kind(result) in "ik"))

    def inner(self, most=3, smooth=False, captures=True):
        """What makes the pool of a function inside, after up to `most` steps, from its arguments
        and some of what is here. It is the same each time the function is traced."""
        seed = self.source.getrandbits(32)
        captured = [v for v in self.pool[-6:] if captures and self.chance(0.4)]

        def run(arguments):
            d = Draw(random.Random(seed), captured + arguments, self.floats, self.integers,
                     self.wide, self.depth + 1, self.smooth or smooth)
            for _ in range(d.integer(1, most)):
                d.step()
            return d

        return run


def exact_if_integers(values):
    return [Value(v, kind(v) in "ik") for v in values]


def next_state(d, old):
    """For each value of a loop's state the next: an exact one for what is exact."""
    state = []
    for value in old:
        d.only_exact = value.exact
        found = d.take(lambda v: kind(v.array) == kind(value.array))
        d.only_exact = False
        found = value.array if found is None else fit(found, value.array.shape)
        if kind(found) in "fc":
            found = tame(d, found)
        state.append(found.astype(value.array.dtype))
    return state


def initial_state(d):
    """Values that go around; floats that change are no longer exact."""
    values = [d.pick("i")] + [d.pick("fick") for _ in range(d.integer(1, 3))]
    return exact_if_integers(tame(d, v) if kind(v) in "fc" else v for v in values)


def arrays(values):
    return tuple(v.array for v in values)


def renewed(values, new):
    return [Value(a, v.exact) for v, a in zip(values, new)]


def body(d, state, most=3):
    inner = d.inner(most)
    return lambda *now: tuple(next_state(inner(renewed(state, now)), state))


def counted_loops(d):
    state = initial_state(d)
    turn = body(d, state)
    bound = d.integer(0, 5) if d.smooth or d.chance() else d.scalar() % 6
    return renewed(state, lax.fori_loop(0, bound, lambda i, s: turn(*s), arrays(state)))


def while_loops(d):
    if d.smooth:
        return counted_loops(d)
    state = [Value(d.scalar(), True)] + initial_state(d)
    turn = body(d, state)
    limit = d.integer(0, 30)

    def run(now):
        count, *rest = turn(*now)
        return now[0] + 1 + count % 5, *rest

    return renewed(state, lax.while_loop(lambda s: s[0] < limit, run, arrays(state)))


def scans(d):
    state, turns = initial_state(d), d.integer(0, 6)
    rows = exact_if_integers(fit(x, (turns, *x.shape[1:]))
                             for x in (d.pick("fi", rank=1) for _ in range(2)))
    inner, marks = d.inner(), []

    def turn(now, row):
        inside = inner(renewed(state, now) + renewed(rows, row))
        given = [v for v in inside.pool if v.array.size < 200][-2:]
        marks[:] = [v.exact for v in given]
        return tuple(next_state(inside, state)), arrays(given)

    end, outputs = lax.scan(turn, arrays(state), arrays(rows), length=turns, reverse=d.chance(),
                            unroll=d.choice([1, 1, 2]))
    return renewed(state, end) + [Value(*v) for v in zip(outputs, marks)]


def branches(d):
    state = initial_state(d)
    turns = [body(d, state, 2) for _ in range(d.integer(2, 4))]
    if len(turns) == 2:
        return renewed(state, lax.cond(d.scalar() % 2 == 0, *turns, *arrays(state)))
    return renewed(state, lax.switch(d.scalar() % 5, turns, *arrays(state)))


def rows_of_arrays(d):
    """vmap or lax.map of a program."""
    count = d.integer(1, 5)
    rows = exact_if_integers(fit(x, (count, *x.shape[1:]))
                             for x in (d.pick("fick", rank=1) for _ in range(3)))
    inner, marks = d.inner(), []

    def row(*now):
        given = inner(renewed(rows, now)).pool[-2:]
        marks[:] = [v.exact for v in given]
        return arrays(given)

    if d.chance(0.75):
        outputs = jax.vmap(row)(*arrays(rows))
    else:
        outputs = lax.map(lambda r: row(*r), arrays(rows), batch_size=d.choice([None, None, 2]))
    return [Value(*v) for v in zip(outputs, marks)]


def derivatives(d):
    inputs = [Value(tame(d, d.pick("f")), False) for _ in range(d.integer(1, 3))]
    inner, x = d.inner(4, smooth=True), arrays(inputs)

    def loss(*now):
        inside = inner(renewed(inputs, now))
        results = [v.array for v in inside.pool if kind(v.array) == "f"][-2:]
        return sum(jnp.sum(tame(inside, r).astype(inputs[0].array.dtype)) for r in results)

    everything = tuple(range(len(inputs)))
    results = d.choice([
        lambda: jax.grad(loss, everything)(*x), lambda: jax.vjp(loss, *x)[1](loss(*x)),
        lambda: jax.grad(jax.checkpoint(loss), everything)(*x), lambda: jax.jvp(loss, x, x),
        lambda: [jax.linearize(loss, *x)[1](*x)]])()
    return [Value(tame(d, r), False) for r in results]


def functions(d):
    """A function called twice: by name, or with a derivative of its own."""
    x = Value(tame(d, d.pick("f")), False)
    inner = d.inner(2, captures=False)

    def f(now):
        return next_state(inner([Value(now, False)]), [x])[0]

    if d.chance():
        called = jax.jit(f)
    else:
        called = jax.custom_vjp(f)
        called.defvjp(lambda v: (called(v), v), lambda v, g: (g * jnp.cos(v),))
    return [Value(called(x.array), False) for _ in range(2)]


STRUCTURES = [counted_loops, while_loops, scans, branches, rows_of_arrays, rows_of_arrays,
              derivatives, functions]


class Program:
    """What a seed stands for: its inputs, and the function of them."""

    def __init__(self, seed):
        source, numbers = random.Random(seed), np.random.default_rng(seed)
        self.seed, self.floats = seed, source.choice(FLOATS)
        self.x64 = self.floats[0] == "float64"
        self.integers = INTEGERS + (["int64", "uint64"] * 2 if self.x64 else [])
        self.steps, self.strange = source.randint(2, 10), source.random() < 0.15
        self.most = source.choice([9, 12, 12, 70, 300])
        kinds = ["f", "f", "i", "k"] + source.choices("ffik", k=source.randint(0, 3))
        self.inputs = [self.input(letter, source, numbers) for letter in kinds]
        self.donated = [k for k in range(len(kinds)) if source.random() < 0.2]

    def input(self, letter, source, numbers):
        shape = [source.randint(source.random() > 0.05, self.most)
                 for _ in range(source.choice([0, 1, 1, 2, 2, 2, 3]))]
        while np.prod(shape) > MOST_ELEMENTS:
            shape.pop()
        if letter == "k":
            return np.asarray(numbers.random(shape) < 0.5)
        if letter == "i":
            to = np.dtype(source.choice(self.integers))
            return np.asarray(numbers.integers(max(-50, np.iinfo(to).min), 100, shape), to)
        array = np.asarray(numbers.normal(size=shape), source.choice(self.floats))
        if self.strange and array.size:
            array.flat[numbers.integers(0, array.size, 3)] = [np.inf, np.nan, -0.0]
        return array

    def function(self, wide=False):
        def program(*inputs):
            d = Draw(random.Random(self.seed + 1), [Value(x, True) for x in inputs], self.floats,
                     self.integers, wide)
            for _ in range(self.steps):
                d.step()
            self.marks = [v.exact for v in d.pool[-5:]]
            return arrays(d.pool[-5:])
        return program

    def run(self, device):
        with jax.enable_x64(self.x64), jax.default_device(device), \
                warnings.catch_warnings(action="ignore"):  # of what could not be donated
            results = jax.jit(self.function(), donate_argnums=self.donated)(*self.inputs)
            return [np.asarray(x) for x in results]

    def judge(self, device):
        """The results in float64, and with less of XLA's cleverness."""
        inputs = [x.astype(np.float64) if kind(x) == "f" else x for x in self.inputs]
        with jax.enable_x64(True), jax.default_device(device):
            lowered = jax.jit(self.function(wide=True), keep_unused=True).lower(*inputs)
            results = lowered.compile({"xla_disable_hlo_passes": "fusion"})(*inputs)
            return [np.asarray(x) for x in results]

    def disagreements(self, tercel, cpu):
        """Results that differ by more than rounding, in words, where XLA:CPU's is nearer to what
        both stand for."""
        got, wanted = self.run(tercel), self.run(cpu)
        rounding = max(TOLERANCE[t] for t in self.floats)
        tolerance = [0 if exact else rounding for exact in self.marks]
        off = [k for k, most in enumerate(tolerance) if not close(got[k], wanted[k], most)]
        right, found = self.judge(cpu) if off else [], []
        for k in off:
            ours, theirs = distance(got[k], right[k]), distance(wanted[k], right[k])
            allowed = 10 * theirs + tolerance[k] if tolerance[k] else 0
            if ours > allowed or got[k].dtype != wanted[k].dtype:
                found.append(f"result {k} is off by {ours:.3g}, XLA:CPU's by {theirs:.3g}")
        return found


def distance(left, right):
    """The largest difference beside the largest number."""
    if left.size == 0:
        return 0.0
    if left.shape != right.shape:
        return float("inf")
    to = complex if kind(left) == "c" else float
    left, right = left.astype(to), right.astype(to)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    with np.errstate(all="ignore"):
        gap = np.where(same, 0, abs(left - right))
    most = np.max(abs(right), where=np.isfinite(right), initial=0)
    return float(gap.max() / (most + 0.1)) if np.isfinite(gap).all() else float("inf")


def close(left, right, tolerance):
    return left.dtype == right.dtype and distance(left, right) <= tolerance
