"""tercel.aot.Program in this process: what the body of a class means, and instances."""

import collections
import copy
import dataclasses
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tercel
from tercel import aot
from tercel.aot import Program

Params = collections.namedtuple("Params", "w, b")


def matrix(value=1.0):
    return jnp.full((3, 4), value, jnp.float32)


def names(program):
    return [known.name for known in Program.get_info(program).globals]


def procedure(program, name, signature=""):
    return next(known for known in Program.get_info(program).procedures
                if known.name == name and known.signature == signature)


class Linear(Program):
    _params = Params(matrix(4), matrix())
    _w = _params.w

    def get_params(self):
        return self._params

    def set_params(self, new=Program.like(_params)):
        self._params = new

    def run(self, x=Program.like(_params.w)):
        self._w = self._linear(x, self._params.w, self._params.b)
        return self._w

    @Program.kernel
    def _linear(x, w, b):
        return x * w + b


def test_state_persists_and_instances_have_their_own():
    first, second = Linear(), Linear()
    assert float(first.run(matrix(2))[0, 0]) == 9
    assert float(first.run(matrix(2))[0, 0]) == 19
    assert float(second.run(matrix(3))[0, 0]) == 13
    assert float(first.get_params().w[0, 0]) == 19
    assert isinstance(first.get_params(), Params)
    assert float(Linear().get_params().w[0, 0]) == 4


def test_the_same_array_is_one_global():
    info = Program.get_info(Linear)
    assert [(known.name, known.aliases) for known in info.globals] == [
        ("params.w", ("w",)), ("params.b", ())]
    linear = Linear()
    linear.set_params(Params(matrix(7), matrix(8)))
    assert float(linear._w[0, 0]) == 7
    linear._w = matrix(9)
    assert float(linear._params.w[0, 0]) == 9


def test_two_values_for_one_global():
    w = matrix()

    class Tied(Program):
        _tree = {"a": w, "b": w}

        def only_b(self):
            self._tree = {**self._tree, "b": self._tree["a"] + 1}

        def both(self, x=Program.like(w), y=Program.like(w)):
            self._tree = {"a": x, "b": y}

    tied = Tied()
    tied.only_b()
    assert float(tied._tree["a"][0, 0]) == 2
    with pytest.raises(ValueError, match="Tied.both: tree.b is another name of tree.a"):
        tied.both(matrix(5), matrix(6))
    with pytest.raises(ValueError, match="tree.b is another name of tree.a, .* another value"):
        tied._tree = {"a": matrix(5), "b": matrix(6)}
    assert float(tied._tree["b"][0, 0]) == 2
    tied._tree = {"a": matrix(5), "b": matrix(5)}
    assert float(tied._tree["b"][0, 0]) == 5


def test_a_class_stays_as_it_is():
    class Fixed(Program):
        _x = matrix(1)

        def read(self):
            return self._x

    for name, value in (("_x", matrix(2)), ("read", lambda self: 1), ("more", 3)):
        with pytest.raises(AttributeError, match=f"Fixed.{name}: the class of a program stays"):
            setattr(Fixed, name, value)
    assert float(Fixed().read()[0, 0]) == 1


@pytest.mark.parametrize("name, exported", [
    ("FFTProgram", "fft"), ("Mnist", "mnist"), ("TrivialKernel", "trivial_kernel"),
    ("HTTPServerProgram", "http_server"), ("GPT2", "gpt2"), ("Program", "program"),
    ("snake_case", "snake_case")])
def test_names(name, exported):
    assert Program.get_info(type(name, (Program,), {})).name == exported


def test_export_name():
    class Other(Program, export_name="my_name"):
        pass

    assert Program.get_info(Other).name == "my_name"
    with pytest.raises(ValueError, match="no name of C's"):
        type("Bad", (Program,), {}, export_name="my-name")


