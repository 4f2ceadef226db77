"""Compiled programs: what tercel.load runs is what Tercel runs in this process, bit by bit."""

import collections
import copy
import dataclasses
import enum
import gc
import pickle
import subprocess
import sys
import threading
import weakref

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import tercel as package
from tercel import aot
from tercel.aot import Program
from tercel.demo import digits

Pair = collections.namedtuple("Pair", "first, second")


def network(key):
    keys = jax.random.split(key, 2)
    return {"dense": [jax.random.normal(keys[0], (7, 13)), jnp.zeros(13)],
            "out": Pair(jax.random.normal(keys[1], (13, 3)), jnp.zeros(3))}


class Net(Program):
    _params = network(jax.random.key(0))
    _first = _params["dense"][0]
    _count = jnp.int32(0)
    _scale = Program.export_global(np.float32(0.5), mutable=False)
    _seen = Program.export_global(jax.ShapeDtypeStruct((2,), jnp.int8), initialize=False)

    def initialize(self, key=Program.like(jax.random.PRNGKey(0))):
        self._params = network(key)

    def update(self, batch=Program.like({"x": np.zeros((5, 7), np.float32),
                                         "y": np.zeros(5, np.int32)}), *,
               rate=Program.like(0.1)):
        loss, gradient = jax.value_and_grad(self._loss)(self._params, batch)
        self._params = jax.tree.map(lambda p, g: p - rate * g, self._params, gradient)
        self._count = self._count + 1
        self._seen = self._seen + jnp.int8(2)
        return loss * self._scale, {"gradient": Pair(gradient["dense"], None)}

    def predict(self, x=Program.like(np.zeros((1, 7), np.float32), "batch, _",
                                     batch=(1, 3, 64))):
        return self._logits(self._params, x)

    @Program.kernel
    def _logits(params, x):
        hidden = jnp.tanh(x @ params["dense"][0] + params["dense"][1])
        return hidden @ params["out"].first + params["out"].second

    @Program.kernel
    def _loss(params, batch):
        scores = jax.nn.log_softmax(Net._logits(params, batch["x"]))
        return -jnp.mean(jnp.take_along_axis(scores, batch["y"][:, None], 1))


@pytest.fixture(scope="module")
def artifact():
    return Program.get_compiled_artifact(Net)


@pytest.fixture
def batch(rng):
    return {"x": rng.normal(size=(5, 7)).astype(np.float32),
            "y": rng.integers(0, 3, 5).astype(np.int32)}


def equal(left, right):
    """The same leaves, whatever nests them."""
    left, right = jax.tree.leaves(left), jax.tree.leaves(right)
    assert len(left) == len(right)
    for ours, theirs in zip(left, right):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.native
def test_the_same_bits_as_in_this_process(artifact, batch, tercel):
    loaded = package.load(artifact.to_bytes())
    with jax.default_device(tercel):
        here = Net()
        for rate in (0.1, 0.25, np.float32(0.5)):
            equal(loaded.update(batch, rate=rate), here.update(batch, rate=rate))
        for size in (1, 3, 64):
            x = np.linspace(-2, 2, 7 * size, dtype=np.float32).reshape(size, 7)
            equal(loaded.predict(x), here.predict(x))
        equal(loaded.globals["params"], here._params)
        loaded.initialize(np.array([0, 5], np.uint32))
        here.initialize(jax.random.PRNGKey(5))
        equal(loaded.predict(x), here.predict(x))


def test_trees(artifact, batch):
    loaded = package.load(artifact.to_bytes())
    loss, rest = loaded.update(batch, rate=0.1)
    assert loss.shape == () and isinstance(rest["gradient"].first, list)
    assert rest["gradient"].second is None and type(rest["gradient"]).__name__ == "Pair"
    params = loaded.globals["params"]
    assert params["out"].second.shape == (3,) and params["dense"][1].shape == (13,)
    assert set(loaded.globals) == {"params", "first", "count", "scale", "seen"}


