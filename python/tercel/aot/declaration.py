"""What the body of a Program class declares: its globals and its procedures."""

import copy
import dataclasses
import inspect
import re
import types as python_types

import jax
import jax.numpy as jnp
import numpy as np

from tercel.aot import types
from tercel.aot.procedure import Procedure


@dataclasses.dataclass
class Global:
    """One array of a program's state."""

    name: str
    type: jax.ShapeDtypeStruct
    initial: np.ndarray | None  # of a key: the key; None is zeros
    mutable: bool
    aliases: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Attribute:
    """A tree of globals, as a class names it: reading gives the tree, assigning stores one."""

    name: str
    initial: object
    treedef: object
    names: types.Names
    leaves: list  # of indices into the globals

    def __get__(self, program, owner=None):
        return self.initial if program is None else program._tercel_values.load(self)

    def __set__(self, program, tree):
        program._tercel_values.store(self, tree)


class Declaration:
    def __init__(self, cls, bases, export_name=None):
        """`bases`: the class and those that it inherits from, in the order of look-up."""
        self.cls = cls
        self.class_name = cls.__name__
        self.name = _snake_case(cls.__name__) if export_name is None else export_name
        if not isinstance(self.name, str):
            raise TypeError(f"{cls.__name__}: export_name={self.name!r} is not a str")
        if not self.name.isidentifier() or not self.name.isascii():
            raise ValueError(f"{cls.__name__}: the name {self.name!r} is no name of C's")
        self.globals = []
        self.attributes = {}
        self.procedures = {}
        self.constants = {}  # name -> a copy of a tree without arrays, which is no global
        self.traces = {}  # (procedure, signature) -> Traced
        self.callbacks = {}  # name -> the function, and the procedure that first called it
        self._sources = {}  # id of an array -> it, and the global that was declared with it
        self._names = set()
        # What classes before have declared is declared again, in the places of what is overridden.
        self.body = {}
        for base in reversed(bases):
            self.body |= vars(cls) if base is cls else _body(base)
        for name, value in self.body.items():
            self._declare(name, value)
        for name, value in (self.attributes | self.procedures).items():
            setattr(cls, name, value)

    def _declare(self, name, value):
        if name.startswith("__"):
            return
        if isinstance(value, Procedure):
            self.procedures[name] = value
        elif isinstance(value, python_types.FunctionType):
            if not name.startswith("_"):
                self.procedures[name] = Procedure.of_method(self.class_name, name, value)
        elif isinstance(value, types.ExportedGlobal):
            self._add_attribute(name, value)
        elif any(types.is_array(leaf) for leaf in self._leaves(name, value)):
            self._add_attribute(name, types.ExportedGlobal(value, initialize=True, mutable=True))
        elif isinstance(value, (dict, list)):
            self.constants[name] = copy.deepcopy(value)
        elif not name.startswith("_") and _is_wrapped_method(value):
            raise TypeError(f"{self.class_name}.{name} is a {type(value).__name__}: a procedure is "
                            "a plain function of self, compiled whole, and what has no self is "
                            "a @Program.kernel")

    def check_constants(self, where):
        """TypeError where a procedure put something into a tree that is no global."""
        for name, value in self.constants.items():
            now = getattr(self.cls, name)
            leaves, before = map(jax.tree.leaves, (now, value))
            if len(leaves) == len(before) and all(map(_is_as_before, leaves, before)):
                continue
            type.__setattr__(self.cls, name, copy.deepcopy(value))
            raise TypeError(f"{where} changes {name}, which has no arrays and is a constant: "
                            f"{self.class_name}.{name} with jnp.asarray of them is a global")

    def _leaves(self, name, value):
        if inspect.isroutine(value) or isinstance(value, (type, property, classmethod)):
            return []
        try:
            return jax.tree.leaves(value)
        except Exception as error:
            raise ValueError(f"{self.class_name}.{name} is no tree for JAX: "
                             f"{error.__cause__ or error}") from error

    def _add_attribute(self, name, exported):
        root = name.lstrip("_") or name
        while any(root == known.names.root for known in self.attributes.values()):
            root += "_"
        names = types.Names(root, exported.tree)
        leaves, treedef = jax.tree.flatten(exported.tree)
        indices = [self._add_global(*pair, exported) for pair in zip(names, leaves)]
        self.attributes[name] = Attribute(name, exported.tree, treedef, names, indices)

    def _add_global(self, name, leaf, exported):
        if exported.initialize and id(leaf) in self._sources:
            _, index = self._sources[id(leaf)]
            self.globals[index].aliases.append(name)
            return index
        where = f"{self.class_name}: global {name}"
        if exported.initialize and types.is_type(leaf):
            raise TypeError(f"{where} has a type and no value: initialize=False takes types")
        if not (types.is_array(leaf) or types.is_number(leaf) or types.is_type(leaf)):
            raise TypeError(f"{where} is a {type(leaf).__name__}, not an array")
        kind = types.type_of(leaf, where)
        if not exported.initialize and types.physical(kind) is not kind:
            raise TypeError(f"{where}: keys need a value")
        initial = _host_copy(leaf, kind.dtype) if exported.initialize else None
        while name in self._names:
            name += "_"
        self._names.add(name)
        if exported.initialize and types.is_array(leaf):
            self._sources[id(leaf)] = leaf, len(self.globals)
        self.globals.append(Global(name, kind, initial, exported.mutable))
        return len(self.globals) - 1


def _is_as_before(leaf, before):
    return leaf is before or type(leaf) is type(before) and (leaf == before or leaf != leaf)


def _body(base):
    """Of a class of programs, all that it declares; of another, not the methods that cannot be
    procedures, as nothing says what their arguments are like."""
    if "_tercel" in vars(base):
        return vars(base)["_tercel"].body
    return {name: value for name, value in vars(base).items()
            if not inspect.isfunction(value) or _says_all(value)}


def _says_all(function):
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return all(each.default is not inspect.Parameter.empty for each in parameters)


def _is_wrapped_method(value):
    """Of a function whose first parameter is self, by jax.jit or another decorator."""
    function = inspect.unwrap(value) if callable(value) else value
    return (inspect.isfunction(function) and function is not value and
            next(iter(inspect.signature(function).parameters), None) == "self")


def _host_copy(leaf, dtype):
    if jnp.issubdtype(dtype, jax.dtypes.extended):
        return leaf
    copy = np.array(leaf, dtype, order="C")
    copy.flags.writeable = False
    return copy


def _snake_case(name):
    name = name.removesuffix("Program") or name
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return name.strip("_").lower()
