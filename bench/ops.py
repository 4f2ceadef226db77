"""Every StableHLO op in every type on both backends.

./dev bench --ops            all cases, the table to docs/ops.md
./dev bench --ops WORD...    cases whose name contains a word, printed
"""

import argparse
import json
import math
import os
import pathlib
import sys

import bench
import op_cases

TABLE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "ops.md"
TRAP = 0.5  # the least ratio that an op may have
DOUBTFUL = 0.7  # a neighbour on the machine may have made it


def measure(name, types, seconds):
    """Prints one JSON line a type: this runs in a process of its own."""
    import op_measure

    for dtype in types:
        answer = op_measure.measure(op_cases.CASES[name], dtype, seconds)
        print(json.dumps({"type": dtype, **answer}), flush=True)


def sweep(name, types, options):
    """Type by type the answer. What looks slow is measured again: the least times count, of all."""
    answers = attempt(name, types, options)
    for _ in range(2):
        slow = [t for t, a in answers.items() if (ratio(a) or 1) < DOUBTFUL]
        for dtype, again in (attempt(name, slow, options) if slow else {}).items():
            for backend in ("tercel", "cpu"):
                old, new = answers[dtype][backend], again.get(backend, {})
                old["run"] = min(old["run"], new.get("run", old["run"]))
    return answers


def attempt(name, types, options):
    """A type that kills the process is skipped, the rest is run again."""
    answers, left = {}, list(types)
    while left:
        output, error = bench.run_child(__file__, "--measure", name, ",".join(left),
                                        str(options.seconds), timeout=options.timeout)
        for line in output.splitlines():
            if line.startswith("{"):
                answer = json.loads(line)
                answers[answer.pop("type")] = answer
        left = [t for t in left if t not in answers]
        if left:
            answers[left.pop(0)] = {"error": error or "no answer"}
    return answers


def ratio(answer):
    if "error" in answer:
        return None
    return bench.ratio(answer["tercel"].get("run"), answer["cpu"].get("run"))


def refused(answer):
    """Why there is no ratio: who could not run it."""
    if "error" in answer:
        return "crash"
    if "error" in answer["tercel"]:
        return "-" if "error" in answer["cpu"] else "**no**"
    return "only" if "error" in answer["cpu"] else "?"


def cell(answer):
    value = ratio(answer)
    if value is None:
        return refused(answer)
    text = f"{value:.2f}" if value < 9.95 else f"{value:.0f}"
    marks = "!" if answer.get("difference", 0) > answer.get("tolerance", 0) else ""
    return (f"**{text}**" if value < TRAP else text) + marks


def table(results):
    """Ops by types, the op with the worst ratio first."""
    types = [t for t in op_cases.ALL if any(t in answers for answers in results.values())]
    ordered = sorted(results, key=lambda n: min((r for r in map(ratio, results[n].values()) if r),
                                                default=math.inf))
    lines = ["| op | " + " | ".join(types) + " |", "|---|" + "---|" * len(types)]
    for name in ordered:
        cells = [cell(results[name][t]) if t in results[name] else "" for t in types]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def slowest(results, count):
    """Name, type, both times in ms, ratio."""
    rows = [(ratio(a), name, dtype, a) for name, answers in results.items()
            for dtype, a in answers.items() if ratio(a)]
    rows.sort(key=lambda r: r[0])
    lines = ["| op | type | Tercel | XLA:CPU | ratio |", "|---|---|---|---|---|"]
    lines += [f"| {name} | {dtype} | {bench.milliseconds(a['tercel']['run'])} | "
              f"{bench.milliseconds(a['cpu']['run'])} | {value:.2f}x |"
              for value, name, dtype, a in rows[:count]]
    ratios = [r[0] for r in rows]
    below = sum(r < TRAP for r in ratios)
    return "\n".join(lines), (f"{len(ratios)} programs on both, geometric mean of the ratios "
                              f"{bench.mean(ratios):.2f}, {below} below {TRAP}.")


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")),
                 "an unknown processor")
    return f"{os.cpu_count()} processors, {model}"


def document(results):
    rows, total = slowest(results, 40)
    return f"""# Every operation in every type, beside XLA:CPU

Written by `./dev bench --ops` on {machine()}. The programs are in `bench/op_cases.py`,
one op each, mostly of a million elements. A number is XLA:CPU's time divided by Tercel's, the least of
runs that take turns in one process: above 1 Tercel is faster. `only`: Tercel alone runs the program;
`crash`: the process dies in XLA:CPU; `-`: both refuse it; `!`: the results differ by more than rounding.
That is so where the order of a reduction is left open and decides, as in sums of small floats and of
`odd` bodies, where XLA:CPU rounds twice (f64 to bf16) or takes four bits for eight (`popcnt` of s4,
f4E2M1FN to integers), and for the numbers of `rng`. An op below {TRAP} is a trap and is to be mended.

{total}

## The slowest

{rows}

## All

{table(results)}
"""


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench --ops", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--types", help="only these, by commas")
    parser.add_argument("--seconds", type=float, default=0.1, help="to run each, on each backend")
    parser.add_argument("--timeout", type=float, default=400, help="for all types of an op")
    parser.add_argument("--json", help="keep the measurements in this file")
    options = parser.parse_args(arguments)
    results = {}
    for name, entry in op_cases.CASES.items():
        if options.words and not any(w in name for w in options.words):
            continue
        types = [t for t in entry.types if not options.types or t in options.types.split(",")]
        results[name] = sweep(name, types, options)
        print(f"{name:32}", *(f"{t} {cell(a)}" for t, a in results[name].items()), flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(results), encoding="utf-8")
    print(slowest(results, 40)[0])
    if not options.words and not options.types:
        TABLE.write_text(document(results), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], sys.argv[3].split(","), float(sys.argv[4]))
    else:
        main(sys.argv[1:])
