"""The values of a program's globals: an instance's arrays, or the tracers of a procedure."""

import contextlib
import itertools
import threading

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np

from tercel.aot import types

_tracing = threading.local()
# What JAX traced of a function is good for one state of the globals that the function reads.
_state = jax.make_user_context(default_value=0)
_states = itertools.count(1)
# JAX 0.8 has it elsewhere.
_trace_state = (getattr(jax.extend.core, "get_opaque_trace_state", None) or
                jax.core.get_opaque_trace_state)


class Values:
    """Reading gives plain trees; what is changed in them counts as stored.

    A tree that was handed out is looked at again before each access and at the end, so that
    `self._params["w"] = new` needs no trees of a kind of our own. That may be inside of jit or
    scan, where no operation on what is outside may be made.
    """

    def __init__(self, declaration, where, values):
        self.declaration = declaration
        self.where = where
        self.values = list(values)
        self.read = set()  # what was loaded before anything was stored there
        self.stored = set()
        # Name of an attribute -> its tree, the leaves in it, the values that it was made of.
        self._views = {}
        self._trace = self._context = None

    def load(self, attribute):
        self.flush()
        if self._trace is not None and self._trace != _trace_state():
            self._renew()  # once the function that reads is traced, its tree may get other arrays
        values = [self.values[index] for index in attribute.leaves]
        self.read.update(set(attribute.leaves) - self.stored)
        tree, _, made_of = self._views.get(attribute.name, (None, None, None))
        if made_of is None or any(old is not new for old, new in zip(made_of, values)):
            leaves = [types.as_declared(value, self.declaration.globals[index].type)
                      for value, index in zip(values, attribute.leaves)]
            tree = jax.tree.unflatten(attribute.treedef, leaves)
            self._views[attribute.name] = tree, leaves, values
        return tree

    def store(self, attribute, tree):
        self.flush()
        self._views.pop(attribute.name, None)
        old = [self.values[index] for index in attribute.leaves]
        self._write(attribute, old, tree, _copied)

    def flush(self):
        for name in list(self._views):
            # Put back where it could be stored: a wrong tree is refused once.
            tree, seen, made_of = self._views.pop(name)
            attribute = self.declaration.attributes[name]
            leaves = self._write(attribute, seen, tree, self._kept)
            made_of = [was if new is old else self.values[index] for was, old, new, index
                       in zip(made_of, seen, leaves, attribute.leaves)]
            self._views[name] = tree, leaves, made_of

    def find(self, part):
        """The attribute and the places among its leaves of a tree that load has given out."""
        found = {}  # the globals -> where they are
        for name, (tree, _, _) in self._views.items():
            attribute, start = self.declaration.attributes[name], 0
            for node, leaves in _nodes(tree):
                if node is part:
                    places = range(start, start + leaves)
                    globals_there = tuple(attribute.leaves[i] for i in places)
                    found.setdefault(globals_there, (attribute, places))
                start += _is_leaf(node)
        if not found:
            raise TypeError(
                f"{self.where}: store_global takes globals: self._params, or a part of it")
        if len(found) > 1:
            names = " and ".join(attribute.names[places.start] if places else attribute.name
                                 for attribute, places in found.values())
            raise TypeError(f"{self.where}: store_global: {names} are the same object here, put "
                            "there by assignments: assign the one that is meant")
        return next(iter(found.values()))

    def store_part(self, part, tree):
        attribute, places = self.find(part)
        names = types.Names(attribute.names.root, part)
        leaves = types.matches(tree, jax.tree.structure(part), names, self.where)
        whole = [self.values[index] for index in attribute.leaves]
        whole[places.start:places.stop] = leaves
        self.store(attribute, jax.tree.unflatten(attribute.treedef, whole))

    # Of what was put into a tree.
    _kept = staticmethod(types.fitting)

    def _write(self, attribute, old, tree, kept):
        leaves = types.matches(tree, attribute.treedef, attribute.names, self.where)
        written, values = {}, {}
        for name, index, before, after in zip(attribute.names, attribute.leaves, old, leaves):
            if after is before:
                continue
            known = self.declaration.globals[index]
            where = f"{self.where}: {name}"
            if not known.mutable:
                raise TypeError(f"{where} is not mutable")
            if index in written:
                if not _are_equal(after, written[index]):
                    raise ValueError(f"{where} is another name of {known.name}, the same array in "
                                     "the class, and gets another value: make them two arrays "
                                     "there, as by jax.tree.map(jnp.copy, tree)")
                continue
            written[index] = after
            values[index] = kept(after, known.type, where)
        for index, value in values.items():
            self.values[index] = value
            self.stored.add(index)
        if values:
            self._renew()
        return leaves

    def enter(self):
        """A procedure is traced from here on, to `leave`."""
        self._trace = _trace_state()

    def leave(self):
        self._trace = None
        self._end_state()

    def _renew(self):
        """No function that was traced before is as it was."""
        if self._trace is not None:
            self._end_state()
            self._context = _state(next(_states))
            self._context.__enter__()

    def _end_state(self):
        if self._context is not None:
            self._context.__exit__(None, None, None)
            self._context = None


class InstanceValues(Values):
    """An instance's own arrays. Procedures may be given the memory of those that nobody else has
    seen; one thread at a time is in here."""

    def __init__(self, declaration, values):
        super().__init__(declaration, declaration.class_name, values)
        self.lock = threading.RLock()
        self._seen = set()

    @staticmethod
    def _kept(value, kind, where):
        return _copied(value, kind, where)

    @classmethod
    def first(cls, declaration):
        return cls(declaration, map(_start, declaration.globals))

    def copy(self):
        with self.lock:
            self.flush()
            return InstanceValues(self.declaration, map(jnp.copy, self.values))

    def load(self, attribute):
        with self.lock:
            self._seen.update(attribute.leaves)
            return super().load(attribute)

    def store(self, attribute, tree):
        with self.lock:
            super().store(attribute, tree)

    def value(self, index):
        with self.lock:
            self.flush()
            return self.values[index]

    def take(self, index):
        """The value, which the caller may overwrite."""
        if index in self._seen:
            self._seen.discard(index)
            return jnp.copy(self.values[index])
        return self.values[index]

    def put(self, index, value):
        self._seen.discard(index)
        self.values[index] = value


@contextlib.contextmanager
def tracing(values):
    outer = current()
    _tracing.values = values
    values.enter()
    try:
        yield
    finally:
        values.leave()
        _tracing.values = outer


def current():
    """Of the procedure that is being traced on this thread."""
    return getattr(_tracing, "values", None)


def _copied(value, kind, where):
    """No argument, result or other global is the same array."""
    return jnp.copy(types.converted(value, kind, where))


def _start(known):
    if known.initial is None:
        # A type without a zero, f8e8m0fnu, starts with the bits 0, as in saved programs.
        return jnp.full(known.type.shape, np.zeros((), known.type.dtype), known.type.dtype)
    return jnp.copy(known.initial)


def _are_equal(one, other):
    if one is other:
        return True
    if isinstance(one, jax.core.Tracer) or isinstance(other, jax.core.Tracer):
        return False
    return bool(jnp.array_equal(one, other))


def _is_leaf(node):
    return jax.tree_util.all_leaves([node])


def _nodes(tree):
    """Every node of a tree with its number of leaves: parents first, leaves in their order."""
    yield tree, len(jax.tree.leaves(tree))
    if not _is_leaf(tree):
        for child in jax.tree.leaves(tree, is_leaf=lambda node: node is not tree):
            yield from _nodes(child)
