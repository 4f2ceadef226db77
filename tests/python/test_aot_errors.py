"""Errors of tercel.aot name the class, the procedure and the leaf."""

import copy

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from tercel import aot
from tercel.aot import Program

VECTOR = np.zeros(3, np.float32)


class State(Program):
    _params = {"w": jnp.zeros(3), "in": [jnp.zeros(2, jnp.int32)]}
    _table = Program.export_global(VECTOR, mutable=False)
    _steps = {"count": 0, "names": ["a"]}
    _table2 = {"a": jnp.zeros(3), "b": jnp.zeros(3)}

    def run(self, x=Program.like({"a": VECTOR, "b": [VECTOR, 1]}), flag=True):
        return x["a"] * self._params["w"]

    def plain(self, x=Program.like(VECTOR)):
        return x

    def wrong_tree(self):
        self._params = {"w": self._params["w"]}

    def wrong_tree_in_place(self):
        self._params["more"] = jnp.zeros(3)

    def wrong_shape(self):
        self._params["w"] = jnp.zeros(4)

    def wrong_dtype(self):
        self._params["in"][0] = jnp.zeros(2, jnp.float32)

    def wrong_leaf(self):
        self._params["w"] = "text"

    def constant(self):
        self._table = self._table + 1

    def unknown(self):
        self._parms = self._params

    def leak(self):
        def body(carry, _):
            self._params["w"] = carry
            return carry, self._params["w"]
        return jax.lax.scan(body, self._params["w"], None, length=2)[0]

    def leak_by_assignment(self):
        @jax.jit
        def inner(w):
            self._params = {"w": w, "in": [jnp.zeros(2, jnp.int32)]}
            return w
        return inner(self._params["w"])

    def not_a_global(self, x=Program.like(VECTOR)):
        Program.store_global(x, x)

    def one_of_two(self, x=Program.like(VECTOR)):
        self._table2["a"] = self._table2["b"] = x
        Program.store_global(self._table2["b"], 2 * x)

    def counts(self):
        self._steps["count"] += 1
        return self._params["w"]

    def copies(self):
        return copy.copy(self)

    def no_array(self):
        return {"a": self._params["w"], "b": ["text"]}


@pytest.mark.parametrize("name, kind, message", [
    ("wrong_tree", TypeError, "State.wrong_tree: the tree of params lacks params.in.0"),
    ("wrong_tree_in_place", TypeError,
     "State.wrong_tree_in_place: the tree of params has also params.more"),
    ("wrong_shape", ValueError,
     r"State.wrong_shape: params.w: float32\[4\] in place of float32\[3\]"),
    ("wrong_dtype", ValueError,
     r"State.wrong_dtype: params.in.0: float32\[2\] in place of int32\[2\]"),
    ("wrong_leaf", TypeError, r"State.wrong_leaf: params.w: a str in place of float32\[3\]"),
    ("constant", TypeError, "State.constant: table is not mutable"),
    ("unknown", AttributeError, "State.unknown: _parms is no global"),
    ("leak", TypeError, "State.leak stores into a global what comes from inside of jit"),
    ("leak_by_assignment", TypeError, "State.leak_by_assignment stores into a global"),
    ("counts", TypeError, "State.counts changes _steps, which has no arrays and is a constant"),
    ("copies", TypeError, "State.copies: a program cannot be copied in a procedure"),
    ("no_array", TypeError, "State.no_array: result.b.0 is a str"),
])
def test_in_procedures(name, kind, message):
    with pytest.raises(kind, match=message):
        getattr(State(), name)()


A_TREE = {"a": VECTOR, "b": [VECTOR, 1]}