def test_globals_from_attributes():
    class Globals(Program):
        _tree = {"dense": [np.zeros(3, np.float32), {"kernel": jnp.ones((2, 2))}], "scale": 2.0}
        public = np.arange(3)
        plain = 3
        words = "text"
        _cache = Program.export_global({"k": jax.ShapeDtypeStruct((5,), jnp.bfloat16)},
                                       initialize=False)
        _table = Program.export_global(np.arange(4.0), mutable=False)

        def read(self):
            return self._tree, self.public, self._cache, self._table * self.plain

    info = Program.get_info(Globals)
    assert names(Globals) == ["tree.dense.0", "tree.dense.1.kernel", "tree.scale", "public",
                              "cache.k", "table"]
    flags = {known.name: (known.initialized, known.mutable) for known in info.globals}
    assert flags["cache.k"] == (False, True) and flags["table"] == (True, False)
    assert flags["tree.scale"] == (True, True)
    tree, public, cache, table = Globals().read()
    assert tree["scale"].shape == () and tree["scale"].dtype == jnp.float32
    np.testing.assert_array_equal(public, np.arange(3))
    np.testing.assert_array_equal(cache["k"], np.zeros(5))
    np.testing.assert_array_equal(table, 3 * np.arange(4))


def test_uninitialised_globals_are_no_aliases():
    w = matrix()

    class Momentum(Program):
        _w = w
        _velocity = Program.export_global(w, initialize=False)

        def step(self):
            self._velocity = self._velocity + 1
            return self._w

    assert names(Momentum) == ["w", "velocity"]
    momentum = Momentum()
    assert float(momentum.step()[0, 0]) == 1
    assert float(momentum._velocity[0, 0]) == 1


class Parts(Program):
    _params = {"w": jnp.zeros(3), "layers": [{"k": jnp.zeros(2)}, {"k": jnp.zeros(2)}]}
    _pair = Params(jnp.zeros(3), jnp.zeros(2))

    def leaf(self, x=Program.like(np.zeros(3, np.float32))):
        self._params["w"] = x

    def nested(self):
        layer = self._params["layers"][1]
        layer["k"] = layer["k"] + 1
        before = self._params["layers"][0]["k"]
        self._params["layers"][0] = {"k": self._params["layers"][1]["k"] * 10}
        return before

    def by_store_global(self, x=Program.like(np.zeros(3, np.float32))):
        Program.store_global(self._pair.w, x)
        Program.store_global(self._params["layers"][0], {"k": self._pair.b + 5})

    def whole(self):
        Program.store_global(self._pair, Params(self._pair.w + 1, self._pair.b + 2))


def test_storing_into_parts_of_trees():
    parts = Parts()
    parts.leaf(np.full(3, 2, np.float32))
    np.testing.assert_array_equal(parts._params["w"], [2, 2, 2])
    np.testing.assert_array_equal(parts.nested(), [0, 0])
    np.testing.assert_array_equal(parts._params["layers"][0]["k"], [10, 10])
    np.testing.assert_array_equal(parts._params["layers"][1]["k"], [1, 1])
    parts.by_store_global(np.ones(3, np.float32))
    parts.whole()
    np.testing.assert_array_equal(parts._pair.w, [2, 2, 2])
    np.testing.assert_array_equal(parts._pair.b, [2, 2])
    np.testing.assert_array_equal(parts._params["layers"][0]["k"], [5, 5])
    assert procedure(Parts, "leaf").stores == ("params.w",)
    assert procedure(Parts, "by_store_global").stores == ("params.layers.0.k", "pair.w")


def test_storing_into_an_instance_from_outside():
    parts = Parts()
    parts._params["w"] = jnp.full(3, 6.0)
    parts.nested()
    np.testing.assert_array_equal(parts._params["w"], [6, 6, 6])
    parts._params = {"w": jnp.ones(3), "layers": [{"k": jnp.ones(2)}] * 2}
    np.testing.assert_array_equal(parts.nested(), [1, 1])
    np.testing.assert_array_equal(Parts()._params["w"], [0, 0, 0])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_of_an_instance_are_independent(copied):
    linear = Linear()
    linear.run(matrix(2))
    other = copied(linear)
    assert float(other.run(matrix(2))[0, 0]) == 19 and float(linear._w[0, 0]) == 9
    assert float(linear.run(matrix(3))[0, 0]) == 28 and float(other._w[0, 0]) == 19
    linear._params = Params(matrix(5), matrix(6))
    assert float(other._params.b[0, 0]) == 1


def test_what_was_read_or_given_outlives_donation():
    start = matrix(1)

    class Counter(Program):
        _w = start

        def add(self, x=Program.like(start)):
            self._w = self._w + x
            return self._w

        def put(self, x=Program.like(start)):
            self._w = x

        def get(self):
            return self._w

    counter = Counter()
    given, mutable = matrix(10), np.full((3, 4), 20, np.float32)
    read = counter._w
    returned = counter.add(given)
    got = counter.get()
    counter.put(given)
    counter.add(given)
    counter.put(mutable)
    mutable[:] = 0
    assert float(counter._w[0, 0]) == 20
    counter.add(given)
    values = [float(array[0, 0]) for array in (start, read, returned, got, given, counter._w)]
    assert values == [1, 1, 11, 11, 10, 30]