def test_globals(artifact):
    loaded = package.load(artifact.to_bytes())
    np.testing.assert_array_equal(loaded.globals["seen"], np.zeros(2, np.int8))
    loaded.globals["first"] = np.full((7, 13), 2, np.float32)
    np.testing.assert_array_equal(loaded.globals["params.dense.0"], np.full((7, 13), 2))
    loaded.globals["params.out"] = Pair(np.zeros((13, 3), np.float32), np.ones(3, np.float32))
    x = np.ones((1, 7), np.float32)
    np.testing.assert_array_equal(loaded.predict(x), np.ones((1, 3)))
    loaded.globals["count"] = 7
    assert loaded.globals["count"] == 7


def test_instances_are_independent(artifact, batch):
    first = package.load(artifact.to_bytes())
    second, third = first.new_instance(), package.load(artifact.to_bytes())
    first.update(batch, rate=0.1)
    assert [int(one.globals["count"]) for one in (first, second, third)] == [1, 0, 0]
    equal(second.globals["params"], Net._params)
    del first
    second.update(batch, rate=0.1)
    assert second.globals["count"] == 1


def test_threads_have_instances_of_their_own(artifact, batch):
    instances = [package.load(artifact.to_bytes()) for _ in range(3)]

    def train(instance):
        for _ in range(50):
            instance.update(batch, rate=0.1)

    threads = [threading.Thread(target=train, args=(instance,)) for instance in instances[1:]]
    for thread in threads:
        thread.start()
    train(instances[0])
    for thread in threads:
        thread.join()
    for instance in instances[1:]:
        equal(instance.globals["params"], instances[0].globals["params"])
    assert instances[0].globals["count"] == 50


def test_state_goes_to_a_file_and_back(artifact, batch, tmp_path):
    loaded = package.load(artifact.to_bytes())
    loaded.update(batch, rate=0.1)
    loaded.save_state(tmp_path / "state")
    saved = loaded.globals["params"]
    loaded.update(batch, rate=0.1)
    other = loaded.new_instance()
    other.load_state(tmp_path / "state")
    equal(other.globals["params"], saved)
    assert other.globals["count"] == 1 and loaded.globals["count"] == 2
    (tmp_path / "broken").write_bytes((tmp_path / "state").read_bytes()[:-9])
    with pytest.raises(RuntimeError, match=str(tmp_path / "broken")):
        other.load_state(tmp_path / "broken")
    equal(other.globals["params"], saved)


