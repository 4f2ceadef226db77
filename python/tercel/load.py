"""Runs saved programs with NumPy alone: no JAX, no compiler."""

import collections.abc
import ctypes
import os
import threading
import weakref

from tercel import abi, trees
from tercel.custom_calls import CustomCalls
from tercel.saved_procedure import Procedure, aligned, as_array, dense, refuse
from tercel.saved_program import SavedProgram


def load(source, *, weights=None, num_threads=None, custom_calls=None):
    """An instance of the program in a file that Artifact.save wrote, or in its bytes.

    Its procedures are its methods, with the trees of arguments and results that they have in
    JAX; `weights` is the side file, where there is one. It has as many threads, the caller's
    included, as it was saved with, or `num_threads`. What the program calls by jax.ffi, and its
    callbacks, are looked up in `custom_calls`: name -> function(configuration, *operands). The
    file holds native code: load only what you trust.

    FileNotFoundError: there is no such file; ValueError: what is in it is no program, or of another
    version of Tercel, or `num_threads` is not 1 to 1024; RuntimeError: it is damaged, or for other
    CPUs.
    """
    return Instance(SavedProgram(source, weights), num_threads, custom_calls or {})


class Instance:
    """A program with a state of its own."""

    def __init__(self, program, num_threads, custom_calls):
        self.num_threads = num_threads or program.num_threads
        self._options = num_threads, custom_calls
        self._handle = _Handle(program, self.num_threads, custom_calls)
        self.globals = Globals(self._handle)
        self.procedures = {name: Procedure(self._handle, signatures)
                           for name, signatures in program.procedures.items()}
        for name, procedure in self.procedures.items():
            if name not in dir(type(self)):
                self.__dict__.setdefault(name, procedure)

    def __getattr__(self, name):
        if "_handle" not in self.__dict__:
            raise AttributeError(name)
        program = self._handle.program
        raise AttributeError(f"{program.name} has no procedure {name}: there are "
                             f"{', '.join(program.procedures)}")

    def __repr__(self):
        threads = "1 thread" if self.num_threads == 1 else f"{self.num_threads} threads"
        return f"<an instance with {threads} of {self._handle.program}>"

    def new_instance(self):
        """Another instance of the program, in its first state."""
        return Instance(self._handle.program, *self._options)

    def __copy__(self):
        """Another one, in the state that this one is in."""
        made = self.new_instance()
        for value in self._handle.program.globals:
            if value.is_mutable:
                made.globals[value.name] = self.globals[value.name]
        return made

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        raise TypeError(f"an instance of {self._handle.program.name} cannot be pickled: load the "
                        "program again, and keep its state by save_state")

    def save_state(self, path):
        """Writes the values of all mutable globals to a file."""
        self._handle.call("save_state", os.fsencode(path))

    def load_state(self, path):
        """Takes them from a file that an instance of the same program wrote.

        ValueError: of another program, whose mutable globals have other names, shapes or dtypes;
        LookupError: no such file; RuntimeError: a damaged one. Then nothing is changed.
        """
        self._handle.call("load_state", os.fsencode(path))


class _Handle:
    """The library's instance, which an Instance shares with its procedures and its globals: none of
    them is in a cycle of references, so that it goes with the last of them.

    `with handle:` is for one thread at a time; another one waits.
    """

    def __init__(self, program, num_threads, custom_calls):
        self.program = program
        self.address = ctypes.c_void_p()
        self._custom_calls = CustomCalls(custom_calls)
        self._lock = threading.RLock()
        self._is_busy = False
        options = abi.InstanceOptions(num_threads=abi.int32(num_threads, "num_threads"))
        if self._custom_calls.function:
            options.custom_call = self._custom_calls.function
        abi.check(abi.library().tercel_instance_create(
            program.address, ctypes.byref(options), ctypes.byref(self.address)), program.name)
        weakref.finalize(self, abi.library().tercel_instance_destroy, self.address)

    def __enter__(self):
        self._lock.acquire()
        if self._is_busy:
            self._lock.release()
            raise RuntimeError(f"{self.program.name}: a custom call of an instance cannot use the "
                               "instance: it is in a call")
        self._is_busy = True
        return self

    def __exit__(self, *error):
        self._is_busy = False
        self._lock.release()

    def call(self, function, *arguments, where=None):
        with self:
            self.check(getattr(abi.library(), f"tercel_instance_{function}")(
                self.address, *arguments), where)

    def check(self, code, where=None):
        if code:
            self._custom_calls.raise_error()
            abi.check(code, where or self.program.name)


class Globals(collections.abc.Mapping):
    """The state of an instance by name: globals["params"] is a tree, globals["params.w"] a part of
    it. Reading copies; assigning stores a tree."""

    def __init__(self, handle):
        self._handle = handle
        self._program = handle.program

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
        """Stores a tree nested as the global, with leaves of its shapes and dtypes, which are not
        converted; numbers of Python's take the dtype of a scalar.

        KeyError: no such global; TypeError: another nesting; ValueError: a shape or dtype;
        OverflowError: a number out of the dtype's range; RuntimeError: a global that is not
        mutable.
        """
        program = self._program.name
        tree, leaves = self._find(name), [None] * len(self._program.globals)
        trees.Reader(tree, program, name)(new, leaves)
        numbers = list(_numbers(tree))
        for number in numbers:
            value = self._program.globals[number]
            leaves[number] = leaf = dense(as_array(leaves[number], value, program))
            if leaf.shape != value.shape:
                refuse(leaf, value, program)
        for number in numbers:
            leaf = leaves[number]
            self._handle.call("set_global", number, leaf.ctypes.data, leaf.nbytes)

    def _get(self, number, value):
        array = aligned(value)
        self._handle.call("get_global", number, array.ctypes.data, array.nbytes)
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
