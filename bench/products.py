"""Matrix products and convolutions."""

import jax
import jax.numpy as jnp

from workload import normal, workload


def product(name, left, right, goal=0.95, dtype="float32", function=jnp.matmul):
    workload("products", name, goal=goal)(
        lambda: (function, (normal(*left, dtype=dtype), normal(*right, dtype=dtype, seed=1))))


for n in (256, 512, 1024, 2048):
    product(f"matmul_{n}", (n, n), (n, n))
product("matmul_777x1000x333", (777, 1000), (1000, 333))
product("matmul_transposed_1024", (1024, 1024), (1024, 1024), function=lambda a, b: a @ b.T)
product("matmul_bias_relu_1024", (1024, 1024), (1024, 1024),
        function=lambda a, b: jax.nn.relu(a @ b + b[0]))
product("matmul_64x1024x1024", (64, 1024), (1024, 1024))
product("matvec_4096", (4096, 4096), (4096,))
product("vecmat_4096", (4096,), (4096, 4096))
product("batch_4096_of_16", (4096, 16, 16), (4096, 16, 16), goal=2)
product("batch_1000_of_7x9x5", (1000, 7, 9), (1000, 9, 5), goal=2)
product("batch_512_of_64", (512, 64, 64), (512, 64, 64), goal=2)
product("matmul_bf16_512", (512, 512), (512, 512), goal=1, dtype="bfloat16")
product("matmul_bf16_1024", (1024, 1024), (1024, 1024), goal=1, dtype="bfloat16")


@workload("products", goal=1)
def attention_4x8x512x64():
    def attention(q, k, v):
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)

    return attention, tuple(normal(4, 8, 512, 64, seed=i) for i in range(3))


def convolution(name, image, kernel, stride=1, layout="NHWC", groups=1, goal=1.0):
    weights = {"NHWC": "HWIO", "NCHW": "OIHW"}[layout]

    def make():
        def convolve(x, w):
            return jax.lax.conv_general_dilated(
                x, w, (stride, stride), "SAME", feature_group_count=groups,
                dimension_numbers=(layout, weights, layout))

        return convolve, (normal(*image), normal(*kernel, seed=1))

    workload("convolutions", name, goal=goal)(make)


convolution("conv3x3_8x56x56x64", (8, 56, 56, 64), (3, 3, 64, 64))
convolution("conv3x3_stride2_8x56x56x64", (8, 56, 56, 64), (3, 3, 64, 128), 2)
convolution("conv3x3_nchw_8x64x56x56", (8, 64, 56, 56), (64, 64, 3, 3), 1, "NCHW")
convolution("conv3x3_stride2_nchw_8x64x56x56", (8, 64, 56, 56), (128, 64, 3, 3), 2, "NCHW")
convolution("conv3x3_4x14x14x256", (4, 14, 14, 256), (3, 3, 256, 256))
convolution("conv7x7_stride2_4x224x224x3", (4, 224, 224, 3), (7, 7, 3, 64), 2)
convolution("conv7x7_stride2_nchw_4x3x224x224", (4, 3, 224, 224), (64, 3, 7, 7), 2, "NCHW")
convolution("conv1x1_8x28x28x256", (8, 28, 28, 256), (1, 1, 256, 128))
convolution("depthwise_8x56x56x96", (8, 56, 56, 96), (3, 3, 1, 96), groups=96, goal=10)
convolution("depthwise_stride2_nchw_8x96x56x56", (8, 96, 56, 56), (96, 1, 3, 3), 2, "NCHW",
            groups=96, goal=10)


@workload("products", goal=1)
def batch_128_last_of_64():
    return (lambda a, b: jnp.einsum("ikc,jkc->ijc", a, b),
            (normal(64, 64, 128), normal(64, 64, 128, seed=1)))


@workload("convolutions", goal=1)
def conv3x3_gradients_8x28x28x64():
    def loss(x, w):
        y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME",
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return (y * y).sum()

    return jax.grad(loss, (0, 1)), (normal(8, 28, 28, 64), normal(3, 3, 64, 64, seed=1) / 24)
