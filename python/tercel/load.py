"""Runs saved programs with NumPy alone: no JAX, no compiler."""

import collections.abc
import ctypes
import json
import os
import threading

import numpy as np

from tercel import abi, trees
from tercel.custom_calls import CustomCalls


def load(source, *, weights=None, num_threads=1, custom_calls=None):
    """An instance of the program in a file that Artifact.save wrote, or in its bytes.

    Its procedures are its methods, with the trees of arguments and results that they have in
    JAX; `weights` is the side file, where there is one. What the program calls by jax.ffi, and its
    callbacks, are looked up in `custom_calls`: name -> function(configuration, *operands). The
    file holds native code: load only what you trust.
    """
    return Instance(_Program(source, weights), num_threads, custom_calls or {})


class Instance:
    """A program with a state of its own."""

    def __init__(self, program, num_threads, custom_calls):
        self._program = program
        self._custom_calls = CustomCalls(custom_calls)
        options = abi.InstanceOptions(num_threads=num_threads)
        if self._custom_calls.function:
            options.custom_call = self._custom_calls.function
        self._address = ctypes.c_void_p()
        abi.check(abi.library().tercel_instance_create(
            program.address, ctypes.byref(options), ctypes.byref(self._address)), program.name)
        self._lock = threading.Lock()  # the library refuses a second thread
        self._options = num_threads, custom_calls
        self.globals = Globals(self, program)
        self.procedures = {name: Procedure(self, program, signatures)
                           for name, signatures in program.procedures.items()}

    def __getattr__(self, name):
        if name in self.__dict__.get("procedures", ()):
            return self.procedures[name]
        raise AttributeError(f"{self._program.name} has no procedure {name}: there are "
                             f"{', '.join(self._program.procedures)}")

    def __dir__(self):
        return [*super().__dir__(), *self.procedures]

    def __repr__(self):
        return f"<an instance of {self._program}>"

    def new_instance(self):
        """Another instance of the program, in its first state."""
        return Instance(self._program, *self._options)

    def save_state(self, path):
        """Writes the values of all mutable globals to a file."""
        self._call("save_state", os.fsencode(path))

    def load_state(self, path):
        """Takes them from a file that an instance of the same program wrote."""
        self._call("load_state", os.fsencode(path))

    def _call(self, function, *arguments, where=None):
        with self._lock:
            code = getattr(abi.library(), f"tercel_instance_{function}")(self._address, *arguments)
            error, self._custom_calls.error = self._custom_calls.error, None
            if error:
                raise error
            abi.check(code, where or self._program.name)

    def __del__(self):
        if getattr(self, "_address", None):
            abi.library().tercel_instance_destroy(self._address)


class Procedure:
    """Call it with the arguments that the program's procedure has."""

    def __init__(self, instance, program, signatures):
        self._instance = instance
        self._name = f"{program.name}.{signatures[0].name}"
        self._signatures = signatures

    def __repr__(self):
        return "\n".join(map(str, self._signatures))

    def __call__(self, *args, **kwargs):
        signature = self._signatures[0]
        given = _bind(self._name, [name for name, _ in signature.parameters], args, kwargs)
        leaves = [None] * len(signature.arguments)
        for name, tree in signature.parameters:
            for number, leaf, place in trees.flatten(tree, given[name], f"{self._name}: {name}"):
                leaves[number] = _array(leaf, signature.arguments[number], place)
        if len(self._signatures) > 1:
            signature = self._dispatch(leaves)
        return self._run(signature, leaves)

    def _dispatch(self, leaves):
        for signature in self._signatures:
            if all(leaf.shape == value.shape for leaf, value in zip(leaves, signature.arguments)):
                return signature
        given = ", ".join(str(list(leaf.shape)) for leaf in leaves)
        listed = ", ".join(signature.text for signature in self._signatures)
        raise ValueError(f"{self._name}: no signature for {given}: there are {listed}")

    def _run(self, signature, leaves):
        for leaf, value in zip(leaves, signature.arguments):
            if leaf.shape != value.shape:
                raise ValueError(f"{self._name}: {value.name}: "
                                 f"{abi.type_text(leaf.shape, leaf.dtype)} in place of {value}")
        results = [_aligned(value) for value in signature.results]
        self._instance._call("call", signature.number, _buffers(leaves), len(leaves),
                             _buffers(results), len(results), where=self._name)
        return trees.build(signature.result_tree, results)


class Globals(collections.abc.Mapping):
    """The state of an instance by name: globals["params"] is a tree, globals["params.w"] a part of
    it. Reading copies; assigning stores a tree."""

    def __init__(self, instance, program):
        self._instance = instance
        self._program = program

    def __iter__(self):
        return iter(self._program.global_trees)

    def __len__(self):
        return len(self._program.global_trees)

    def __getitem__(self, name):
        tree = self._find(name)
        values = self._program.globals
        read = {number: self._get(number, values[number]) for number in _numbers(tree)}
        return trees.build(tree, read)

    def __setitem__(self, name, new):
        leaves = []
        for number, leaf, place in trees.flatten(self._find(name), new,
                                                 f"{self._program.name}: {name}"):
            value = self._program.globals[number]
            leaf = _array(leaf, value, place)
            if leaf.shape != value.shape:
                raise ValueError(f"{place}: {abi.type_text(leaf.shape, leaf.dtype)} in place of "
                                 f"{value}")
            leaves.append((number, leaf, place))
        for number, leaf, place in leaves:
            self._instance._call("set_global", number, leaf.ctypes.data, leaf.nbytes, where=place)

    def _get(self, number, value):
        array = _aligned(value)
        self._instance._call("get_global", number, array.ctypes.data, array.nbytes)
        return array

    def _find(self, name):
        for number, value in enumerate(self._program.globals):
            if value.name == name:  # keys of dicts may have dots in them
                return number
        root, *path = name.split(".")
        tree = self._program.global_trees.get(root)
        for key in path:
            tree = _child(tree, key)
        if tree is None:
            raise KeyError(f"{self._program.name} has no global {name}: there are "
                           f"{', '.join(self._program.global_trees)}")
        return tree