def test_state_is_donated():
    class Counter(Program):
        _w = jnp.zeros(1000)

        def add(self):
            self._w = self._w + 1

    counter = Counter()
    counter.add()
    before = counter._tercel_values.values[0]
    counter.add()
    assert before.is_deleted()
    np.testing.assert_array_equal(counter._w, np.full(1000, 2))


def test_any_jax_code():
    class Everything(Program):
        _key = jax.random.key(7)
        _params = {"w": jnp.ones((4, 2))}

        def step(self, x=Program.like(np.zeros((3, 4), np.float32))):
            self._key, key = jax.random.split(self._key)
            noise = jax.random.normal(key, (3, 2))

            def loss(params):
                return jnp.sum(jax.vmap(lambda row: row @ params["w"])(x) * noise)

            gradient = jax.grad(loss)(self._params)

            def body(carry, _):
                return jax.tree.map(lambda p, g: p - 0.1 * g, carry, gradient), None

            self._params, _ = jax.lax.scan(body, self._params, None, length=3)
            return jax.lax.cond(noise[0, 0] > 0, lambda: loss(self._params), lambda: 0.0)

        def twice(self, x=Program.like(np.zeros((3, 4), np.float32))):
            return self.step(x), self.step(x=x)

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    one, two = Everything(), Everything()
    np.testing.assert_array_equal(np.stack(one.twice(x)), np.stack([two.step(x), two.step(x)]))
    key = jax.random.split(jax.random.split(jax.random.key(7))[0])[0]
    assert (jax.random.key_data(one._key) == jax.random.key_data(key)).all()
    assert Program.get_info(Everything).globals[0].dtype == key.dtype


def test_signatures():
    class Predict(Program):
        _w = jnp.ones((4, 2))

        def predict(self, x=Program.like(np.zeros((1, 4), np.float32), "batch, ...",
                                         batch=(8, 1)),
                    mask=Program.like(np.zeros(1, bool), "batch"), *, scale=2.0):
            return jnp.where(mask[:, None], x @ self._w, 0) * scale

        def pair(self, x=Program.like(np.zeros((1, 1), np.float32), "2*n, m + 1",
                                      n=(1, 2), m=(3,))):
            return x.sum()

    predict = Predict()
    ones = np.ones((8, 4), np.float32)
    assert predict.predict(ones, np.ones(8, bool)).shape == (8, 2)
    assert float(predict.predict(ones[:1], mask=np.ones(1, bool))[0, 0]) == 8
    assert [(known.name, known.signature) for known in Program.get_info(Predict).procedures] == [
        ("predict", "batch1"), ("predict", "batch8"), ("pair", "n1_m3"), ("pair", "n2_m3")]
    assert float(predict.pair(np.ones((4, 4), np.float32))) == 16
    with pytest.raises(ValueError, match=r"Predict.predict: no signature for x \[3, 4\], mask "
                                         r"\[3\]: there are batch1, batch8"):
        predict.predict(ones[:3], np.ones(3, bool))
    assert procedure(Predict, "predict", "batch8").arguments[0].shape == (8, 4)


def test_arguments():
    class Arguments(Program):
        def run(self, tree=Program.like({"a": np.zeros(2, np.float32), "b": (0, None)}), *,
                scale=np.float32(1)):
            return {"out": tree["a"] * scale + tree["b"][0], "none": None}

    result = Arguments().run({"a": jnp.ones(2), "b": (3, None)}, scale=2)
    np.testing.assert_array_equal(result["out"], [5, 5])
    assert result["none"] is None
    info = procedure(Arguments, "run")
    assert [str(value) for value in info.arguments] == [
        "tree.a: float32[2]", "tree.b.0: int32[]", "scale: float32[]"]
    assert [str(value) for value in info.results] == ["out: float32[2]"]


def test_a_class_may_start_with_what_it_is_given():
    class Started(Program):
        _value = jnp.zeros(2)

        def __init__(self, start):
            self._value = jnp.full(2, start, jnp.float32)

        def read(self):
            return self._value

    np.testing.assert_array_equal(Started(3).read(), [3, 3])
    with pytest.raises(TypeError, match="takes 1 positional argument but 2"):
        Linear(3)


