"""The base class of programs."""

import abc
import functools
import inspect

import jax

from tercel.aot import types
from tercel.aot.artifact import Artifact
from tercel.aot.declaration import Declaration
from tercel.aot.info import describe
from tercel.aot.modules import Modules
from tercel.aot.procedure import POSITIONAL, Procedure
from tercel.aot.traced import Traced
from tercel.aot.values import InstanceValues, current, tracing


class _ProgramType(abc.ABCMeta):
    """Of classes that are read once: what they have is not changed any more."""

    def __setattr__(cls, name, value):
        if "_tercel" in vars(cls) and not name.startswith(("__", "_abc_")):
            raise AttributeError(f"{cls.__name__}.{name}: the class of a program stays as it is: "
                                 "give an instance another value, or make a class that inherits")
        super().__setattr__(name, value)


class Program(metaclass=_ProgramType):
    """A JAX program with a state.

    Arrays, and trees of them, that the body of a subclass names are its globals; its functions are
    procedures, with the signatures that their defaults say. Names with an underscore in front
    are private: such functions are no procedures. An instance runs in this process, on JAX's
    default backend; its class or an instance may be taken out of Python.
    """

    def __init_subclass__(cls, export_name=None, **options):
        super().__init_subclass__(**options)
        bases = [base for base in cls.__mro__ if base not in (Program, object)]
        cls._tercel = Declaration(cls, bases, export_name)

    def __new__(cls, *args, **kwargs):
        if cls is Program:
            raise TypeError("Program is a base class: make a subclass, with procedures")
        made = super().__new__(cls)
        object.__setattr__(made, "_tercel_values", InstanceValues.first(cls._tercel))
        return made

    def __init__(self):
        """A subclass may have one of its own, which assigns globals."""

    def __setattr__(self, name, value):
        if name not in self._tercel.attributes:
            raise AttributeError(
                f"{self._tercel_values.where}: {name} is no global: give {type(self).__name__} an "
                f"array or a tree of arrays of that name")
        super().__setattr__(name, value)

    def __copy__(self):
        values = self._tercel_values
        if not isinstance(values, InstanceValues):
            raise TypeError(f"{values.where}: a program cannot be copied in a procedure")
        made = object.__new__(type(self))
        vars(made).update(vars(self), _tercel_values=values.copy())
        return made

    def __deepcopy__(self, memo):
        return self.__copy__()

    def _tercel_call(self, procedure, args, kwargs):
        where = f"{type(self).__name__}.{procedure.name}"
        values = self._tercel_values
        if not isinstance(values, InstanceValues):
            return procedure.call(self, procedure.bind(where, args, kwargs))
        signature, leaves = procedure.flatten(where, args, kwargs)
        return traced(self._tercel, procedure, signature).call(values, leaves)

    like = staticmethod(types.like)

    @staticmethod
    def export_global(tree, initialize=True, mutable=True):
        """A tree of globals. `initialize=False` takes the shapes only, and types will do; what
        is not mutable is a constant that no procedure stores into."""
        return types.ExportedGlobal(tree, initialize, mutable)

    @staticmethod
    def kernel(function=None, **options):
        """Of a function in the body of a class: one without self, compiled by jax.jit."""
        if function is None:
            return functools.partial(Program.kernel, **options)
        return staticmethod(jax.jit(function, **options))

    @staticmethod
    def store_global(target, tree):
        """In a procedure: stores a tree in place of `target`, self._params or a part of it."""
        if current() is None:
            raise TypeError("store_global is for procedures; of an instance, assign the attribute")
        current().store_part(target, tree)

    @staticmethod
    def get_info(program):
        """The procedures and globals of a class or an instance; prints as a table."""
        return describe(*_all_traced(program))

    @staticmethod
    def get_mlir_module(program):
        """StableHLO: one module for each signature of each procedure; prints as text."""
        return Modules(*_all_traced(program))

    @staticmethod
    def get_compiled_artifact(program, targets="native", state=False, optimization_level=2,
                              num_threads=1):
        """The program, compiled for `targets`: "native", "aarch64" (64-bit Arm under Linux), or a
        list as "aarch64,x86-64-v2,x86-64-v4", of which a machine takes the highest that it can run.
        New instances start with what the class says, or, with `state`, with what this instance
        has. `optimization_level`: 0 to 3. `num_threads`: of the instances that are created without
        a wish of their own, the caller's thread included.

        TypeError: no class of programs, or no instance where `state` is asked for; ValueError: no
        procedures, an unknown target, or a number out of range; NotImplementedError: what cannot
        leave Python. What JAX raises when it traces a procedure is raised here.
        """
        values = None
        if state:
            if not isinstance(program, Program):
                raise TypeError("get_compiled_artifact: a class has no state: give an instance")
            values = program._tercel_values
        return Artifact(*_all_traced(program), targets=targets,
                        optimization_level=optimization_level, num_threads=num_threads,
                        values=values)


def compile(function, *example_args, name=None, targets="native", optimization_level=2,
            num_threads=1):
    """The artifact of a plain function: a Program whose one procedure has the function's name.

    The arguments say what the procedure's are like; Program.like(x, "batch, ...", batch=(1, 8))
    gives it several signatures. They are arrays, numbers and trees of these; a call takes the same
    shapes and dtypes. It raises what Program.get_compiled_artifact does.
    """
    plain = getattr(function, "__name__", "")
    name = name or (plain if plain.isidentifier() else "function")
    parameters = [inspect.Parameter(known, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                    default=types.like(example))
                  for known, example in zip(_parameter_names(function, len(example_args)),
                                            example_args)]

    def call(_self, *arguments):
        try:
            return function(*arguments)
        except ValueError as error:
            if "static arguments" not in str(error):
                raise
            raise TypeError(f"{name}: an example for a static argument of a jitted function: give "
                            "the argument by functools.partial") from error

    procedure = Procedure(name, name, call, parameters)
    program = type(name, (Program,), {name: procedure}, export_name=name)
    return Program.get_compiled_artifact(
        program, targets, optimization_level=optimization_level, num_threads=num_threads)


def traced(declaration, procedure, signature):
    key = procedure.name, signature.text
    if key not in declaration.traces:
        declaration.traces[key] = Traced(declaration, procedure, signature)
    return declaration.traces[key]


def _all_traced(program):
    cls = type(program) if isinstance(program, Program) else program
    if not (isinstance(cls, type) and issubclass(cls, Program) and cls is not Program):
        raise TypeError(f"{program!r} is neither a Program nor a class of programs")
    declaration = cls._tercel
    return declaration, [traced(declaration, procedure, signature)
                         for procedure in declaration.procedures.values()
                         for signature in procedure.signatures]


def _parameter_names(function, count):
    try:
        names = [name for name, parameter in inspect.signature(function).parameters.items()
                 if parameter.kind in POSITIONAL][:count]
    except (TypeError, ValueError):  # functions of C have none
        names = []
    return names + [f"argument{i}" for i in range(len(names), count)]
