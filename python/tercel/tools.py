"""The commands tercel-aot and tercel-run of an installed package."""

import os
import pathlib
import sys

from tercel.library import library_path


def aot():
    _become("tercel-aot")


def run():
    _become("tercel-run")


def _become(name):
    path = pathlib.Path(library_path()).resolve().parent / "aot" / name
    if not path.is_file():
        sys.exit(f"{name}: {path} is missing: reinstall tercel")
    os.execv(path, [name, *sys.argv[1:]])