def test_a_constant_that_is_nan():
    class Fill(Program):
        def run(self, x=Program.like(np.zeros(2, np.float32)), fill=float("nan")):
            return jnp.where(x > 1, x, fill)

    x = np.float32([1, 2])
    for result in (Fill().run(x), Fill().run(x, fill=np.nan), Fill().run(x, float("nan"))):
        np.testing.assert_array_equal(result, [np.nan, 2])
    with pytest.raises(ValueError, match="Fill.run: fill is the constant nan of the program"):
        Fill().run(x, fill=0.0)


HALF = np.full(3, 0.3, np.float16)
WEAK = jax.ShapeDtypeStruct((3,), jnp.float32, weak_type=True)


@pytest.mark.parametrize("function, examples, given", [
    (lambda x, h: x * h, (2.0, HALF), (3, HALF)),
    (lambda x, h: x * h, (np.float32(2), HALF), (3, HALF)),
    (lambda x, h: (x + h, x), (WEAK, HALF), (np.arange(3, dtype=np.float32), HALF)),
    (lambda n, x: n * x, (3, np.uint8([1, 2])), (4, np.uint8([1, 2]))),
    (lambda n, x: n * x, (jnp.asarray(3), HALF), (4, HALF)),
    (lambda z, x: z * x, (1j, HALF), (1j, HALF)),
    (lambda n, x: jax.lax.fori_loop(0, 3, lambda i, c: c * x, n), (3, np.int32(2)), (3, 2)),
    (lambda n, x: jnp.where(x > 0, n, x), (3.0, jnp.bfloat16(2)), (3.0, jnp.bfloat16(2))),
])
def test_weak_types_of_arguments(function, examples, given):
    wanted = jax.eval_shape(function, *examples)
    program = type("Weak", (Program,), {
        "run": lambda self, x=Program.like(examples[0]), y=Program.like(examples[1]):
            function(x, y)})
    loaded = tercel.load(Program.get_compiled_artifact(program).to_bytes())
    for results in (program().run(*given), loaded.run(*given)):
        assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), results) == (
            jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), wanted))


def test_weak_types_of_several_signatures():
    class Scale(Program):
        def run(self, x=Program.like(WEAK, "n", n=(1, 3)), h=Program.like(HALF, "n")):
            return x * h

    assert Scale().run(np.ones(1, np.float32), HALF[:1]).dtype == np.float16
    assert Scale().run(np.ones(3, np.float32), HALF).dtype == np.float16


def test_globals_inside_of_transformed_functions():
    """What is read, or was put into a tree before, there first."""
    class Inside(Program):
        _state = {"rate": 0.5, "w": np.ones(2, np.float32)}
        _scale = jnp.asarray(2.0)

        def run(self, x=Program.like(np.ones(2, np.float32))):
            y = jax.jit(lambda v: v * self._scale)(x)
            y, _ = jax.lax.scan(lambda c, _: (c * self._state["rate"], None), y, None, length=2)
            self._state["w"] = self._state["w"] + x
            self._state["rate"] = self._state["rate"] / 2
            loss = jax.grad(lambda v: jnp.sum(v * self._state["rate"] * self._state["w"]))(x)
            return y + self._scale, loss + self._state["rate"]

    loaded = tercel.load(Program.get_compiled_artifact(Inside).to_bytes())
    for program in Inside(), loaded:
        for rate, w, factor in ((0.25, 2, 0.5), (0.125, 3, 0.125)):
            given, loss = program.run(np.ones(2, np.float32))
            np.testing.assert_allclose(given, np.full(2, factor + 2))
            np.testing.assert_allclose(loss, np.full(2, rate * w + rate))


def test_functions_that_read_globals_are_traced_again():
    """JAX keeps what it traced of a function, as with another value of the global."""
    class Again(Program):
        _w = np.ones((), np.float32)
        _tree = {"w": np.ones((), np.float32)}

        def by_attribute(self, x=Program.like(np.float32(1))):
            gradient = jax.jit(jax.grad(lambda v: self._w ** 2 * v))
            for _ in range(2):
                self._w = self._w + gradient(x)  # 1, 2, 6
            return self._w

        def by_part(self, x=Program.like(np.float32(1))):
            def step(carry, _):
                return carry + self._tree["w"], None

            results = []
            for _ in range(2):
                results.append(jax.lax.scan(step, x, None, length=2)[0])
                self._tree["w"] = self._tree["w"] * 10
            return results

    for program in Again(), tercel.load(Program.get_compiled_artifact(Again).to_bytes()):
        assert program.by_attribute(np.float32(1)) == 6
        assert list(map(float, program.by_part(np.float32(1)))) == [3, 21]


