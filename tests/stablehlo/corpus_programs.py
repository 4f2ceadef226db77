"""The programs of the corpus: (name, function, arguments) of everything JAX commonly emits."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

PROGRAMS = []
AUTO = jax.sharding.AxisType.Auto


def program(*args, **jit_options):
    def add(f):
        PROGRAMS.append((f.__name__, jax.jit(f, **jit_options), args))
        return f
    return add


x34 = jnp.arange(12, dtype=jnp.float32).reshape(3, 4)
x43 = x34.T
v8 = jnp.arange(8, dtype=jnp.float32)
i8 = jnp.arange(8)

for dtype in ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16",
              "float32", "complex64", "int4", "uint4", "int2", "float8_e4m3fn", "float8_e5m2",
              "float8_e4m3b11fnuz", "float8_e3m4", "float8_e8m0fnu", "float4_e2m1fn"):
    def constant(x, dtype=dtype):
        c = jnp.asarray(np.arange(6).reshape(2, 3) % 2, dtype=dtype)
        return x, c, jnp.full((3, 5), 1, dtype=dtype), c.astype(jnp.float32)
    PROGRAMS.append((f"constant_{dtype}", jax.jit(constant), (jnp.ones(3, dtype=dtype),)))

UNARY = ("abs ceil floor sign negative exp expm1 log log1p sin cos tan tanh sqrt rsqrt cbrt "
         "logistic is_finite round erf erf_inv erfc lgamma digamma asin acos atan sinh cosh asinh "
         "acosh "
         "atanh").split()
for name in UNARY:
    op = {"negative": lax.neg, "abs": lax.abs}.get(name) or getattr(lax, name)
    PROGRAMS.append((f"unary_{name}", jax.jit(lambda x, op=op: op(x)), (x34,)))
for name in "add sub mul div rem pow max min atan2 nextafter".split():
    op = getattr(lax, name)
    PROGRAMS.append((f"binary_{name}", jax.jit(lambda x, y, op=op: op(x, y)), (x34, x34)))


@program(i8, i8 + 1)
def integers(a, b):
    return (a & b, a | b, a ^ b, ~a, lax.population_count(a), lax.clz(a), a << b,
            lax.shift_right_arithmetic(a, b), lax.shift_right_logical(a, b), a // b, a % b)


@program(x34, x34)
def compares(a, b):
    return (a == b, a != b, a < b, a <= b, a > b, a >= b, jnp.where(a > b, a, b),
            lax.clamp(0., a, 1.))


@program(x34)
def large_constants(x):
    table = np.random.RandomState(0).rand(3, 4, 100).astype(np.float32)
    mask = np.arange(300) % 7 == 0
    return x[..., None] + table, jnp.where(mask, 1, 2), np.ones(9, bool), np.zeros(9, bool)


@program(x34)
def bit_casts(x):
    return (lax.bitcast_convert_type(x, jnp.int32), lax.bitcast_convert_type(x, jnp.uint8),
            lax.reduce_precision(x, 5, 10), x.astype(jnp.complex64).real, lax.complex(x, x).imag,
            lax.conj(lax.complex(x, x)))


@program(x34, v8)
def movement(x, v):
    return (x.reshape(2, 6), x.T, x[::-1], x[1:, ::2], jnp.concatenate([x, x], 1), jnp.pad(x, 1),
            lax.pad(x, 0.0, [(1, 2, 1), (-1, 0, 0)]), jnp.tile(v, 2), jnp.roll(v, 3),
            jnp.stack([v, v]), jnp.squeeze(x[:1]), jnp.broadcast_to(v, (3, 8)), jnp.eye(4))


@program(v8, 3)
def dynamic_slices(v, i):
    return (lax.dynamic_slice(v, (i,), (2,)), lax.dynamic_update_slice(v, v[:2], (i,)), v[i],
            v.at[i].set(1.0))


@program(x34)
def reductions(x):
    return (x.sum(), x.sum(0), x.max(1), x.min(), x.prod(), x.mean(), x.var(1), jnp.any(x > 1),
            jnp.all(x > 1), jnp.argmax(x, 1), jnp.argmin(x), lax.reduce_xor(x > 0, (0,)))


@program(x34)
def reduce_two(x):
    def step(a, b):
        return a[0] + b[0], jnp.maximum(a[1], b[1])
    return lax.reduce((x, x), (0., -jnp.inf), step, (1,))


@program(x34)
def windows(x):
    def pool(init, op):
        return lax.reduce_window(x, init, op, (2, 2), (1, 2), [(0, 1), (1, 0)])
    return (pool(-jnp.inf, lax.max), pool(0., lax.add), jnp.cumsum(x, 1), lax.cummax(x, 0),
            lax.cumprod(x, 1), lax.cumlogsumexp(x, 0))


@program(jnp.ones((1, 6, 6, 2)))
def max_pool_grad(x):
    def f(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()
    return jax.grad(f)(x)


@program(x34, x43)
def dots(a, b):
    return (a @ b, jnp.einsum("ij,ji->i", a, b), jnp.tensordot(a, b.T, 2),
            lax.dot(a, b, precision=lax.Precision.HIGHEST),
            lax.dot(a, b, precision=(lax.Precision.DEFAULT, lax.Precision.HIGH)),
            lax.dot_general(a[None], b[None], (((2,), (1,)), ((0,), (0,))),
                            preferred_element_type=jnp.float32))


@program(x34, x43)
def dot_algorithms(a, b):
    return (lax.dot(a, b, precision=lax.DotAlgorithmPreset.F32_F32_F32),
            lax.dot(a, b, precision=lax.DotAlgorithmPreset.BF16_BF16_F32_X3))


@program(jnp.ones((2, 8, 8, 3)), jnp.ones((3, 3, 3, 4)))
def convolutions(x, k):
    def conv(**options):
        return lax.conv_general_dilated(
            x, k, dimension_numbers=("NHWC", "HWIO", "NHWC"),
            **{"window_strides": (1, 1), "padding": "SAME", **options})
    return (conv(), conv(window_strides=(2, 1), padding="VALID"), conv(rhs_dilation=(2, 2)),
            conv(lhs_dilation=(2, 1), padding=[(1, 2), (0, 3)], precision=lax.Precision.HIGHEST))


@program(jnp.ones((2, 4, 10)), jnp.ones((4, 2, 3)))
def grouped_convolution(x, k):
    def loss(k):
        return lax.conv_general_dilated(x, k, (1,), "SAME", feature_group_count=2).sum()
    return jax.value_and_grad(loss)(k)


@program(v8, i8)
def gathers(v, i):
    x = v.reshape(2, 4)
    return (v[i], x[:, i % 4], jnp.take_along_axis(x, i.reshape(2, 4) % 4, 1), jnp.take(v, i),
            v.at[i].get(mode="fill", fill_value=0), v.at[i].get(indices_are_sorted=True))


@program(v8, i8)
def scatters(v, i):
    return (v.at[i].add(1.0), v.at[i].set(v), v.at[i].max(0.), v.at[i].mul(v, unique_indices=True),
            jax.ops.segment_sum(v, i, 3), jax.vmap(lambda a, k: a.at[k].set(0.))(
                v.reshape(2, 4), i.reshape(2, 4) % 4))


@program(v8, i8)
def sorts(v, i):
    return (jnp.sort(v), jnp.argsort(v), lax.sort((v, i), num_keys=2), jnp.sort(v, stable=False),
            lax.top_k(v, 3), jnp.median(v), jnp.unique(i, size=4))


@program(v8)
def approx_top_k(v):
    return lax.approx_max_k(v, 2)


@program(v8)
def while_loop(v):
    return lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (0, v))


@program(v8)
def fori(v):
    return lax.fori_loop(0, 10, lambda i, c: c + i, v)


@program(x34)
def scan(x):
    def step(c, row):
        c = c + row.sum()
        return c, (c, row * 2)
    return lax.scan(step, 0.0, x)


@program(x34)
def scan_of_scans(x):
    def inner(c, e):
        return c * e + 1, c
    def outer(c, row):
        c, ys = lax.scan(inner, c, row)
        return lax.cond(c > 3, lambda c: c - 1, lambda c: c, c), ys
    return lax.scan(outer, 1.0, x)


@program(x34)
def scan_grad(x):
    def loss(x):
        return lax.scan(lambda c, r: (jnp.tanh(c * r), None), jnp.ones(4), x)[0].sum()
    return jax.grad(loss)(x)


@program(True, v8)
def cond(p, v):
    return lax.cond(p, lambda v: v + 1, lambda v: v * 2, v)


@program(1, v8)
def switch(i, v):
    return lax.switch(i, [jnp.sin, jnp.cos, lambda v: v + jnp.arange(8.)], v)


@program(jax.random.PRNGKey(0))
def raw_random(key):
    return jax.random.normal(key, (3,)), jax.random.split(key)


@program(jax.random.key(0))
def typed_random(key):
    a, b = jax.random.split(key)
    return (jax.random.uniform(a, (4,)), jax.random.bernoulli(b, 0.5, (3,)),
            jax.random.bits(a, (2,)), jax.random.randint(b, (5,), 0, 10),
            jax.random.permutation(a, 6), jax.random.gumbel(a, (2, 2)),
            jax.random.categorical(b, jnp.ones(3)))


@program(jax.random.key(0, impl="rbg"))
def rbg_random(key):
    return jax.random.uniform(key, (4,)), lax.rng_bit_generator(jax.random.key_data(key), (3,))


@program(x34)
def rng_uniform(x):
    return lax.rng_uniform(0., 1., (3,)) + x[:, 0]


@program(x34, v8, donate_argnums=(0, 1))
def donated(x, v):
    return x + 1, v[:4]


@program(x34)
def neural(x):
    return (jax.nn.relu(x), jax.nn.gelu(x), jax.nn.softmax(x), jax.nn.log_softmax(x),
            jax.nn.silu(x), jax.nn.one_hot(jnp.arange(3), 4), jax.nn.logsumexp(x),
            jax.nn.standardize(x))


@program(jnp.ones((1, 4, 2, 8)))
def attention(q):
    return jax.nn.dot_product_attention(q, q, q, is_causal=True)


@program(x34)
def custom_rules(x):
    @jax.custom_vjp
    def f(x):
        return jnp.sin(x)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * jnp.cos(x),))
    return jax.grad(lambda x: f(x).sum())(x), jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x)


@program(x34)
def checkpoint_grad(x):
    f = jax.checkpoint(lambda x: jnp.tanh(jnp.sin(x) @ x.T).sum())
    return jax.grad(f)(x)


@program(x34)
def named(x):
    with jax.named_scope("outer \"scope\""):
        return jax.jit(lambda x: x + 1, inline=False)(x) + functools.reduce(jnp.add, [x] * 3)


@program(x34)
def vmapped(x):
    return jax.vmap(jnp.dot)(x, x), jax.vmap(jnp.outer)(x, x), jax.jacfwd(jnp.sin)(x[0])


@program(x34)
def linear_algebra(x):
    a = x.T @ x + jnp.eye(4)
    return jnp.linalg.cholesky(a), jnp.linalg.qr(x), jnp.linalg.inv(a)


@program(v8)
def ffts(v):
    return jnp.fft.rfft(v), jnp.fft.fft(v), jnp.fft.irfft(v)


@program(x34)
def single_device_collectives(x):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AUTO,))
    spec = jax.sharding.PartitionSpec("i")
    f = jax.shard_map(lambda x: (lax.psum(x, "i"), x * lax.axis_index("i"), lax.all_gather(x, "i")),
                      mesh=mesh, in_specs=spec, out_specs=(spec, spec, spec), check_vma=False)
    return f(x)


@program(x34)
def constrained(x):
    mesh = jax.make_mesh((1, 1), ("a", "b"), axis_types=(AUTO, AUTO))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a", "b"))
    return lax.with_sharding_constraint(x + 1, sharding)


@program()
def no_arguments():
    return jnp.arange(10), jnp.zeros((0, 3)), 1.5


@program({"a": x34, "b": (v8, {"c": i8})}, 2.0)
def pytrees(tree, scale):
    return jax.tree.map(lambda x: x * scale, tree)


@program(jnp.zeros((0, 4)), jnp.ones((1, 1, 1)))
def empty_and_unit(a, b):
    return a.sum(0), b * 2, jnp.concatenate([a, a])


@program(v8)
def barrier(v):
    return lax.optimization_barrier((v, v + 1))


@program(v8)
def callbacks(v):
    jax.debug.print("v {v}", v=v)
    return jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct((8,), jnp.float32), v)


def sharded_programs():
    mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(AUTO, AUTO))
    spec = jax.sharding.PartitionSpec

    def sharding(*axes):
        return jax.sharding.NamedSharding(mesh, spec(*axes))

    def constrained(x):
        return lax.with_sharding_constraint(x + 1, sharding("a"))

    x = jnp.ones((4, 8))
    yield "sharded", jax.jit(lambda x, y: x @ y, in_shardings=(sharding("a", None), sharding(
        None, ("a", "b"))), out_shardings=sharding("a", "b")), (x, x.T)
    yield "sharded_constraint", jax.jit(constrained), (x,)
    yield "sharded_map", jax.jit(jax.shard_map(
        lambda x: lax.psum(x, "a"), mesh=mesh, in_specs=spec("a"), out_specs=spec())), (x,)


def gspmd_programs():
    """For lowering with Shardy switched off."""
    yield "gspmd_constrained", jax.jit(lambda x: constrained(x)), (x34,)
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AUTO,))
    spec = jax.sharding.PartitionSpec("i")
    yield "gspmd_map", jax.jit(jax.shard_map(
        lambda x: x * 2, mesh=mesh, in_specs=spec, out_specs=spec)), (x34,)


# What JAX does not write.
TEXTS = {
    "sdy_shardings": """
        module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
          sdy.mesh @mesh = <["x"=2, "y"=4]>
          sdy.mesh @devices = <["z"=2], device_ids=[1, 0]>
          sdy.mesh @one = <[], device_ids=[0]>
          func.func @main(
              %a: tensor<8x8xf32> {
                sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {"y":(1)2}]>},
              %b: tensor<8xf32> {
                sdy.sharding = #sdy.sharding<@mesh, [{}], replicated={"x", "y"}>},
              %c: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], unreduced={"x"}>},
              %d: tensor<f32> {sdy.sharding = #sdy.sharding<mesh<["w"=3]>, []>},
              %e: tensor<f32> {sdy.sharding = #sdy.sharding<@one, []>})
              -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@devices, [{"z"}]>}) {
            %0 = stablehlo.add %b, %c : tensor<8xf32>
            return %0 : tensor<8xf32>
          }
        }""",
    "private_calls": """
        module @"a name" {
          func.func @main(%a: tensor<f32>, %t: !stablehlo.token)
              -> (tensor<f32>, !stablehlo.token) {
            %0 = call @f(%a) : (tensor<f32>) -> tensor<f32>
            %1 = stablehlo.after_all %t, %t : !stablehlo.token
            %2 = stablehlo.create_token : !stablehlo.token
            %4 = stablehlo.is_finite %a : (tensor<f32>) -> tensor<i1>
            %3 = "stablehlo.if"(%4) ({
              stablehlo.return %0 : tensor<f32>
            }, {
              stablehlo.return %a : tensor<f32>
            }) : (tensor<i1>) -> tensor<f32>
            return %3, %1 : tensor<f32>, !stablehlo.token
          }
          func.func private @f(%a: tensor<f32>) -> tensor<f32> {
            %0 = stablehlo.round_nearest_afz %a : tensor<f32>
            return %0 : tensor<f32>
          }
        }""",
    "accuracies": """
        module {
          func.func @main(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
            %0 = "stablehlo.exponential"(%a) {
              result_accuracy = #stablehlo.result_accuracy<
                mode = #stablehlo.result_accuracy_mode<HIGHEST>>
            } : (tensor<f32>) -> tensor<f32>
            %1 = "stablehlo.map"(%a, %a) ({
              ^bb0(%x: tensor<f32>, %y: tensor<f32>):
                %2 = stablehlo.power %x, %y : tensor<f32>
                stablehlo.return %2 : tensor<f32>
            }) {dimensions = array<i64>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
            return %0, %1 : tensor<f32>, tensor<f32>
          }
        }""",
}


def x64_programs():
    x = jnp.arange(6, dtype=jnp.float64).reshape(2, 3)
    yield "x64_math", jax.jit(
        lambda x: (jnp.sin(x) + 1e-300, x.sum(), x.astype(complex) * 1j)), (x,)
    yield "x64_ints", jax.jit(lambda i: (i * 2**40, i.astype(jnp.uint64), i // 3)), (jnp.arange(5),)
    yield "x64_random", jax.jit(lambda k: jax.random.normal(k, (3,))), (jax.random.key(1),)


def flax_programs():
    import optax
    from flax import linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Conv(4, (3, 3))(x))
            x = nn.max_pool(x, (2, 2), (2, 2)).reshape(x.shape[0], -1)
            return nn.Dense(10)(nn.LayerNorm()(nn.Dense(16)(x)))

    net, x = Net(), jnp.ones((4, 8, 8, 1))
    params = net.init(jax.random.key(0), x)
    adam = optax.adam(1e-3)

    def step(params, state, x, y):
        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(net.apply(p, x), y).mean()
        value, grads = jax.value_and_grad(loss)(params)
        updates, state = adam.update(grads, state)
        return optax.apply_updates(params, updates), state, value

    args = (params, adam.init(params), x, jnp.zeros(4, int))
    yield "flax_step", jax.jit(step, donate_argnums=(0, 1)), args
