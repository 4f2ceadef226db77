"""Procedures: what a class says of them, and how they are called."""

import dataclasses
import inspect

import jax

from tercel.aot import types

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclasses.dataclass
class Signature:
    """The types of one call: several of one procedure differ in the sizes of named dimensions."""

    text: str  # batch8; "" where there is one only
    types: list
    arguments: dict  # name -> tree of types


class Procedure:
    def __init__(self, where, name, function, parameters):
        """`parameters`: of inspect; a default with arrays or types in it says what an argument is
        like, any other is a constant."""
        self.where = where
        self.name = name
        self.function = function
        self._signature = inspect.Signature(parameters)
        self.constants = {}
        arguments = {}
        for parameter in parameters:
            self._add(parameter, arguments)
        self.trees = {name: jax.tree.structure(tree) for name, tree in arguments.items()}
        self.places = {name: types.Names(name, tree) for name, tree in arguments.items()}
        self.signatures = self._refine(arguments)

    @classmethod
    def of_method(cls, class_name, name, function):
        parameters = list(inspect.signature(function).parameters.values())
        where = f"{class_name}.{name}"
        if not parameters or parameters[0].kind not in POSITIONAL:
            raise TypeError(f"{where}: the first parameter of a procedure is self")
        return cls(where, name, function, parameters[1:])

    @property
    def trees_of_parameters(self):
        """Name -> what it is like, of those that a saved procedure has, too: not of constants, but
        for None and empty containers, which have no arrays and may be given all the same."""
        known = self.signatures[0].arguments
        return {name: known.get(name, self.constants.get(name))
                for name in self._signature.parameters
                if name in known or not jax.tree.leaves(self.constants[name])}

    @property
    def names(self):
        """The places of all arguments' leaves."""
        return [name for places in self.places.values() for name in places]

    def __get__(self, program, owner=None):
        return self if program is None else Bound(self, program)

    def __repr__(self):
        shapes = [", ".join(map(types.text, signature.types)) for signature in self.signatures]
        return f"<procedure {self.where}({') ('.join(shapes)})>"

    def bind(self, where, args, kwargs):
        """Name of a parameter -> what it is given."""
        try:
            given = self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{where}: {error}") from None
        for name, constant in self.constants.items():
            if not _is_constant(given.get(name, constant), constant):
                raise ValueError(f"{where}: {name} is the constant {constant!r} of the program, "
                                 f"not {given[name]!r}: Program.like makes an argument of it")
        missing = [name for name in self.trees if name not in given]
        if missing:
            raise TypeError(f"{where}: missing a required argument: {missing[0]!r}")
        return {name: given[name] for name in self.trees}

    def flatten(self, where, args, kwargs):
        """The leaves of a call's arguments, and the signature that they fit."""
        given = self.bind(where, args, kwargs)
        leaves = [leaf for name, tree in given.items()
                  for leaf in types.matches(tree, self.trees[name], self.places[name], where)]
        signature = self.signatures[0]
        if len(self.signatures) > 1:
            signature = self._dispatch(where, leaves)
        return signature, [types.converted(leaf, kind, f"{where}: {name}")
                           for leaf, kind, name in zip(leaves, signature.types, self.names)]

    def call(self, program, given):
        """The Python function, with the trees that the parameters are given."""
        positional, keyword = [], {}
        for name, parameter in self._signature.parameters.items():
            value = given[name] if name in given else self.constants[name]
            if parameter.kind in POSITIONAL:
                positional.append(value)
            else:
                keyword[name] = value
        return self.function(program, *positional, **keyword)

    def unflatten(self, leaves):
        leaves = iter(leaves)
        return {name: jax.tree.unflatten(tree, [next(leaves) for _ in range(tree.num_leaves)])
                for name, tree in self.trees.items()}

    def _add(self, parameter, arguments):
        where = f"{self.where}: parameter {parameter.name}"
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise TypeError(f"{where}: a procedure has a fixed number of arguments")
        default = parameter.default
        if default is inspect.Parameter.empty:
            raise TypeError(f"{where} has no default: say what it is like, as "
                            f"{parameter.name}=Program.like(example)")
        if isinstance(default, types.ExportedGlobal) or any(
                types.is_array(leaf) or types.is_type(leaf) for leaf in jax.tree.leaves(default)):
            arguments[parameter.name] = types.like(default)
        else:
            self.constants[parameter.name] = default

    def _refine(self, arguments):
        declared = jax.tree.leaves(arguments)
        try:
            return [Signature(text, [types.refined(kind, sizes) for tree in arguments.values()
                                     for kind in jax.tree.leaves(tree)],
                              {name: jax.tree.map(lambda kind: types.refined(kind, sizes), tree)
                               for name, tree in arguments.items()})
                    for text, sizes in types.refinements(declared)]
        except ValueError as error:
            raise ValueError(f"{self.where}: {error}") from None

    def _dispatch(self, where, leaves):
        shapes = [getattr(leaf, "shape", ()) for leaf in leaves]
        for signature in self.signatures:
            if shapes == [kind.shape for kind in signature.types]:
                return signature
        given = ", ".join(f"{name} {list(shape)}" for name, shape in zip(self.names, shapes))
        listed = ", ".join(signature.text for signature in self.signatures)
        raise ValueError(f"{where}: no signature for {given}: there are {listed}")


def _is_constant(value, constant):
    """A NaN is one, too, though it is not equal to itself."""
    try:
        equal = value == constant or value != value and constant != constant
        return value is constant or bool(equal)
    except ValueError:  # of an array of several elements
        return False


@dataclasses.dataclass(frozen=True)
class Bound:
    """A procedure of an instance, or of the program that is being traced."""

    procedure: Procedure
    program: object

    def __call__(self, *args, **kwargs):
        return self.program._tercel_call(self.procedure, args, kwargs)