def test_weak_types_of_globals():
    class Rate(Program):
        _rate = jnp.asarray(0.1)
        _steps = {"count": 0, "size": jnp.zeros(2)}

        def scaled(self, h=Program.like(HALF)):
            return self._rate * h, Rate._kernel(self._rate, h)

        def step(self, h=Program.like(HALF)):
            self._rate = jnp.float32(2) * self._rate
            self._steps["count"] = self._steps["count"] + 1
            return self._rate * h + self._steps["count"]

        def narrow(self, h=Program.like(HALF)):
            self._rate = self._rate * h[0]

        @Program.kernel
        def _kernel(rate, h):
            return rate * h

    rate, loaded = Rate(), tercel.load(Program.get_compiled_artifact(
        type("Saved", (Rate,), {"narrow": lambda self: 0})).to_bytes())
    for instance in (rate, loaded):
        assert {leaf.dtype for leaf in instance.scaled(HALF)} == {np.dtype(np.float16)}
        for _ in range(3):
            assert instance.step(HALF).dtype == np.float16
    assert rate._rate.dtype == np.float32 and int(rate._steps["count"]) == 3
    np.testing.assert_allclose(rate._rate, 0.8)
    assert (rate._rate * HALF).dtype == np.float16
    with pytest.raises(ValueError, match=r"narrow: rate: float16\[\] in place of float32\[\]"):
        rate.narrow(HALF)
    rate._rate = 0.5
    rate._steps = {"count": np.int32(7), "size": np.ones(2, np.float32)}
    assert rate.step(HALF).dtype == np.float16 and int(rate._steps["count"]) == 8
    (trace,) = [trace for (name, _), trace in Rate._tercel.traces.items() if name == "step"]
    assert trace.jitted._cache_size() == 1


def test_roots_that_differ_by_underscores():
    class Both(Program):
        _w = {"a": jnp.float32(1)}
        w = {"a": jnp.float32(2), "b": jnp.float32(3)}

        def run(self):
            return self._w, self.w

    assert names(Both) == ["w.a", "w_.a", "w_.b"]
    loaded = tercel.load(Program.get_compiled_artifact(Both).to_bytes())
    assert loaded.globals["w"] == {"a": 1} and loaded.globals["w_"] == {"a": 2, "b": 3}
    loaded.globals["w_"] = {"a": 4.0, "b": 5.0}
    loaded.globals["w_.b"] = 6.0
    assert loaded.run() == ({"a": 1}, {"a": 4, "b": 6})


def test_other_bases():
    class Counting:
        _count = np.int32(0)
        unit = 3

        def count(self, x=Program.like(np.float32(0))):
            self._count = self._count + 1
            return self._helped(x)

        def _helped(self, x):
            return self.tripled(x)

        def tripled(self, x):  # of what? no procedure
            return self.unit * x

    class Base(Program):
        _scale = jnp.float32(5)

        def run(self):
            return self._scale + self._count

        def count(self):
            return None

    class Net(Counting, Base):
        pass

    net = Net()
    assert float(net.count(2)) == 6 and float(net.count(2)) == 6 and float(net.run()) == 7
    assert {known.name for known in Program.get_info(Net).procedures} == {"run", "count"}
    assert names(Net) == ["scale", "count"] and isinstance(Counting._count, np.int32)


def test_inheritance():
    class More(Linear):
        _extra = jnp.zeros(2)

        def get_params(self):
            self._extra = self._extra + 1
            return self._extra

    more = More()
    assert float(more.run(matrix(2))[0, 0]) == 9
    np.testing.assert_array_equal(more.get_params(), [1, 1])
    assert names(More) == ["params.w", "params.b", "extra"] and names(Linear) == names(More)[:2]
    assert Program.get_info(More).name == "more"


def test_a_subclass_overrides():
    class Base(Program):
        _w = jnp.zeros(2)
        _rest = jnp.ones(2)

        def get(self):
            return self._w + self._rest

    class Wide(Base):
        _w = jnp.ones((3, 2))
        _same = Base._rest

    class Plain(Base):
        _w = 5.0

        def twice(self):
            return 2 * self.get()

    assert Wide().get().shape == (3, 2) and Base().get().shape == (2,)
    assert [str(known) for known in Program.get_info(Wide).globals] == [
        "w: float32[3,2]", "rest: float32[2]  (also same)"]
    assert Plain().twice().tolist() == [12, 12] and names(Plain) == ["rest"]


