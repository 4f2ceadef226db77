"""What there is in a program: Program.get_info."""

import dataclasses

import jax
import numpy as np

from tercel.aot import types


@dataclasses.dataclass(frozen=True)
class ValueInfo:
    name: str  # its place in the tree, as params.dense.kernel
    shape: tuple
    dtype: np.dtype

    def __str__(self):
        return f"{self.name}: {types.text(self)}"


@dataclasses.dataclass(frozen=True)
class GlobalInfo(ValueInfo):
    initialized: bool
    mutable: bool
    aliases: tuple

    def __str__(self):
        notes = ["" if self.initialized else "not initialized", "" if self.mutable else "constant",
                 f"also {', '.join(self.aliases)}" if self.aliases else ""]
        notes = "; ".join(filter(None, notes))
        return super().__str__() + (f"  ({notes})" if notes else "")


@dataclasses.dataclass(frozen=True)
class ProcedureInfo:
    name: str
    signature: str  # tells apart those of one name, as batch8
    arguments: tuple
    results: tuple
    uses: tuple  # names of globals
    stores: tuple

    def __str__(self):
        title = f"{self.name}({', '.join(map(str, self.arguments))})"
        title += f" -> ({', '.join(map(str, self.results))})"
        return title + (f"  [{self.signature}]" if self.signature else "")


@dataclasses.dataclass(frozen=True)
class ProgramInfo:
    name: str
    globals: tuple
    procedures: tuple

    def __str__(self):
        lines = [f"program {self.name}", "globals:", *(f"  {known}" for known in self.globals),
                 "procedures:", *(f"  {known}" for known in self.procedures)]
        return "\n".join(lines)


def describe(declaration, traces):
    return ProgramInfo(
        declaration.name,
        tuple(GlobalInfo(known.name, known.type.shape, known.type.dtype,
                         known.initial is not None, known.mutable, tuple(known.aliases))
              for known in declaration.globals),
        tuple(_procedure(declaration, trace) for trace in traces))


def result_names(trace):
    """Places in the tree of results, told apart from the arguments'."""
    taken = set(trace.procedure.names)
    names = []
    for path, _ in jax.tree_util.tree_flatten_with_path(trace.results)[0]:
        name = types.place("", path)
        if not name or name[0].isdigit() or name in taken:
            name = types.place("result", path)
        names.append(name)
    return names


def _procedure(declaration, trace):
    names = [known.name for known in declaration.globals]
    arguments = zip(trace.procedure.names, trace.signature.types)
    results = zip(result_names(trace), jax.tree.leaves(trace.results))
    return ProcedureInfo(
        trace.procedure.name, trace.signature.text,
        tuple(ValueInfo(name, kind.shape, kind.dtype) for name, kind in arguments),
        tuple(ValueInfo(name, kind.shape, kind.dtype) for name, kind in results),
        tuple(names[i] for i in trace.used), tuple(names[i] for i in trace.stored))