def test_the_file_is_what_the_bytes_are(artifact, tmp_path):
    artifact.save(tmp_path / "net.tercel")
    assert (tmp_path / "net.tercel").read_bytes() == artifact.to_bytes()
    x = np.ones((3, 7), np.float32)
    equal(package.load(tmp_path / "net.tercel").predict(x),
          package.load(artifact.to_bytes()).predict(x))
    with pytest.raises(RuntimeError):
        artifact.save(tmp_path / "no" / "such" / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.tercel"]


def test_values_in_a_file_of_their_own(artifact, batch, tmp_path):
    whole, path, weights = (tmp_path / name for name in ("whole", "apart", "apart.weights"))
    artifact.save(whole)
    artifact.save(path, weights_path=weights)
    assert path.stat().st_size + weights.stat().st_size <= whole.stat().st_size
    given = package.load(path, weights=weights).globals
    for name, value in package.load(whole).globals.items():
        jax.tree.map(np.testing.assert_array_equal, value, given[name])
    for source, other, message in ((path, None, "file of their own"), (path, whole, "weights"),
                                   (whole, weights, "has its weights inside")):
        with pytest.raises(RuntimeError, match=message):
            package.load(source, weights=other)
    before = path.read_bytes(), weights.read_bytes()
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(RuntimeError, match="cannot both be written to"):
        artifact.save(path, weights_path=tmp_path / "link")
    assert (path.read_bytes(), weights.read_bytes()) == before


def test_saving_through_a_link(tmp_path):
    made = aot.compile(jnp.tanh, np.float32(1))
    (tmp_path / "link").symlink_to("target")
    for _ in range(2):
        made.save(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "target").read_bytes() == made.to_bytes()
        (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link_to_folder").symlink_to("folder")
    with pytest.raises(RuntimeError, match="directory"):
        made.save(tmp_path / "link_to_folder")
    assert (tmp_path / "link_to_folder").is_symlink()


def test_saving_to_a_pipe():
    done = subprocess.run([sys.executable, "-c", "import numpy as np, jax; from tercel import aot\n"
                           "aot.compile(jax.numpy.tanh, np.float32(1)).save('/dev/stdout')"],
                          stdout=subprocess.PIPE, check=True)
    assert package.load(done.stdout).tanh(np.float32(0)) == 0


@pytest.mark.native
def test_options_of_one_call_are_for_that_call(tmp_path):
    def make(**options):
        return aot.compile(jnp.sin, np.zeros(4, np.float32), name="net", **options)

    made = make()
    before, words = made.to_bytes(), repr(made)
    made.save(tmp_path / "more", num_threads=4)
    assert package.load(tmp_path / "more").num_threads == 4
    options = dict(targets="x86-64-v2", optimization_level=0, num_threads=3)
    made.save_library(tmp_path / "ours", **options)
    make(**options).save_library(tmp_path / "theirs")
    assert ((tmp_path / "ours" / "net.so").read_bytes() ==
            (tmp_path / "theirs" / "net.so").read_bytes())
    for options in (dict(targets="zzz"), dict(targets="aarch64,x86-64-v2"),
                    dict(optimization_level=4), dict(num_threads=5, targets="zzz")):
        with pytest.raises((RuntimeError, ValueError)):
            made.save_library(tmp_path / "none", **options)
    assert made.to_bytes() == before and repr(made) == words
    made.save_library(tmp_path / "none")


def test_what_an_instance_has_learned_can_be_saved(batch, tercel):
    with jax.default_device(tercel):
        net = Net()
        net.update(batch, rate=0.1)
        trained = package.load(Program.get_compiled_artifact(net, state=True).to_bytes())
        fresh = package.load(Program.get_compiled_artifact(net).to_bytes())
        equal(trained.globals["params"], net._params)
        assert trained.globals["count"] == 1
    equal(fresh.globals["params"], Net._params)


def test_a_plain_function(tercel):
    def scaled_sum(x, tree):
        return jnp.cumsum(x * tree["scale"], axis=0), x.shape[0]

    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    loaded = package.load(aot.compile(scaled_sum, x, {"scale": 2.0}).to_bytes())
    with jax.default_device(tercel):
        equal(loaded.scaled_sum(x, {"scale": 3}), jax.jit(scaled_sum)(x, {"scale": 3.0}))
    assert list(loaded.procedures) == ["scaled_sum"]


def test_several_cpu_levels_in_one_file(artifact, batch):
    levels = Program.get_compiled_artifact(Net, targets=("x86-64-v2", "x86-64-v3"))
    loaded, native = (package.load(made.to_bytes()) for made in (levels, artifact))
    assert "x86-64-v3" in repr(loaded)
    for _ in range(3):
        ours, theirs = loaded.update(batch, rate=0.1)[0], native.update(batch, rate=0.1)[0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def spiral(y):
    def step(_, y):
        return y + 0.01 * jnp.concatenate([y[2:], -y[:2] / jnp.sum(y[:2] ** 2) ** 1.5])
    return jax.lax.fori_loop(0, 100, step, y)


def rewritten(x, y):
    return jnp.tanh(x * 1 + jnp.zeros_like(x)) @ y.T.T, (x.T @ x).sum() / 3, jnp.sort(x[0] - 0.0)


def gradients(params, images):
    def loss(params):
        return jax.nn.log_softmax(digits.logits(params, images))[:, 0].sum()
    return jax.grad(loss)(params)


@pytest.mark.native
def test_optimization_levels(tercel, rng):
    x, y = (rng.normal(size=(33, 33)).astype(np.float32) for _ in range(2))
    images = rng.normal(size=(64, 8, 8, 1)).astype(np.float32)
    params = jax.tree.map(np.asarray, digits.init(jax.random.key(0)))
    codes = [[] for _ in range(4)]
    for function, *arguments in ((spiral, np.float32([1, 0, 0, 1])), (rewritten, x, y),
                                 (gradients, params, images)):
        with jax.default_device(tercel):
            wanted = jax.jit(function)(*arguments)
        for level, code in enumerate(codes):
            file, again = (aot.compile(function, *arguments, optimization_level=level).to_bytes()
                           for _ in range(2))
            assert file == again, "a level's code is not the same each time"
            code.append(file)
            results = getattr(package.load(file), function.__name__)(*arguments)
            if level >= 2:
                equal(results, wanted)
            jax.tree.map(lambda ours, theirs: np.testing.assert_allclose(
                ours, theirs, rtol=1e-4, atol=1e-4), results, wanted)
    for level in range(1, 4):
        assert codes[level] not in codes[:level], f"level {level} is the same as a lower one"


def test_levels_that_there_are_not():
    for level in (-1, 4):
        with pytest.raises(ValueError, match=f"is to be 0, 1, 2 or 3, not {level}"):
            aot.compile(jnp.tanh, np.float32(1), optimization_level=level)


def test_numbers_that_are_too_large():
    made = aot.compile(jnp.tanh, np.float32(1))
    for name, call in (
            ("num_threads", lambda number: aot.compile(jnp.tanh, 1.0, num_threads=number)),
            ("num_threads", lambda number: package.load(made.to_bytes(), num_threads=number)),
            ("optimization_level",
             lambda number: aot.compile(jnp.tanh, 1.0, optimization_level=number))):
        for number in (2**32 + 2, -2**32 + 2):
            with pytest.raises(ValueError, match=f"{name}={number} is out of range"):
                call(number)


def test_targets_that_there_are_not():
    for targets in (5, ["x86-64-v2", 3]):
        with pytest.raises(TypeError, match="is no name of a target or list of names"):
            aot.compile(jnp.tanh, np.float32(1), targets=targets)


def test_none_is_the_default():
    made = aot.compile(jnp.tanh, np.float32(1), targets=None, optimization_level=None)
    assert repr(made) == "<artifact of tanh for native, optimization level 2>"


@pytest.mark.native
def test_all_of_a_program_at_each_level(batch, artifact):
    wanted = package.load(artifact.to_bytes())
    for level in (0, 1, 3):
        made = Program.get_compiled_artifact(Net, optimization_level=level)
        assert f"optimization level {level}" in repr(made)
        loaded = package.load(made.to_bytes())
        for instance in (loaded, wanted):
            instance.initialize(np.array([0, 5], np.uint32))
        for _ in range(3):
            ours, theirs = (instance.update(batch, rate=0.1)[0] for instance in (loaded, wanted))
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
        np.testing.assert_allclose(loaded.globals["params.dense.0"],
                                   wanted.globals["params.dense.0"], rtol=1e-4, atol=1e-6)


DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16",
          "float32", "complex64", "int4", "uint2", "float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    values = np.array([0, 1, 1, 0, 1], np.int32).astype(dtype)

    class Keep(Program):
        _kept = np.zeros(5, dtype)

        def swap(self, x=Program.like(values)):
            before = self._kept
            self._kept = x
            return before

    loaded = package.load(Program.get_compiled_artifact(Keep).to_bytes())
    loaded.swap(values)
    result = loaded.swap(values)
    assert result.dtype == dtype and result.tobytes() == values.tobytes()
    equal(loaded.globals["kept"], values)


def test_wide_types(x64, tercel):
    def f(x, y):
        return jnp.sin(x) + y, jnp.sum(y)

    x, y = np.linspace(0, 1, 9), np.arange(9)
    loaded = package.load(aot.compile(f, x, y).to_bytes())
    with jax.default_device(tercel):
        equal(loaded.f(x, y), jax.jit(f)(x, y))


def test_odd_shapes():
    def f(empty, scalar, big):
        return empty * 2, scalar + 1, big.T[::-1]

    arguments = (np.zeros((0, 3), np.float32), np.float32(2), np.ones((3, 1, 5), np.float32))
    loaded = package.load(aot.compile(f, *arguments).to_bytes())
    equal(loaded.f(*arguments), (np.zeros((0, 3), np.float32), np.float32(3),
                                 np.ones((5, 1, 3), np.float32)))
    # Arrays that are not dense are copied.
    assert loaded.f(arguments[0], 2, np.broadcast_to(np.float32(4), (3, 1, 5)))[2][0, 0, 0] == 4


def test_keys_are_integers():
    class Keys(Program):
        _key = jax.random.key(3)

        def draw(self, other=Program.like(jax.random.key(0))):
            self._key, key = jax.random.split(self._key)
            return jax.random.bits(key, (3,)) ^ jax.random.bits(other, (3,)), key

    loaded, here = package.load(Program.get_compiled_artifact(Keys).to_bytes()), Keys()
    for seed in (1, 2):
        bits, key = here.draw(jax.random.key(seed))
        equal(loaded.draw(np.array([0, seed], np.uint32)), (bits, jax.random.key_data(key)))
    equal(loaded.globals["key"], jax.random.key_data(here._key))


@pytest.mark.parametrize("call, kind, message", [
    (lambda m: m.predict(np.zeros((2, 7), np.float32)), ValueError,
     r"net.predict: no signature for x \[2, 7\]: there are batch1, batch3, batch64"),
    (lambda m: m.predict(np.zeros((1, 7))), ValueError,
     r"net.predict: x: float64\[1,7\] in place of float32\[1,7\]"),
    (lambda m: m.predict(), TypeError, "net.predict: missing a required argument: 'x'"),
    (lambda m: m.predict(1, 2), TypeError, "net.predict takes 1 arguments but 2 were given"),
    (lambda m: m.predict(z=1), TypeError, "net.predict got an unexpected argument 'z'"),
    (lambda m: m.predict(1, x=1), TypeError, "net.predict got multiple values for argument 'x'"),
    (lambda m: m.initialize(np.zeros(3, np.uint32)), ValueError,
     r"net.initialize: key: uint32\[3\] in place of uint32\[2\]"),
    (lambda m: m.update({"x": 1}, rate=1.0), TypeError,
     "net.update: batch: a dict in place of one of x, y: it lacks y$"),
    (lambda m: m.update({"x": 1, "z": 2}, rate=1.0), TypeError, "it lacks y and has also z$"),
    (lambda m: m.update(dict(x=1, y=2, z=3), rate=1.0), TypeError, "of x, y: it has also z$"),
    (lambda m: m.update(None, rate=1.0), TypeError, "a NoneType in place of a dict of x, y$"),
    (lambda m: m.no_such(), AttributeError, "net has no procedure no_such: there are initialize"),
    (lambda m: m.globals["no"], KeyError, "net has no global no"),
    (lambda m: m.globals["params.dense.7"], KeyError, "net has no global params.dense.7"),
    (lambda m: m.globals.__setitem__("params.dense", [1]), TypeError,
     "net: params.dense: a list of 1 in place of a list of 2"),
    (lambda m: m.globals.__setitem__("count", np.zeros(2, np.int32)), ValueError,
     r"net: count: int32\[2\] in place of int32\[\]"),
    (lambda m: m.globals.__setitem__("scale", np.float32(1)), RuntimeError, "scale"),
    (lambda m: m.load_state("/no/such/file"), RuntimeError, "/no/such/file"),
])
def test_errors_of_calls(artifact, call, kind, message):
    with pytest.raises(kind, match=message):
        call(package.load(artifact.to_bytes()))


def test_arguments_without_arrays():
    class Trees(Program):
        def run(self, mask=None, x=Program.like(np.zeros(2, np.float32)), rest=Program.like({})):
            return x + 1

    loaded, x = package.load(Program.get_compiled_artifact(Trees).to_bytes()), np.ones(2, np.float32)
    for program in (Trees(), loaded):
        for args, kwargs in (((None, x, {}), {}), ((None, x), {}), ((), {"x": x})):
            np.testing.assert_array_equal(program.run(*args, **kwargs), [2, 2])
        with pytest.raises((TypeError, ValueError)):
            program.run(3, x)
        with pytest.raises(TypeError, match="missing a required argument: 'x'"):
            program.run(None)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_of_an_instance(copied):
    class Counter(Program):
        _n = jnp.zeros((), jnp.int32)
        _step = Program.export_global(np.int32(2), mutable=False)

        def up(self):
            self._n += self._step
            return self._n

    first = package.load(Program.get_compiled_artifact(Counter).to_bytes())
    first.up()
    second = copied(first)
    assert (second.up(), second.up(), first.up()) == (4, 6, 4)
    with pytest.raises(TypeError, match="counter cannot be pickled"):
        pickle.dumps(first)


def test_what_is_not_initialised_has_the_bits_0():
    kinds = [jnp.float8_e8m0fnu, jnp.float32, jnp.bool_]

    class Empty(Program):
        _room = Program.export_global([jax.ShapeDtypeStruct((3,), kind) for kind in kinds],
                                      initialize=False)

        def read(self):
            return self._room

    for program in (Empty(), package.load(Program.get_compiled_artifact(Empty).to_bytes())):
        for array in program.read():
            assert not any(np.asarray(array).tobytes())


def test_saving_keeps_who_may_read_the_file(artifact, tmp_path):
    path = tmp_path / "net.tercel"
    artifact.save(path)
    path.chmod(0o600)
    artifact.save(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_classes_of_users_come_back_as_namedtuples():
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        w: jax.Array
        b: jax.Array

    layer = Layer(np.ones((2, 2), np.float32), np.zeros(2, np.float32))

    class Dense(Program):
        _layer = layer

        def put(self, layer=Program.like(layer)):
            self._layer = layer
            return {"layer": self._layer}

    loaded = package.load(Program.get_compiled_artifact(Dense).to_bytes())
    got = loaded.put(layer)["layer"]  # or anything with such attributes, keys or parts
    assert type(got).__name__ == "Layer" and got._fields == ("w", "b")
    equal(loaded.put({"w": got.w + 1, "b": got.b})["layer"].w, layer.w + 1)
    equal(loaded.put((got.w, got.b))["layer"], got)
    equal(loaded.globals["layer"].w, layer.w)
    with pytest.raises(TypeError, match="dense.put: layer: a list of 1 in place of a tree of w, b"):
        loaded.put([got.w])


def test_an_instance_goes_with_the_last_that_names_it(artifact, batch):
    gc.collect()
    gc.disable()
    try:
        loaded = package.load(artifact.to_bytes(), custom_calls={"none": print})
        parts = loaded.globals, loaded.predict
        gone = [weakref.ref(thing) for thing in (loaded, loaded._handle, *parts)]
        wanted = loaded.predict(np.ones((1, 7), np.float32))
        loaded.update(batch, rate=0.1)
        with pytest.raises(TypeError):
            loaded.predict()
        del loaded
        assert gone[0]() is None
        equal(parts[0]["scale"], np.float32(0.5))
        assert parts[1](np.ones((1, 7), np.float32)).shape == wanted.shape
        del parts
        assert [thing() for thing in gone] == [None] * 4
    finally:
        gc.enable()


def test_arrays_of_every_layout(rng):
    def both(x, y):
        return x + y, x

    for shape in ((), (3, 0), (3, 5), (300, 50)):  # small ones are copied, large ones are not
        whole = rng.standard_normal((*shape, 2)).astype(np.float32)
        x, y = whole[..., 0], np.asarray(whole[..., 1], order="F")
        loaded = package.load(aot.compile(both, x, y).to_bytes())
        unaligned = np.frombuffer(b"." + y.tobytes(), np.uint8)[1:].view(np.float32)
        for second in (y, unaligned.reshape(shape)):
            results = [loaded.both(x, second), loaded.both(second, x)]
            for i, (total, first) in enumerate(results):
                np.testing.assert_array_equal(total, x + y)
                np.testing.assert_array_equal(first, (x, y)[i])
                assert first.flags.writeable and type(first) is np.ndarray
            results[0][0][...] = 0  # results are the caller's own
            np.testing.assert_array_equal(results[1][0], x + y)


def test_results_are_never_changed_by_later_calls():
    loaded = package.load(aot.compile(lambda x: x + 1, np.zeros(50000, np.float32),
                                      name="add").to_bytes())

    def call(number):
        return loaded.add(np.full(50000, number, np.float32))

    addresses = {call(number).ctypes.data for number in range(20)}
    assert len(addresses) == 1  # what nobody has is used again
    held = [call(number) for number in range(5)]
    parts = [call(number)[number:number + 2] for number in range(5)]
    views = [memoryview(call(number)) for number in range(5)]
    shared = [jnp.asarray(call(number)) for number in range(5)]
    for number in range(20):
        call(-1)
    for number in range(5):
        for array in (held[number], parts[number], np.asarray(views[number]), shared[number]):
            np.testing.assert_array_equal(array, number + 1)
    loaded = held[0].copy
    del held
    np.testing.assert_array_equal(loaded(), 1)


Kind = enum.Enum("Kind", "A B")
Kind.__lt__ = lambda self, other: self.value < other.value
Number = enum.IntEnum("Number", "A B")


@pytest.mark.parametrize("keys, plain", [
    (["a", "b"], ["a", "b"]), ([0, 1], [0, 1]), ([False, True], [False, True]),
    (list(Number), [1, 2]), (list(np.arange(2)), [0, 1]), (list(np.arange(2) > 0), [False, True])])
def test_keys_of_dicts(keys, plain):
    tree = {key: np.float32(i) for i, key in enumerate(keys)}
    loaded = package.load(aot.compile(lambda tree: tree, tree, name="same").to_bytes())
    for given in (tree, dict(zip(plain, tree.values()))):
        result = loaded.same(given)
        assert result == tree and list(map(type, result)) == list(map(type, plain))


@pytest.mark.parametrize("keys, kind", [
    ([("a", 1), ("b", 2)], "tuple"), ([0.5, 1.5], "float"), (list(Kind), "Kind"),
    ([b"x"], "bytes")])
def test_keys_that_files_lack(keys, kind):
    tree = {"layers": [{key: jnp.zeros(2) for key in keys}]}
    words = f"the key .* is a {kind}: those of dicts that leave Python are str or int"
    for members, place in (
            ({"_tree": tree, "run": lambda self: 0}, "Net: tree.layers.0"),
            ({"run": lambda self, x=Program.like(tree): 0}, "Net.run: x.layers.0"),
            ({"run": lambda self: tree}, "Net.run: result.layers.0")):
        program = type("Net", (Program,), members)
        program().run(*([tree] if ".run: x" in place else []))
        with pytest.raises(TypeError, match=f"{place}: {words}"):
            Program.get_compiled_artifact(program)


@pytest.mark.parametrize("dtype, number, kind, message", [
    (jnp.int4, 2.7, ValueError, "a Python float in place of int4"),
    (jnp.int4, 8, OverflowError, "8 is out of the range of int4"),
    (jnp.uint4, -1, OverflowError, "-1 is out of the range of uint4"),
    (jnp.int4, 2**70, OverflowError, f"{2**70} is out of the range of int4"),
    (np.uint8, 300, OverflowError, "300 is out of the range of uint8"),
    (np.int32, -2**31 - 1, OverflowError, f"{-2**31 - 1} is out of the range of int32"),
    (jnp.bfloat16, 1j, ValueError, "a Python complex in place of bfloat16"),
    (jnp.float8_e4m3fn, 1j, ValueError, "a Python complex in place of float8_e4m3fn"),
    (np.float32, 1j, ValueError, "a Python complex in place of float32"),
])
def test_numbers_that_a_dtype_lacks(dtype, number, kind, message):
    class Numbers(Program):
        _x = Program.export_global(jax.ShapeDtypeStruct((), dtype), initialize=False)

        def run(self, x=Program.like(jax.ShapeDtypeStruct((), dtype))):
            self._x = x

    loaded = package.load(Program.get_compiled_artifact(Numbers).to_bytes())
    for call in (loaded.run, Numbers().run, lambda x: loaded.globals.__setitem__("x", x)):
        with pytest.raises(kind, match=f"x: {message}"):
            call(number)
    for instance in (Numbers(), loaded):
        instance.run(3)
    assert loaded.globals["x"] == dtype(3)


def test_keys_with_dots():
    class Dots(Program):
        _p = {"a.b": np.ones(2, np.float32), "a": {"b": np.zeros(3, np.float32)}}

        def get(self):
            return self._p

    loaded = package.load(Program.get_compiled_artifact(Dots).to_bytes())
    assert loaded.globals["p.a.b"].shape in ((2,), (3,)) and len(loaded.get()["a"]) == 1
    equal(loaded.get(), Dots._p)


def test_files_that_are_no_artifacts(artifact, tmp_path):
    whole = artifact.to_bytes()
    with pytest.raises(FileNotFoundError, match="missing: no such file"):
        package.load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="missing: no such file"):
        package.load(whole, weights=tmp_path / "missing")
    with pytest.raises(RuntimeError, match=f"^{tmp_path} is not a file"):
        package.load(tmp_path)
    altered = bytearray(whole)
    altered[len(whole) // 2] ^= 0x40
    for broken in (b"", b"text", whole[:100], whole[:-1], bytes(altered), whole + b"x"):
        (tmp_path / "broken").write_bytes(broken)
        for source in (broken, tmp_path / "broken"):
            with pytest.raises(RuntimeError):
                package.load(source)


def test_errors_of_compilation():
    with pytest.raises(ValueError, match="Empty has no procedures"):
        Program.get_compiled_artifact(type("Empty", (Program,), {"_x": np.zeros(2)}))
    with pytest.raises(RuntimeError, match="no_such_target"):
        Program.get_compiled_artifact(Net, targets="no_such_target")
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        Program.get_compiled_artifact(Net, optimization_level="2")


WITHOUT_JAX = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jax", "jaxlib", "ml_dtypes"):
            raise ImportError(name + " is not here")
sys.meta_path.insert(0, Refuse())
import numpy as np
import tercel
net = tercel.load(sys.argv[1])
loss, rest = net.update({"x": np.ones((5, 7), np.float32), "y": np.zeros(5, np.int32)}, rate=0.5)
print(loss.tobytes().hex(), len(rest["gradient"].first), net.globals["count"])
"""


def test_loading_needs_no_jax(artifact, tmp_path):
    artifact.save(tmp_path / "net.tercel")
    done = subprocess.run([sys.executable, "-c", WITHOUT_JAX, tmp_path / "net.tercel"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = package.load(artifact.to_bytes())
    loss, _ = loaded.update({"x": np.ones((5, 7), np.float32), "y": np.zeros(5, np.int32)},
                            rate=0.5)
    assert done.stdout.split() == [loss.tobytes().hex(), "2", "1"]
