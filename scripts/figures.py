#!/usr/bin/env python3
"""Puts the table that ./dev bench printed into README.md: ./dev bench > t.md; figures.py t.md NOTE."""

import pathlib
import re
import sys

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"
START, END = "<!-- figures -->", "<!-- /figures -->"


def main():
    table = [line for line in pathlib.Path(sys.argv[1]).read_text().splitlines()
             if line.startswith("|")]
    note = " ".join(sys.argv[2:])
    text = "\n".join([START, "", note, "", *table, "", END])
    readme = README.read_text()
    pattern = re.escape(START) + r"(.*?" + re.escape(END) + ")?"
    README.write_text(re.sub(pattern, lambda _: text, readme, count=1, flags=re.S))


if __name__ == "__main__":
    main()
