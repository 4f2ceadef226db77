"""Runs pypjrt's conformance checks twice: as they are, and with their program as a StableHLO portable
artifact, which is the form that JAX sends. Fails on any failed check; in the second run compiling
and executing must pass.

    conform.py path/to/pjrt_plugin_tercel.so [-v]
"""

import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from pypjrt import conform
from pypjrt._loader import Plugin

MUST_PASS = ("compile.stablehlo_text", "compile.num_outputs", "execute.single_device",
             "execute.device_complete_events")


def artifact(text):
    with mlir.make_ir_context():
        return stablehlo.serialize_portable_artifact(ir.Module.parse(text), "1.17.0")


def run(must_pass):
    report = conform.run(Plugin(sys.argv[1]))
    print(conform.render(report, verbose="-v" in sys.argv))
    wrong = [c.id for c in report.checks if c.result is conform.Result.FAIL]
    wrong += [c.id for c in report.checks
              if c.id in must_pass and c.result is not conform.Result.PASS]
    return wrong


def main():
    wrong = run(())
    conform.ADD_MLIR = artifact(conform.ADD_MLIR)
    wrong += run(MUST_PASS)
    print("wrong:", ", ".join(wrong) or "nothing")
    return 1 if wrong else 0


sys.exit(main())
