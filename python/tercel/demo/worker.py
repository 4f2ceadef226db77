"""Trains in a process of its own, one request at a time: python -m tercel.demo.worker.

Requests are words on stdin (compile, epoch, stop), answers are JSON lines on stdout.
"""

import json
import resource
import sys
import time

import jax
import numpy as np

from tercel.demo import digits


class Training:
    """The state between requests."""

    def __init__(self, seed=0):
        self.data = digits.load_digits()
        self.order = np.random.default_rng(seed)
        jax.block_until_ready(jax.device_put(np.zeros(1)))
        self.idle = peak_bytes()

    def compile(self, seed=0):
        train_x, train_y, test_x, test_y = self.data
        begin = time.perf_counter()
        self.params, self.state = jax.block_until_ready(jax.jit(
            digits.start, static_argnums=0)(seed))
        images, labels = train_x[:digits.BATCH], train_y[:digits.BATCH]
        lowered = jax.jit(digits.train_step, donate_argnums=(0, 1)).lower(
            self.params, self.state, images, labels)
        lowered_correct = jax.jit(digits.correct).lower(self.params, test_x, test_y)
        middle = time.perf_counter()
        self.step = lowered.compile()
        end = time.perf_counter()
        self.correct = lowered_correct.compile()
        done = time.perf_counter()
        return {"step_compile": end - middle, "seconds": done - begin}

    def epoch(self):
        train_x, train_y, test_x, test_y = self.data
        order = self.order.permutation(len(train_y))
        steps = len(order) // digits.BATCH
        losses = []
        begin = time.perf_counter()
        for i in range(steps):
            batch = order[i * digits.BATCH:(i + 1) * digits.BATCH]
            self.params, self.state, loss = self.step(
                self.params, self.state, train_x[batch], train_y[batch])
            losses.append(loss)
        mean = float(np.mean([np.asarray(loss) for loss in losses]))
        seconds = time.perf_counter() - begin
        right = int(self.correct(self.params, test_x, test_y))
        return {"loss": mean, "accuracy": right / len(test_y), "steps": steps,
                "step": seconds / steps, "seconds": time.perf_counter() - begin}

    def stop(self):
        return {"peak": peak_bytes(), "idle": self.idle}


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    training = Training()
    requests = {"compile": training.compile, "epoch": training.epoch, "stop": training.stop}
    for line in sys.stdin:
        print(json.dumps(requests[line.strip()]()), flush=True)
        if line.strip() == "stop":
            return


if __name__ == "__main__":
    main()
