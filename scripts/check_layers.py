#!/usr/bin/env python3
"""Fails on an #include that the layering does not allow; warns about files that grew too long.

The table is ARCHITECTURE.md's picture of the tree. A folder may always include itself.
"""

import pathlib
import re
import sys

ALLOWED = {
    "core": [],
    "program": ["core"],
    "compiler/ir": ["core"],
    "compiler/stablehlo": ["core", "compiler/ir", "compiler/eval"],
    "compiler/eval": ["core", "compiler/ir"],
    "compiler/passes": ["core", "compiler/ir", "compiler/eval"],
    "compiler/kernel": ["core", "compiler/ir", "compiler/eval"],
    "compiler/plan": ["core", "program", "compiler/ir", "compiler/passes", "compiler/kernel"],
    "compiler/codegen": ["core", "compiler/kernel"],
    "compiler": ["core", "program", "compiler/ir", "compiler/stablehlo", "compiler/passes",
                 "compiler/kernel", "compiler/plan", "compiler/codegen"],
    "runtime/kernels": ["core"],
    "runtime/linalg": ["core", "program", "runtime/kernels"],
    "runtime/engine": ["core", "program", "runtime/kernels", "runtime/linalg"],
    "runtime/ffi": ["core", "program", "runtime/engine"],
    "runtime": ["core", "program", "runtime/engine", "runtime/ffi", "runtime/kernels"],
    "runtime/library": ["core", "program", "runtime/engine", "runtime/kernels", "runtime/linalg"],
    "aot": ["core", "program", "compiler", "compiler/ir", "compiler/codegen", "runtime/engine",
            "runtime/kernels", "runtime/linalg"],
    "pjrt": ["core", "program", "compiler", "compiler/ir", "compiler/stablehlo", "compiler/eval",
             "runtime", "runtime/engine", "runtime/ffi", "runtime/linalg"],
    "tools": ["core", "program", "compiler", "compiler/ir", "compiler/stablehlo",
              "compiler/eval", "compiler/passes", "compiler/plan", "compiler/kernel",
              "runtime", "runtime/engine"],
}
LLVM_MAY = "compiler/codegen"
LINKER = "tools/ld.cc"  # a program of its own
LONG_FILE = 400
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def folder_of(path):
    """The row of the table that a path under src/ belongs to: the deepest that contains it."""
    parts = path.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        name = "/".join(parts[:length])
        if name in ALLOWED:
            return name
    return None


def check_file(source, relative):
    """The complaints about one file."""
    folder = folder_of(relative)
    if folder is None:
        return [f"src/{relative}: its folder has no row in scripts/check_layers.py"]
    wrong = []
    for number, line in enumerate(source.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, included = match.group(1) == '"', match.group(2)
        where = f"src/{relative}:{number}"
        if included.startswith(("llvm/", "llvm-c/")):
            if folder != LLVM_MAY and relative != LINKER:
                wrong.append(f"{where}: only {LLVM_MAY} may include LLVM ({included})")
        elif quoted:
            target = folder_of(included)
            if target is None:
                wrong.append(f"{where}: write the path from src/: {included}")
            elif target != folder and target not in ALLOWED[folder]:
                wrong.append(f"{where}: {folder} may not include {target} ({included})")
    return wrong


def main():
    src = pathlib.Path(__file__).resolve().parent.parent / "src"
    files = sorted(p for p in src.rglob("*") if p.suffix in (".h", ".cc", ".def", ".inc"))
    wrong, includes = [], 0
    for path in files:
        source = path.read_text()
        relative = path.relative_to(src).as_posix()
        wrong += check_file(source, relative)
        includes += source.count("#include")
        lines = source.count("\n")
        if lines > LONG_FILE:
            print(f"note: src/{relative} has {lines} lines (mostly under {LONG_FILE} is the aim)")
    print("\n".join(wrong) if wrong else
          f"layers: {len(files)} files, {includes} includes, all within the table")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
