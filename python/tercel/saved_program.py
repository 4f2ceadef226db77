"""What there is in a saved program."""

import ctypes
import json
import os
import weakref

import numpy as np

from tercel import abi


class SavedProgram:
    def __init__(self, source, weights):
        self.address = ctypes.c_void_p()
        if weights is not None:
            _check_file(weights)
        options = ctypes.byref(abi.LoadOptions(weights_path=weights and os.fsencode(weights)))
        if isinstance(source, (bytes, bytearray, memoryview)):
            data = np.frombuffer(source, np.uint8)
            abi.check(abi.library().tercel_program_load(
                data.ctypes.data, data.size, options, ctypes.byref(self.address)))
        else:
            _check_file(source)
            abi.check(abi.library().tercel_program_open(
                os.fsencode(source), options, ctypes.byref(self.address)))
        weakref.finalize(self, abi.library().tercel_program_destroy, self.address)
        info = self.describe(abi.ProgramInfo(), "describe")
        self.name, self.target = info.name.decode(), info.target.decode()
        self.num_threads = info.num_threads
        self.globals = [self.value("global", i) for i in range(info.num_globals)]
        self.procedures = {}
        for number in range(info.num_procedures):
            signature = Signature(self, number)
            self.procedures.setdefault(signature.name, []).append(signature)
        by_name = [[value.name, i] for i, value in enumerate(self.globals)]
        self.global_trees = dict(json.loads(info.tree) if info.tree else by_name)

    def describe(self, info, what, *numbers):
        function = getattr(abi.library(), f"tercel_program_{what}")
        abi.check(function(self.address, *numbers, ctypes.byref(info)))
        return info

    def value(self, what, *numbers):
        return Value(self.describe(abi.ValueInfo(), what, *numbers))

    def __str__(self):
        procedures = [str(signature) for known in self.procedures.values() for signature in known]
        return "\n".join([f"program {self.name} for {self.target}", *procedures])


def _check_file(path):
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: no such file")


class Signature:
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


class Value:
    """An argument, a result or a global."""

    def __init__(self, info):
        self.name = info.name.decode()
        self.shape = tuple(info.dims[:info.rank])
        self.dtype = abi.dtype(info.dtype)
        self.bytes = info.bytes
        self.is_mutable = bool(info.is_mutable)

    def __str__(self):
        return abi.type_text(self.shape, self.dtype)
