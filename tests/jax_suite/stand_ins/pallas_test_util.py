"""Stands in for JAX's module of this name, which its wheels lack: kernels in interpret mode."""

from jax._src import test_util
from jax.experimental import pallas


class PallasTest(test_util.JaxTestCase):
    INTERPRET = False

    def setUp(self):
        if not self.INTERPRET:
            self.skipTest("On a CPU kernels run in interpret mode only")
        super().setUp()

    def pallas_call(self, *arguments, **options):
        return pallas.pallas_call(*arguments, **options, interpret=self.INTERPRET)


class PallasTPUTest(PallasTest):
    pass