class _Value:
    """An argument, a result or a global."""

    def __init__(self, info):
        self.name = info.name.decode()
        self.shape = tuple(info.dims[:info.rank])
        self.dtype = abi.dtype(info.dtype)

    def __str__(self):
        return abi.type_text(self.shape, self.dtype)


class _Signature:
    def __init__(self, program, number):
        info = program.describe(abi.ProcedureInfo(), "procedure", number)
        self.number = number
        self.name, self.text = info.name.decode(), info.signature.decode()
        self.arguments = [program.value("argument", number, i) for i in range(info.num_arguments)]
        self.results = [program.value("result", number, i) for i in range(info.num_results)]
        self.tree = json.loads(info.tree) if info.tree else {}
        self.parameters = self.tree.get(
            "arguments", [[value.name, i] for i, value in enumerate(self.arguments)])
        plain = [0] if len(self.results) == 1 else [{"tuple": list(range(len(self.results)))}]
        self.result_tree = self.tree.get("result", plain[0])

    def __str__(self):
        arguments = ", ".join(f"{value.name}: {value}" for value in self.arguments)
        results = ", ".join(f"{value.name}: {value}" for value in self.results)
        return f"{self.name}({arguments}) -> ({results})" + (self.text and f"  [{self.text}]")


class _Program:
    def __init__(self, source, weights):
        self.address = ctypes.c_void_p()
        options = ctypes.byref(abi.LoadOptions(weights_path=weights and os.fsencode(weights)))
        if isinstance(source, (bytes, bytearray, memoryview)):
            data = np.frombuffer(source, np.uint8)
            abi.check(abi.library().tercel_program_load(
                data.ctypes.data, data.size, options, ctypes.byref(self.address)))
        else:
            if not os.path.isfile(source):
                raise FileNotFoundError(f"{source}: no such file")
            abi.check(abi.library().tercel_program_open(
                os.fsencode(source), options, ctypes.byref(self.address)), os.fspath(source))
        info = self.describe(abi.ProgramInfo(), "describe")
        self.name, self.target = info.name.decode(), info.target.decode()
        self.globals = [self.value("global", i) for i in range(info.num_globals)]
        self.procedures = {}
        for number in range(info.num_procedures):
            signature = _Signature(self, number)
            self.procedures.setdefault(signature.name, []).append(signature)
        by_name = [[value.name, i] for i, value in enumerate(self.globals)]
        self.global_trees = dict(json.loads(info.tree) if info.tree else by_name)

    def describe(self, info, what, *numbers):
        function = getattr(abi.library(), f"tercel_program_{what}")
        abi.check(function(self.address, *numbers, ctypes.byref(info)))
        return info

    def value(self, what, *numbers):
        return _Value(self.describe(abi.ValueInfo(), what, *numbers))

    def __str__(self):
        procedures = [str(signature) for known in self.procedures.values() for signature in known]
        return "\n".join([f"program {self.name} for {self.target}", *procedures])

    def __del__(self):
        if getattr(self, "address", None):
            abi.library().tercel_program_destroy(self.address)


def _bind(where, names, args, kwargs):
    if len(args) > len(names):
        raise TypeError(f"{where} takes {len(names)} arguments but {len(args)} were given")
    given = dict(zip(names, args))
    for name, value in kwargs.items():
        if name not in names or name in given:
            raise TypeError(f"{where} got an unexpected argument {name!r}")
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise TypeError(f"{where}: missing a required argument: {missing[0]!r}")
    return given


def _array(leaf, value, place):
    """The leaf as an array that lies as the library wants it; Python's numbers take the type."""
    if isinstance(leaf, (bool, int, float, complex)):
        wanted = np.dtype(type(leaf)).kind
        if "biufc".find(value.dtype.kind) < "biufc".find(wanted) and value.dtype.kind != "V":
            raise ValueError(f"{place}: a Python {type(leaf).__name__} in place of {value}")
        leaf = np.asarray(leaf, value.dtype)
    array = np.asarray(leaf)
    if array.dtype != value.dtype:
        raise ValueError(f"{place}: {abi.type_text(array.shape, array.dtype)} in place of {value}")
    return np.ascontiguousarray(array).reshape(array.shape)


def _aligned(value):
    size = int(np.prod(value.shape, dtype=np.int64)) * value.dtype.itemsize
    memory = np.empty(size + abi.ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % abi.ALIGNMENT
    return memory[start:start + size].view(value.dtype).reshape(value.shape)


def _buffers(arrays):
    return (abi.Buffer * max(1, len(arrays)))(
        *(abi.Buffer(array.ctypes.data, array.nbytes) for array in arrays))


def _child(tree, key):
    if not isinstance(tree, dict):
        return None
    for kind in ("dict", "fields"):
        if kind in tree:
            return next((child for name, child in tree[kind] if str(name) == key), None)
    children = tree.get("list", tree.get("tuple"))
    return children[int(key)] if key.isdigit() and int(key) < len(children) else None


def _numbers(tree):
    if isinstance(tree, int):
        yield tree
    elif tree is not None:
        for kind, children in tree.items():
            if kind != "type":
                for child in children:
                    yield from _numbers(child[1] if kind in ("dict", "fields") else child)