@pytest.mark.parametrize("call, kind, message", [
    (lambda m: m.run(), TypeError, "State.run: missing a required argument: 'x'"),
    (lambda m: m.run(A_TREE, y=1), TypeError, "State.run: got an unexpected keyword argument 'y'"),
    (lambda m: m.run({"a": VECTOR}), TypeError, "State.run: the tree of x lacks x.b.0, x.b.1"),
    (lambda m: m.run({"a": VECTOR, "b": (VECTOR, 1)}), TypeError, "State.run: the tree of x is"),
    (lambda m: m.run({"a": VECTOR[:2], "b": [VECTOR, 1]}), ValueError,
     r"State.run: x.a: float32\[2\] in place of float32\[3\]"),
    (lambda m: m.run({"a": VECTOR, "b": [VECTOR, 1.5]}), ValueError,
     r"State.run: x.b.1: a Python float in place of int32\[\]"),
    (lambda m: m.run({"a": VECTOR.astype(np.int32), "b": [VECTOR, 1]}), ValueError,
     r"State.run: x.a: int32\[3\] in place of float32\[3\]"),
    (lambda m: m.run({"a": 1.0, "b": [VECTOR, 1]}), ValueError, "State.run: x.a: a Python float"),
    (lambda m: m.run(A_TREE, flag=False), ValueError, "State.run: flag is the constant True"),
    (lambda m: m.plain([1, 2, 3]), TypeError, "State.plain: x: a list in place of an array"),
    (lambda m: m.plain("text"), TypeError, r"State.plain: x: a str in place of float32\[3\]"),
    (lambda m: m.not_a_global(VECTOR), TypeError, "not_a_global: store_global takes globals"),
    (lambda m: m.one_of_two(VECTOR), TypeError,
     "one_of_two: store_global: table2.a and table2.b are the same object here"),
    (lambda m: m.run(A_TREE, flag=np.ones(2)), ValueError, "State.run: flag is the constant True"),
    (lambda m: jax.jit(m.plain)(VECTOR), TypeError, "State.plain has a state"),
    (lambda m: setattr(m, "_params", {"w": VECTOR}), TypeError, "State: the tree of params lacks"),
    (lambda m: setattr(m, "_table", VECTOR), TypeError, "State: table is not mutable"),
    (lambda m: setattr(m, "other", VECTOR), AttributeError, "State: other is no global"),
    (lambda m: Program.store_global(m._params, m._params), TypeError, "is for procedures"),
    (lambda m: Program.get_info(3), TypeError, "3 is neither a Program"),
    (lambda m: Program(), TypeError, "make a subclass"),
])
def test_calls_and_instances(call, kind, message):
    with pytest.raises(kind, match=message):
        call(State())


def test_a_failed_assignment_from_outside_changes_nothing():
    state = State()
    with pytest.raises(ValueError, match="params.w"):
        state._params = {"w": jnp.zeros(4), "in": [jnp.ones(2, jnp.int32)]}
    with pytest.raises(ValueError, match="params.w"):
        state._params = {"in": [jnp.ones(2, jnp.int32)], "w": jnp.zeros(4)}
    np.testing.assert_array_equal(state._params["in"][0], [0, 0])


@pytest.mark.parametrize("change, kind, message", [
    (lambda p: p.update(w=VECTOR[:2]), ValueError,
     r"State: params.w: float32\[2\] in place of float32\[3\]"),
    (lambda p: p.update(w="text"), TypeError, r"State: params.w: a str in place of float32\[3\]"),
    (lambda p: p.update(more=VECTOR), TypeError, "State: the tree of params has also params.more"),
    (lambda p: p.pop("w"), TypeError, "State: the tree of params lacks params.w"),
    (lambda p: p["in"].append(1), TypeError, "State: the tree of params has also params.in.1"),
    (lambda p: p.update({1: VECTOR}), TypeError, "State: params is no tree for JAX: '<' not"),
])
@pytest.mark.parametrize("use", [
    lambda m: m.run(A_TREE), lambda m: m._params, lambda m: setattr(m, "_table", VECTOR)])
def test_a_wrong_change_of_a_part_is_refused_once(change, kind, message, use):
    state = State()
    state._params = {"w": VECTOR + 1, "in": [jnp.ones(2, jnp.int32)]}
    change(state._params)
    with pytest.raises(kind, match=message):
        use(state)
    np.testing.assert_array_equal(state.run(A_TREE), VECTOR)
    np.testing.assert_array_equal(state._params["w"], VECTOR + 1)
    state._params["w"] = VECTOR + 2
    np.testing.assert_array_equal(state._params["w"], VECTOR + 2)
    state._params = {"w": VECTOR + 3, "in": [jnp.ones(2, jnp.int32)]}
    np.testing.assert_array_equal(state._params["w"], VECTOR + 3)


def test_a_deleted_array_is_not_stored_in_part():
    state = State()
    gone = jnp.ones(3)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        state._params = {"w": gone, "in": [jnp.ones(2, jnp.int32)]}
    np.testing.assert_array_equal(state._params["in"][0], [0, 0])


def with_method(function):
    return lambda: type("Bad", (Program,), {"run": function})


