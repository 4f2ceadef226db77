#!/usr/bin/env python3
"""Prints what XLA:CPU makes of one StableHLO op: the source of the facts in this folder's tests.

    xla_facts.py 'stablehlo.divide' 's32[2] (7, -7)' 's32[2] (0, 0)'
    xla_facts.py 'stablehlo.convert' 'f32[3] (nan, 300.7, -1e20)' --to 's8[3]'
    xla_facts.py 'stablehlo.rng_bit_generator' 'u64[2] (1, 2)' --to 'u64[2]' 'u32[3]' \\
        --attrs 'rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>'

Arguments and results are in the text form of src/compiler/ir/text.h; --attrs and --regions are
MLIR's. Needs jax.
"""

import argparse
import re

import jax
import ml_dtypes
import numpy as np
from jax._src import compiler, xla_bridge
from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jax._src.lib.mlir import ir

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)

# Our name, MLIR's name, NumPy's type.
DTYPES = [
    ("pred", "i1", np.bool_),
    ("f16", "f16", np.float16),
    ("bf16", "bf16", ml_dtypes.bfloat16),
    ("f32", "f32", np.float32),
    ("f64", "f64", np.float64),
    ("c64", "complex<f32>", np.complex64),
    ("c128", "complex<f64>", np.complex128),
]
for bits in (8, 16, 32, 64):
    DTYPES.append((f"s{bits}", f"i{bits}", np.dtype(f"int{bits}").type))
    DTYPES.append((f"u{bits}", f"ui{bits}", np.dtype(f"uint{bits}").type))
MLIR_OF = {ours: theirs for ours, theirs, _ in DTYPES}
NUMPY_OF = {ours: np.dtype(dtype) for ours, _, dtype in DTYPES}
OURS_OF = {np.dtype(dtype): ours for ours, _, dtype in DTYPES}


def parse_type(text):
    dtype, dims = re.fullmatch(r"(\w+)\[([\d,]*)\]", text).groups()
    return dtype, tuple(int(d) for d in dims.split(",") if d)


def parse_literal(text):
    type_text, numbers = re.fullmatch(r"(\S+) \((.*)\)", text, re.DOTALL).groups()
    dtype, dims = parse_type(type_text)
    if dtype.startswith("c"):
        pairs = re.findall(r"\(([^,]+), ([^)]+)\)", numbers)
        values = [complex(float(re_part), float(im_part)) for re_part, im_part in pairs]
    elif dtype == "pred":
        values = [word == "true" for word in numbers.split(", ")]
    else:
        number = int if dtype[0] in "su" else float
        values = [number(word) for word in numbers.split(", ") if word]
    return np.array(values, NUMPY_OF[dtype]).reshape(dims)


def print_literal(array):
    def element(x):
        if array.dtype == np.bool_:
            return "true" if x else "false"
        if array.dtype.kind == "c":
            return f"({element_real(x.real)}, {element_real(x.imag)})"
        return str(int(x)) if array.dtype.kind in "iu" else element_real(x)

    def element_real(x):
        return str(x).removesuffix(".0")

    dims = ",".join(map(str, array.shape))
    numbers = ", ".join(element(x) for x in array.reshape(-1))
    return f"{OURS_OF[array.dtype]}[{dims}] ({numbers})"


def mlir_type(dtype, dims):
    return f"tensor<{''.join(f'{d}x' for d in dims)}{MLIR_OF[dtype]}>"


def module_text(op, arg_types, result_types, attrs, regions):
    args = ", ".join(f"%a{i}: {t}" for i, t in enumerate(arg_types))
    names = ", ".join(f"%a{i}" for i in range(len(arg_types)))
    results = ", ".join(f"%r#{i}" for i in range(len(result_types)))
    types = ", ".join(result_types)
    return f"""module @fact {{
      func.func public @main({args}) -> ({types}) {{
        %r:{len(result_types)} = "{op}"({names}) {f"({regions})" if regions else ""} {{{attrs}}}
          : ({", ".join(arg_types)}) -> ({types})
        return {results} : {types}
      }}
    }}"""


def run(text, args):
    backend = xla_bridge.get_backend("cpu")
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        devices = _jax.DeviceList(tuple(backend.local_devices()[:1]))
        options = compiler.get_compile_options(1, 1)
        program = compiler.backend_compile_and_load(backend, module, devices, options, [])
    return [np.asarray(x) for x in program.execute([jax.device_put(x) for x in args])]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("op")
    parser.add_argument("args", nargs="*")
    parser.add_argument("--to", nargs="+", help="result types, if not the first argument's")
    parser.add_argument("--attrs", default="")
    parser.add_argument("--regions", default="")
    options = parser.parse_args()
    args = [parse_literal(text) for text in options.args]
    types = [mlir_type(OURS_OF[x.dtype], x.shape) for x in args]
    to = [mlir_type(*parse_type(text)) for text in options.to] if options.to else types[:1]
    for result in run(module_text(options.op, types, to, options.attrs, options.regions), args):
        print(print_literal(result))


if __name__ == "__main__":
    main()
