"""Where the shared library of the plugin lies."""

import os
import pathlib

NAME = "pjrt_plugin_tercel.so"


def library_path():
    """The plugin's path: PJRT_TERCEL_LIBRARY where set, else the one that came with this package.

    Raises FileNotFoundError, with what to do about it, where there is none.
    """
    chosen = os.environ.get("PJRT_TERCEL_LIBRARY")
    if chosen:
        if not os.path.isfile(chosen):
            raise FileNotFoundError(f"PJRT_TERCEL_LIBRARY names {chosen}, which is no file")
        return os.path.abspath(chosen)
    path = pathlib.Path(__file__).resolve().parent / "lib" / NAME
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing: in a checkout run ./dev build, else reinstall tercel, "
            "or set PJRT_TERCEL_LIBRARY to the library")
    return str(path)
