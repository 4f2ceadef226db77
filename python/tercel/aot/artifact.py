"""A compiled program: one file, or a library for C."""

import collections.abc
import json
import operator
import os

import jax
import jax.numpy as jnp
import numpy as np

from tercel.aot import types
from tercel.aot.info import describe, result_names
from tercel.aot.native import Builder


class Artifact:
    """What Program.get_compiled_artifact gives. Files appear whole or not at all."""

    def __init__(self, declaration, traces, targets="native", optimization_level=2,
                 num_threads=1, values=None):
        if not traces:
            raise ValueError(f"{declaration.class_name} has no procedures: a public function of "
                             "the class is one")
        self.info = describe(declaration, traces)
        self.name = declaration.name
        self._builder = Builder(self.name)
        for index, known in enumerate(declaration.globals):
            self._add_global(known, _value(known, index, values))
        self._builder.set_tree(_tree_of_globals(declaration))
        for trace in traces:
            self._add_procedure(trace)
        if num_threads is not None:
            self._builder.set_num_threads(num_threads)
        self._compiled = _choice(("native", 2), targets, optimization_level)
        self._builder.compile(*self._compiled)

    def __repr__(self):
        targets, optimization_level = self._compiled
        return f"<artifact of {self.name} for {targets}, optimization level {optimization_level}>"

    def to_bytes(self):
        """What save writes, and tercel.load reads."""
        return self._builder.serialize()

    def save(self, path, num_threads=None, weights_path=None):
        """Writes one file with the program and its code for all targets. `num_threads` as in
        get_compiled_artifact, where another number is wanted. Of a link, it writes the target.
        With `weights_path` the globals' values lie there, for tercel.load to map into memory.

        ValueError: `num_threads` is not 1 to 1024, or both paths are one; RuntimeError: a file
        cannot be written.
        """
        to = os.fsencode(_followed(path))
        weights = weights_path if weights_path is None else os.fsencode(_followed(weights_path))
        self._builder_for(num_threads=num_threads).save(to, weights)

    def save_library(self, directory, targets=None, side_file=False, runtime_directory=None,
                     optimization_level=None, num_threads=None):
        """Writes name.so, name.a, name.h, name.hpp, tercel_program.h and name.cmake.

        `targets`, `optimization_level` and `num_threads` as in get_compiled_artifact, where another
        choice is wanted for this library, which has code for one architecture. With `side_file` the
        globals' values lie in name.weights, which is mapped into memory, and not in the library.

        ValueError: a name that C or C++ has another use for, several architectures, or values that
        need a side file; RuntimeError: a file cannot be written, or there is no runtime library for
        the architecture.
        """
        builder = self._builder_for(targets, optimization_level, num_threads)
        runtime = runtime_directory and os.fsencode(runtime_directory)
        builder.save_library(os.fsencode(directory), side_file, runtime)

    def _builder_for(self, targets=None, optimization_level=None, num_threads=None):
        """The artifact's own stays as it is: a copy has the options of one call."""
        wanted = _choice(self._compiled, targets, optimization_level)
        if wanted == self._compiled and num_threads is None:
            return self._builder
        builder = self._builder.copy()
        if num_threads is not None:
            builder.set_num_threads(num_threads)
        if wanted != self._compiled:
            builder.compile(*wanted)
        return builder

    def _add_global(self, known, value):
        self._builder.add_global(known.name, types.physical(known.type), value, known.mutable)

    def _add_procedure(self, trace):
        arguments = zip(trace.procedure.names, trace.signature.types)
        results = zip(result_names(trace), jax.tree.leaves(trace.results))
        arguments, results = ([(name, types.physical(kind)) for name, kind in values]
                              for values in (arguments, results))
        self._builder.add_procedure(
            trace.where, trace.procedure.name, trace.signature.text,
            trace.exported.mlir_module_serialized, trace.used, trace.stored, arguments, results,
            _tree_of_call(trace))


def _choice(default, targets, optimization_level):
    return (default[0] if targets is None else _listed(targets),
            default[1] if optimization_level is None else operator.index(optimization_level))


def _followed(path):
    """The file that a link leads to, which need not be there. What /dev/stdout leads to may have no
    path of its own."""
    real = os.path.realpath(path)
    return path if os.path.exists(path) and not os.path.exists(real) else real


def _listed(targets):
    """As names with commas between them."""
    names = [targets] if isinstance(targets, str) else targets
    try:
        return ",".join(names)
    except TypeError:
        raise TypeError(f"targets={targets!r} is no name of a target or list of names, as "
                        "'x86-64-v2,x86-64-v4'") from None


def _value(known, index, values):
    """The first value of a global as a dense array; None where it has none."""
    value = known.initial if values is None else values.value(index)
    if value is None:
        return None
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    return np.asarray(value, order="C")


# How values are nested, as tercel.trees reads it.


def _tree_of_call(trace):
    numbers = iter(range(len(trace.signature.types)))
    arguments = [[name, _describe(tree, numbers, f"{trace.where}: {name}")]
                 for name, tree in trace.procedure.trees_of_parameters.items()]
    numbers = iter(range(trace.result_tree.num_leaves))
    result = _describe(trace.results, numbers, f"{trace.where}: result")
    return json.dumps({"arguments": arguments, "result": result})


def _tree_of_globals(declaration):
    trees = [(attribute.names.root, attribute) for attribute in declaration.attributes.values()]
    return json.dumps([[root, _describe(attribute.initial, iter(attribute.leaves),
                                        f"{declaration.class_name}: {root}")]
                       for root, attribute in trees])


def _describe(node, numbers, where):
    if node is None:
        return None
    children = jax.tree_util.tree_flatten_with_path(node, is_leaf=lambda part: part is not node)[0]
    if len(children) == 1 and not children[0][0]:
        return next(numbers)
    keys = [_key(path[0]) for path, _ in children]
    if isinstance(node, collections.abc.Mapping):
        keys = [_plain(key, where) for key in keys]
    inner = [_describe(child, numbers, f"{where}.{key}") for key, (_, child) in zip(keys, children)]
    if isinstance(node, collections.abc.Mapping):
        return {"dict": [list(pair) for pair in zip(keys, inner)]}
    if type(node) in (list, tuple):
        return {type(node).__name__: inner}
    keys = getattr(node, "_fields", [str(key) for key in keys])
    return {"fields": [list(pair) for pair in zip(keys, inner)], "type": type(node).__name__}


def _key(entry):
    return getattr(entry, "key", getattr(entry, "name", getattr(entry, "idx", None)))


def _plain(key, where):
    """The key as JSON has it, which must be equal to it."""
    if isinstance(key, (np.integer, np.bool_)):
        return key.item()
    if isinstance(key, (str, int)):
        return key
    raise TypeError(f"{where}: the key {key!r} is a {type(key).__name__}: those of dicts that "
                    "leave Python are str or int")