@pytest.mark.parametrize("make, kind, message", [
    (with_method(lambda self, x: x), TypeError, "Bad.run: parameter x has no default"),
    (with_method(lambda: 1), TypeError, "Bad.run: the first parameter of a procedure is self"),
    (with_method(lambda self, *x: x), TypeError, "Bad.run: parameter x: a procedure has a fixed"),
    (with_method(lambda self, x=Program.like(VECTOR, "n"): x), ValueError,
     "Bad.run: dimension n: no sizes are given for n"),
    (with_method(lambda self, x=Program.like(VECTOR, "n", n=(1,)),
                 y=Program.like(VECTOR, "n", n=(2,)): x), ValueError,
     r"Bad.run: dimension n has sizes \(1,\) and \(2,\)"),
    (lambda: Program.like(VECTOR, "n, m"), ValueError, r'"n, m" does not fit float32\[3\]'),
    (lambda: Program.like({"a": ["text"]}), TypeError, "tree.a.0 is a str"),
    (lambda: Program.like(np.float32), TypeError,
     "tree is a type, not an array, a number or a jax.ShapeDtypeStruct"),
    (lambda: Program.like(VECTOR, {"n": 0}), TypeError,
     "{'n': 0} are no names of dimensions, as \"batch, ...\""),
    (lambda: type("Bad", (Program,), {}, export_name=3), TypeError, "Bad: export_name=3 is not a"),
    (lambda: type("Bad", (Program,), {}, export_name=""), ValueError, "Bad: the name '' is no"),
    (lambda: Program.like(VECTOR, n=(1, 2)), TypeError, "no dimension has a name"),
    (lambda: type("Bad", (Program,), {"_p": {"w": VECTOR, "f": print}}), TypeError,
     "Bad: global p.f is a builtin_function_or_method"),
    (lambda: type("Bad", (Program,), {"_p": Program.export_global(Program.like(VECTOR))}),
     TypeError, "Bad: global p has a type and no value"),
    (lambda: type("Bad", (Program,), {"_p": {1: VECTOR, "w": VECTOR}}), ValueError,
     "Bad._p is no tree for JAX: '<' not supported"),
    (lambda: type("Bad", (Program,), {"_p": [np.array(["text"])]}), TypeError,
     "Bad: global p.0 has the dtype <U4, which JAX lacks"),
    (with_method(jax.jit(lambda self, x=Program.like(VECTOR): x)), TypeError,
     "Bad.run is a PjitFunction: a procedure is a plain function of self"),
    (lambda: Program.like(VECTOR, "n", n=8), TypeError, "n=8 is no list of sizes, as n="),
    (lambda: Program.like(VECTOR, "n", n=(8.5,)), TypeError, "is no list of sizes"),
    (lambda: Program.like(VECTOR, "n", n=()), ValueError, "no sizes are listed for n"),
    (with_method(lambda self, x=Program.like(VECTOR, "n+", n=(1,)): x), ValueError,
     r"Bad.run: dimension n\+: invalid syntax"),
    (with_method(lambda self, x=Program.like(VECTOR, "6//n", n=(0, 1)): x), ValueError,
     "Bad.run: dimension 6//n: integer division or modulo by zero"),
    (with_method(lambda self, x=Program.like(VECTOR, "_", n=(1, 2)): x), ValueError,
     "Bad.run: sizes of n are listed, and no dimension has it"),
    (lambda: Program.like({"x": jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 3"),
                                                     np.float32)}),
     TypeError, r"Program.like: tree.x has symbolic dimensions, \(b, 3\): give them names"),
])
def test_declarations(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_what_jax_calls_an_argument():
    class Branch(Program):
        def run(self, x=Program.like({"a": VECTOR})):
            return x if x["a"][0] > 0 else 2

    with pytest.raises(jax.errors.TracerBoolConversionError) as error:
        Branch().run({"a": VECTOR})
    assert "the function Branch.run" in str(error.value)
    assert "the argument arguments['x']['a']" in str(error.value)


def test_errors_of_the_users_code_say_where():
    class Bad(Program):
        def run(self, x=Program.like(VECTOR)):
            return x @ jnp.zeros((4, 4))

    with pytest.raises(TypeError) as error:
        Bad().run(VECTOR)
    assert "while tracing Bad.run" in error.value.__notes__


def test_an_example_of_a_static_argument():
    scaled = jax.jit(lambda x, n: x * n, static_argnums=1)
    with pytest.raises(TypeError, match="static argument of a jitted function.*functools.partial"):
        aot.compile(scaled, VECTOR, 3)


def test_long_trees_are_shown_where_they_differ():
    class Deep(Program):
        _state = {"layers": [{f"weight_{i}": VECTOR} for i in range(40)], "last": (VECTOR,)}

        def run(self):
            self._state = {**self._state, "last": [VECTOR]}

    with pytest.raises(TypeError) as error:
        Deep().run()
    assert "[*]" in str(error.value) and "(*,)" in str(error.value), str(error.value)
