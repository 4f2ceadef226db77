"""Takes a network and its training step out of Python: python digits.py FOLDER

FOLDER gets the library, for digits.c, and the data as raw files. For comparison the same training
runs here; the last line is the number of test images that were recognised.
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

from tercel.aot import Program
from tercel.demo import digits as network

EPOCHS = 2
params, adam = network.start(seed=0)
images, labels, test_images, test_labels = network.load_digits()
batch = {"images": images[:network.BATCH], "labels": labels[:network.BATCH]}


class Digits(Program):
    _params = params
    _adam = adam

    def get_params(self):
        return self._params

    def initialize(self, key=Program.like(jax.random.PRNGKey(0))):
        self._params = network.init(key)
        self._adam = jax.tree.map(jnp.zeros_like, self._adam)

    def update(self, batch=Program.like(batch)):
        self._params, self._adam, loss = network.train_step(
            self._params, self._adam, batch["images"], batch["labels"])
        return {"loss": loss}

    def predict(self, images=Program.like(images[:1], "batch, ...", batch=(1, len(test_labels)))):
        scores = network.logits(self._params, images)
        return {"classes": jnp.argmax(scores, axis=1).astype(jnp.int32)}


def train():
    digits = Digits()
    digits.initialize(jax.random.PRNGKey(42))
    for epoch in range(EPOCHS):
        for start in range(0, len(labels) - network.BATCH + 1, network.BATCH):
            part = slice(start, start + network.BATCH)
            loss = digits.update({"images": images[part], "labels": labels[part]})["loss"]
        print(f"epoch {epoch + 1}: loss {float(loss):.4f}")
    return int(np.sum(digits.predict(test_images)["classes"] == test_labels))


def main(folder):
    Program.get_compiled_artifact(Digits).save_library(folder)
    for name, array in (("images", images), ("labels", labels), ("test_images", test_images),
                        ("test_labels", test_labels)):
        array.tofile(folder / f"{name}.bin")
    print(f"{train()} of {len(test_labels)}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