def test_many_leaves():
    many = [np.zeros((), np.float32) for _ in range(1000)]

    class Many(Program):
        _many = many
        _again = list(many)

        def last(self):
            self._many[-1] = self._many[-1] + 1
            return self._again[-1]

    assert float(Many().last()) == 1 and len(names(Many)) == 1000


def test_x64(x64):
    class Wide(Program):
        _sum = np.zeros(2)
        _count = np.array(0)

        def add(self, x=Program.like(np.zeros(2))):
            self._sum = self._sum + x
            self._count = self._count + 1
            return self._sum

    assert [str(known) for known in Program.get_info(Wide).globals] == [
        "sum: float64[2]", "count: int64[]"]
    assert Wide().add(np.full(2, 1e-300))[0] == 1e-300


def test_float64_without_x64():
    class Narrow(Program):
        _sum = np.zeros(2)

        def add(self, x=Program.like(np.zeros(2))):
            self._sum = self._sum + x
            return self._sum

    assert Narrow().add(np.ones(2)).dtype == jnp.float32


def test_stablehlo():
    modules = Program.get_mlir_module(Linear())
    assert list(modules) == ["get_params", "set_params", "run"]
    assert "stablehlo.multiply" in modules["run"]
    assert "// stores params.w, params.b" in str(modules)
    assert "run(x: float32[3,4]) -> (result: float32[3,4])" in str(Program.get_info(Linear))


def test_kernels_of_options_and_plain_functions():
    class Kernels(Program):
        def run(self, x=Program.like(np.zeros(2, np.float32))):
            return self._power(x, 3) + Kernels._jitted(x) + self._private(x)

        @Program.kernel(static_argnums=1)
        def _power(x, n):
            return x ** n

        _jitted = staticmethod(jax.jit(lambda x: 2 * x))

        def _private(self, x):
            return x

    np.testing.assert_array_equal(Kernels().run(jnp.full(2, 2.0)), [14, 14])
    assert [known.name for known in Program.get_info(Kernels).procedures] == ["run"]


def test_compile_names_the_procedure_by_the_function(monkeypatch):
    made = {}
    monkeypatch.setattr(aot.program, "Artifact",
                        lambda declaration, traces, **options: made.update(
                            declaration=declaration, traces=traces))

    def double_it(x, y):
        return 2 * x + y["a"]

    aot.compile(double_it, np.ones(3, np.float32), {"a": 1.0})
    assert made["declaration"].name == "double_it"
    assert made["traces"][0].procedure.names == ["x", "y.a"]
    assert made["declaration"].cls().double_it(jnp.ones(3), {"a": 5}).tolist() == [7, 7, 7]

    aot.compile(jnp.add, np.ones(3, np.float32), 2.0)  # of (*args, out=None, where=None)
    assert made["traces"][0].procedure.names == ["argument0", "argument1"]


def test_procedures_may_be_called_as_what_program_has():
    class Names(Program):
        def like(self, x=Program.like(np.float32(0))):
            return 2 * x

        def get_info(self, x=Program.like(np.float32(0))):
            return self.like(x) + 1

    assert float(Names().get_info(3.0)) == 7
    assert [known.name for known in Program.get_info(Names()).procedures] == ["like", "get_info"]


def test_threads_wait_for_each_other():
    class Counter(Program):
        _count = jnp.int32(0)

        def add(self):
            self._count = self._count + 1

    counter = Counter()

    def add():
        for _ in range(100):
            counter.add()

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(counter._count) == 400


def test_trees_of_users_classes():
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        w: jax.Array
        b: jax.Array

    class Dense(Program):
        _layers = [Layer(jnp.ones((2, 2)), jnp.zeros(2))]

        def run(self, x=Program.like(np.zeros(2, np.float32))):
            layer = self._layers[0]
            layer.b = layer.b + 1
            return layer, x @ layer.w + layer.b

    dense = Dense()
    layer, result = dense.run(jnp.ones(2))
    assert isinstance(layer, Layer) and result.tolist() == [3, 3]
    assert dense._layers[0].b.tolist() == [1, 1]
    assert names(Dense) == ["layers.0.w", "layers.0.b"]
