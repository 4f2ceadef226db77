"""The StableHLO of a program: Program.get_mlir_module."""

import collections.abc

from tercel.aot.info import describe


class Modules(collections.abc.Mapping):
    """Name of a procedure, with its signature's where it has several (predict_batch8) -> text.

    Each module's main takes the globals that the procedure uses, then its arguments, and gives its
    results, then the new values of the globals that it stores.
    """

    def __init__(self, declaration, traces):
        infos = describe(declaration, traces).procedures
        self._modules = {"_".join(filter(None, (info.name, info.signature))): (trace, info)
                         for trace, info in zip(traces, infos)}

    def __getitem__(self, name):
        return self._modules[name][0].stablehlo()

    def __iter__(self):
        return iter(self._modules)

    def __len__(self):
        return len(self._modules)

    def __str__(self):
        parts = []
        for name, (_, info) in self._modules.items():
            parts.append(f"// {info}\n// uses {', '.join(info.uses) or 'no globals'}\n"
                         f"// stores {', '.join(info.stores) or 'none'}\n{self[name]}")
        return "\n".join(parts)
