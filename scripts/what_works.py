#!/usr/bin/env python3
"""Writes README.md's table of what works from the tests and tables that hold it; with --check it
fails where README.md is not what it would write.
"""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
START, END = "<!-- what works -->", "<!-- /what works -->"


def subject(path):
    """What a file of tests says it is about."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return ast.get_docstring(tree).split("\n")[0].rstrip(".")


def rows(path, pattern):
    """The first groups of the lines of a .def file that match."""
    return re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"), re.M)


def op_names(names):
    return sorted({re.sub(r"_v\d+$", "", name) for name in names})


def operations():
    path = "src/compiler/stablehlo/op_map.def"
    every = op_names(rows(path, r'^WIRE_\w+\(vhlo, "(\w+)"'))
    read = op_names(rows(path, r'^WIRE_(?!REFUSED)\w+\(vhlo, "(\w+)"'))
    refused = [name for name in every if name not in read]
    return (f"{len(every) - len(refused)} of StableHLO's {len(every)}; refused by name are "
            + ", ".join(f"`{name}`" for name in refused))


def types():
    names = rows("src/core/dtypes.def", r'^(?:SMALL_)?DTYPE\(\w+, "(\w+)"')
    return ", ".join(f"`{name}`" for name in names)


def libraries():
    path = ROOT / "tests/ecosystem/programs.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = sorted({alias.name.split(".")[0] for node in ast.walk(tree)
                      if isinstance(node, ast.Import) for alias in node.names}
                     - {"jax", "numpy"})
    return ", ".join(modules)


def table():
    lines = ["| | what works | shown by |", "|---|---|---|",
             f"| operations | {operations()} | `docs/ops.md`: each in every type |",
             f"| types | {types()} | `tests/python/test_small_types.py` and all others |",
             "| JAX's own tests | all that XLA:CPU passes, but those that "
             "`tests/jax_suite/expected.json` lists with their reasons | `./dev jax-tests` |",
             f"| libraries | programs that use {libraries()} | `./dev ecosystem` |"]
    for path in sorted((ROOT / "tests/python").glob("test_*.py")):
        name = path.stem.removeprefix("test_").replace("_", " ")
        lines.append(f"| {name} | {subject(path)} | `tests/python/{path.name}` |")
    return "\n".join(lines)


def main():
    readme = README.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(START) + ".*?" + re.escape(END), re.S)
    if not pattern.search(readme):
        sys.exit(f"README.md has no {START}")
    current = pattern.sub(lambda _: f"{START}\n\n{table()}\n\n{END}", readme)
    if "--check" not in sys.argv[1:]:
        README.write_text(current, encoding="utf-8")
    elif current != readme:
        sys.exit("README.md is not current: run scripts/what_works.py")


if __name__ == "__main__":
    main()
