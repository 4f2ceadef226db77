"""Trains the network on Tercel and, turn by turn, on JAX's own CPU backend, then compares them.

Each backend has a process of its own, so that its peak memory is its own; they never run at once.
"""

import argparse
import json
import os
import subprocess
import sys

TARGET = 0.97
NAMES = {"tercel": "Tercel", "cpu": "XLA:CPU"}


class Worker:
    """One backend's process."""

    def __init__(self, platform):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tercel.demo.worker"], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "JAX_PLATFORMS": platform})
        self.name = NAMES[platform]
        self.epochs = []
        self.to_target = None
        self.total = 0.0

    def ask(self, request):
        try:
            self.process.stdin.write(request + "\n")
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            sys.exit(f"demo: {self.name} failed at '{request}'; its message is above")
        return json.loads(answer)

    def compile(self):
        self.compiled = self.ask("compile")
        self.total = self.compiled["seconds"]

    def epoch(self):
        result = self.ask("epoch")
        self.epochs.append(result)
        self.total += result["seconds"]
        if self.to_target is None and result["accuracy"] >= TARGET:
            self.to_target = self.total
        return result


def table(workers):
    """Markdown rows: what, each worker's figure, the ratio of the second to the first."""
    finals = [w.ask("stop") for w in workers]
    rows = [
        ("compile the training step", "ms", [w.compiled["step_compile"] * 1e3 for w in workers]),
        ("one training step, best epoch", "ms",
         [min(e["step"] for e in w.epochs) * 1e3 for w in workers]),
        (f"to {TARGET:.0%} test accuracy, compilation and all", "s",
         [w.to_target for w in workers]),
        ("to the trained model", "s", [w.total for w in workers]),
        ("peak memory of the process", "MB", [f["peak"] / 1e6 for f in finals]),
        ("peak memory above idle JAX", "MB", [(f["peak"] - f["idle"]) / 1e6 for f in finals]),
        ("test accuracy", "%", [w.epochs[-1]["accuracy"] * 100 for w in workers]),
    ]
    lines = ["| | " + " | ".join(w.name for w in workers) + " | ratio |",
             "|---|" + "---|" * (len(workers) + 1)]
    for what, unit, figures in rows:
        shown = ["never" if f is None else f"{f:.2f} {unit}" for f in figures]
        ratio = ""
        if len(figures) == 2 and None not in figures and unit != "%" and figures[0] > 0:
            ratio = f"{figures[1] / figures[0]:.2f}x"
        lines.append(f"| {what} | " + " | ".join(shown) + f" | {ratio} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--only", choices=NAMES, help="train on one backend only")
    options = parser.parse_args()
    workers = [Worker(p) for p in ([options.only] if options.only else NAMES)]
    print("A convolutional network learns 1,437 handwritten digits; 360 others test it.")
    for worker in workers:
        worker.compile()
        print(f"{worker.name:8} compiled the training step in "
              f"{worker.compiled['step_compile'] * 1e3:.0f} ms", flush=True)
    for number in range(1, options.epochs + 1):
        for worker in workers:
            result = worker.epoch()
            print(f"epoch {number:2} {worker.name:8} loss {result['loss']:.4f}  test accuracy "
                  f"{result['accuracy']:.2%}  {result['step'] * 1e3:.2f} ms a step", flush=True)
    reached = workers[0].epochs[-1]["accuracy"]
    print("\n" + table(workers))
    if reached < TARGET:
        sys.exit(f"demo: {workers[0].name} reached only {reached:.2%}")


if __name__ == "__main__":
    main()
