"""Matrix products of all shapes: tiles, tails, panels that overlap, tasks."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

LAYOUTS = {"nn": "mk,kn->mn", "nt": "mk,nk->mn", "tn": "km,kn->mn", "tt": "km,nk->mn"}


def operands(rng, equation, **sizes):
    left, right = equation.split("->")[0].split(",")
    return tuple(rng.normal(size=[sizes[d] for d in side]).astype(np.float32)
                 for side in (left, right))


def sizes_of(seed):
    rng = np.random.default_rng(seed)
    return dict(zip("mkn", (int(2 ** rng.uniform(0, 8.6)) for _ in range(3))))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(6))
def test_random_shapes(agree, rng, layout, seed):
    sizes = sizes_of(seed)
    agree(lambda a, b: jnp.einsum(LAYOUTS[layout], a, b) / np.sqrt(sizes["k"]),
          *operands(rng, LAYOUTS[layout], **sizes), scale=10)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(12, 15))
def test_epilogues(agree, rng, layout, seed):
    sizes = sizes_of(seed)
    agree(lambda a, b: jnp.tanh(jnp.einsum(LAYOUTS[layout], a, b) / sizes["k"] + b.sum()),
          *operands(rng, LAYOUTS[layout], **sizes), scale=10)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("m, k, n", [(301, 260, 140), (1100, 70, 129), (700, 90, 5)])
def test_large_shapes(agree, rng, layout, m, k, n):
    agree(lambda a, b: jax.nn.relu(jnp.einsum(LAYOUTS[layout], a, b) / np.sqrt(k)),
          *operands(rng, LAYOUTS[layout], m=m, k=k, n=n), scale=10)


@pytest.mark.parametrize("layout", ["ikc,jkc->ijc", "kjc,kic->ijc", "ijc,jkc->ikc", "ikc,kjc->cij"])
@pytest.mark.parametrize("size, batch", [(17, 300), (40, 48), (64, 33)])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_batches_that_alternate_in_memory(agree, rng, layout, size, batch, dtype):
    a, b = ((rng.standard_normal((size, size, batch)) * (1 if dtype == np.float32 else 1 + 1j))
            .astype(dtype) for _ in range(2))
    agree(lambda a, b: jnp.einsum(layout, a, b) / np.float32(np.sqrt(size)), a, b, scale=10)


@pytest.mark.parametrize("m", [1, 3, 4])
@pytest.mark.parametrize("k, n", [(1536, 1411), (2500, 1024), (1024, 2304)])
def test_few_rows_and_a_large_matrix(agree, rng, m, k, n):
    x, w = operands(rng, "mk,kn->mn", m=m, k=k, n=n)
    agree(lambda x, w: jax.nn.gelu(x @ w / np.sqrt(k) + w[0, 1]), x, w, scale=10)


def test_few_narrow_rows_and_a_large_matrix(tercel, rng):
    x, w = (v.astype(jnp.bfloat16) for v in operands(rng, "mk,kn->mn", m=2, k=1536, n=2048))
    result = jax.jit(jnp.matmul)(*jax.device_put((x, w), tercel))
    assert result.dtype == jnp.bfloat16
    wanted = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(result.astype(np.float64), wanted, rtol=2**-8, atol=1e-3)


@pytest.mark.parametrize("layout", ["nn", "nt"])
@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("k", [33, 513, 2049, 3100])
def test_long_sums_for_few_columns(agree, rng, layout, k, n):
    agree(lambda a, b: jnp.einsum(LAYOUTS[layout], a, b) / np.sqrt(k),
          *operands(rng, LAYOUTS[layout], m=37, k=k, n=n), scale=10)


@pytest.mark.parametrize("layout", ["nn", "nt"])
@pytest.mark.parametrize("m, k, n", [(37, 513, 3), (37, 33, 3), (3, 513, 37), (37, 100, 7)])
def test_what_others_left_in_scratch_memory_does_not_matter(agree, tercel, rng, layout, m, k, n):
    def product(a, b):
        return jnp.einsum(LAYOUTS[layout], a, b)

    nans = [jax.device_put(np.full_like(x, np.nan), tercel)
            for x in operands(rng, LAYOUTS[layout], m=m, k=k + 20, n=n)]
    for _ in range(5):
        assert np.isnan(jax.jit(product)(*nans)).all()
        agree(product, *operands(rng, LAYOUTS[layout], m=m, k=k, n=n), scale=10)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_outer_products_of_halves_are_rounded_once_from_zero(tercel, rng, dtype):
    def special(count):
        return np.concatenate([[0.0, -0.0, 3e-4, -2e-5], rng.normal(size=count)]).astype(
            jnp.dtype(dtype))

    a, b = special(40)[:, None], special(71)[None]
    got = jax.jit(jnp.matmul)(jax.device_put(a, tercel), jax.device_put(b, tercel))
    want = (a.astype(np.float32) * b.astype(np.float32) + np.float32(0)).astype(a.dtype)
    np.testing.assert_array_equal(np.asarray(got).view(np.uint16), want.view(np.uint16))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("m, k, n", [(61, 130, 83), (5, 77, 200), (200, 77, 5), (13, 40, 70)])
def test_nan_stays_in_its_row_and_column(tercel, rng, layout, m, k, n):
    equation = LAYOUTS[layout]
    a, b = operands(rng, equation, m=m, k=k, n=n)
    rows, columns = a if layout[0] == "n" else a.T, b if layout[1] == "t" else b.T
    rows[m - 2, k - 1] = np.nan
    columns[n - 3, 0] = np.inf
    got = np.asarray(jax.jit(lambda a, b: jnp.einsum(equation, a, b))(
        jax.device_put(a, tercel), jax.device_put(b, tercel)))
    finite = np.ones((m, n), bool)
    finite[m - 2], finite[:, n - 3] = False, False
    assert np.array_equal(np.isfinite(got), finite)


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("layout", [("NHWC", "HWIO"), ("NCHW", "OIHW")])
def test_grouped_convolutions_and_their_gradients(agree, rng, groups, layout):
    inputs, kernel = layout
    channels, features = 4 * groups, 9 * groups

    def ordered(names, **sizes):
        return rng.normal(size=[sizes[d] for d in names]).astype(np.float32)

    def loss(x, w):
        y = jax.lax.conv_general_dilated(x, w, (1, 2), "SAME", feature_group_count=groups,
                                         dimension_numbers=(inputs, kernel, inputs))
        return (y * y).mean()

    x = ordered(inputs, N=3, H=11, W=10, C=channels)
    w = ordered(kernel, H=3, W=2, I=channels // groups, O=features)
    agree(jax.value_and_grad(loss, (0, 1)), x, w, scale=10)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("equation", ["mk,kn->mn", "km,nk->mn", "bmk,bkn->bmn", "mbk,kbn->nbm"])
@pytest.mark.parametrize("m, k, n", [(16, 16, 16), (17, 33, 65), (130, 70, 40), (15, 40, 40)])
def test_complex(agree, rng, x64, dtype, equation, m, k, n):
    left, right = ([{"m": m, "k": k, "n": n, "b": 3}[d] for d in side]
                   for side in equation.split("->")[0].split(","))
    a, b = ((rng.normal(size=s) + 1j * rng.normal(size=s)).astype(dtype) for s in (left, right))
    agree(lambda a, b: (jnp.einsum(equation, a, b), jnp.abs(jnp.einsum(equation, a.conj(), b))),
          a, b, scale=20)


def index_matrix(*shape):
    total = sum((2 * i + 1) * jax.lax.broadcasted_iota(jnp.int32, shape, i)
                for i in range(len(shape)))
    return (total & 3).astype(jnp.float32)


@pytest.mark.parametrize("equation, lhs, rhs", [
    ("ik,jkn->ijn", (4, 5), (20, 5, 4)), ("ik,jkn->ijn", (33, 17), (3, 17, 40)),
    ("ik,kn->in", (40, 30), (30, 50)), ("ik,kn->in", (5, 3), (3, 2)),
    ("bik,kn->bin", (3, 9, 20), (20, 17)),
    ("bik,bkn->bin", (6, 9, 20), (6, 20, 17)), ("k,jkn->jn", (19,), (11, 19, 24)),
    ("ikl,kln->in", (8, 4, 5), (4, 5, 18))])
def test_operands_made_of_their_indices(agree, rng, equation, lhs, rhs):
    left, right = rng.standard_normal(lhs), rng.standard_normal(rhs)
    line = rng.standard_normal(rhs[-2])

    def programs(left, right, line):
        made = index_matrix(*rhs)
        repeats = jnp.where(made > 0, line[:, None], 0.5)
        return (jnp.einsum(equation, left, made), jnp.einsum(equation, index_matrix(*lhs), right),
                jnp.einsum(equation, index_matrix(*lhs), made), jnp.einsum(equation, left, repeats),
                jnp.einsum(equation, left, made * right),
                jnp.einsum(equation, left, jnp.eye(rhs[-2], rhs[-1]) + jnp.zeros(rhs)))

    agree(programs, left.astype(np.float32), right.astype(np.float32), line.astype(np.float32))


def test_products_of_one_array_with_functions_of_it(agree, rng):
    x = rng.standard_normal((24, 24)).astype(np.float32)
    agree(lambda x: (x @ x, x @ jnp.tanh(x), x @ x.T,
                     jnp.sin(x) @ jnp.where(x > 0, x, jnp.eye(24))), x)


def test_derivatives_over_a_basis(agree, rng):
    x = rng.standard_normal((5, 4)).astype(np.float32)
    agree(jax.jacfwd(lambda x: jnp.linalg.svd(x, compute_uv=False)), x)
    agree(jax.jacfwd(lambda x: jnp.tanh(x @ x.T) @ x), x)


@pytest.mark.parametrize("n", [1, 3, 8, 16, 33])
@pytest.mark.parametrize("k", [31, 64, 501, 2000, 5003])
def test_sums_of_few_columns_in_loops(agree, rng, k, n):
    def run(a, v):
        return jax.lax.fori_loop(0, 4, lambda _, w: jnp.tanh(a.T @ (a @ w - v) / k), a[0])

    agree(run, rng.standard_normal((k, n)).astype(np.float32),
          rng.standard_normal(k).astype(np.float32), scale=4)


@pytest.mark.parametrize("equation", ["bi,kij,bj->bk", "bi,ijk,bj->kb", "bi,kij,bjl->bkl",
                                      "abi,ikj,abj->abk", "bi,bij->bj"])
@pytest.mark.parametrize("rows", [1, 3, 40, 100])
def test_forms_of_each_row(agree, rng, equation, rows):
    sizes = dict(zip("abijkl", (2, rows, 6, 9, 5, 4)))
    operands = [rng.normal(size=[sizes[c] for c in term]).astype(np.float32)
                for term in equation.split("->")[0].split(",")]

    def loss(*operands):
        return (jnp.einsum(equation, *operands) ** 2).sum()

    agree(lambda *x: (jnp.einsum(equation, *x), jax.grad(loss, tuple(range(len(x))))(*x)),
          *operands, scale=10)


@pytest.mark.parametrize("equation", ["abc,abc->", "abc,cab->", "abc,bc->a", "abc,acb->a",
                                      "abc,bac->b", "abc,cb->a", "bca,acb->ac",
                                      "abc,cba->b", "bac,ca->c", "ba,cba->ac"])
@pytest.mark.parametrize("sizes", [(3, 40, 50), (1, 7, 9), (33, 5, 64)])
def test_sums_over_several_dimensions(agree, rng, equation, sizes):
    size = dict(zip("abc", sizes))
    operands = [rng.normal(size=[size[c] for c in term]).astype(np.float32)
                for term in equation.split("->")[0].split(",")]
    agree(lambda x, y: jnp.einsum(equation, x, y), *operands, scale=10)


@pytest.mark.parametrize("equation", ["mk,kn->mn", "km,kn->mn", "mk,nk->mn", "bmk,bkn->bmn"])
@pytest.mark.parametrize("sides", [[0], [1], [0, 1]])
def test_subnormal_operands(tercel, rng, equation, sides):
    sizes = dict(b=2, m=130, k=90, n=70)
    x = [abs(v) for v in operands(rng, equation, **sizes)]  # nothing cancels out
    for side, v in enumerate(x):
        if side in sides:
            v *= np.exp(rng.uniform(-103, 0, v.shape)).astype(np.float32)
        else:
            v[v < 1e-3] = 0
    wanted = np.einsum(equation, *[v.astype(np.float64) for v in x])
    f = jax.jit(lambda a, b: jnp.einsum(equation, a, b))
    calls = [np.asarray(f(*jax.device_put(x, tercel))) for _ in range(4)]
    np.testing.assert_allclose(calls[0], wanted, rtol=1e-4, atol=90e-45)
    for later in calls[1:]:
        np.testing.assert_array_equal(later.view(np.uint32), calls[0].view(np.uint32))


@pytest.mark.parametrize("exponent", [-20, -22])
def test_products_that_are_subnormal(tercel, rng, exponent):
    x = [(rng.uniform(0.5, 2, s) * 10.0**exponent).astype(np.float32) for s in ((90, 70), (70, 80))]
    f = jax.jit(jnp.matmul)
    calls = [np.asarray(f(*jax.device_put(x, tercel))) for _ in range(4)]
    np.testing.assert_allclose(calls[0], x[0].astype(np.float64) @ x[1], rtol=1e-4, atol=1.5e-45)
    for later in calls[1:]:
        np.testing.assert_array_equal(later, calls[0])


@pytest.mark.parametrize("side", [0, 1])
def test_convolutions_that_are_subnormal(tercel, rng, side):
    x = [rng.uniform(0.5, 2, s).astype(np.float32) for s in ((2, 12, 11, 16), (3, 3, 16, 24))]
    x[side] *= np.float32(1e-40)
    f = jax.jit(lambda x, w: jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    calls = [np.asarray(f(*jax.device_put(x, tercel))) for _ in range(4)]
    padded = np.pad(x[0].astype(np.float64), [(0, 0), (1, 1), (1, 1), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    wanted = np.einsum("nhwcij,ijco->nhwo", windows, x[1].astype(np.float64))
    np.testing.assert_allclose(calls[0], wanted, rtol=1e-4, atol=90e-45)
    for later in calls[1:]:
        np.testing.assert_array_equal(later, calls[0])


@pytest.mark.parametrize("tiny", [False, True])
@pytest.mark.parametrize("form", ["ij,j->i", "ij,i->j", "bij,bj->bi", "i,i->"])
def test_subnormal_operands_of_sums(tercel, rng, form, tiny):
    """As sums of products, bit for bit as without microcode; as products with a vector."""
    sizes = dict(b=3, i=130, j=257)
    x, y = (np.exp(rng.uniform(-103, 0, [sizes[c] for c in term])).astype(np.float32)
            for term in form.split("->")[0].split(","))
    y = y if tiny else np.sqrt(np.sqrt(y))
    wanted = np.einsum(form, x.astype(np.float64), y.astype(np.float64))
    spread = {"ij,j->i": (slice(None), 1), "ij,i->j": ((slice(None), None), 0),
              "bij,bj->bi": ((slice(None), None), 2), "i,i->": (slice(None), 0)}
    index, axis = spread[form]
    for f in (lambda x, y: (x * y[index]).sum(axis), lambda x, y: jnp.einsum(form, x, y)):
        call = jax.jit(f)
        first, second = (np.asarray(call(*jax.device_put((x, y), tercel))) for _ in range(2))
        np.testing.assert_allclose(first, wanted, rtol=1e-4, atol=90e-45)
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("equation", ["i,i->", "bi,bi->b", "bi,ib->b", "ij,ji->", "bij,jbi->b"])
def test_complex_vectors(agree, rng, x64, equation, dtype):
    sizes = dict(b=3, i=157, j=20)
    x, y = ((rng.normal(size=s) + 1j * rng.normal(size=s)).astype(dtype)
            for s in ([sizes[c] for c in term] for term in equation.split("->")[0].split(",")))
    agree(lambda x, y: (jnp.einsum(equation, x, y), jnp.einsum(equation, x.conj(), 2 * y)), x, y,
          scale=10)


@pytest.mark.parametrize("equation", ["mk,kn->mn", "bmk,bkn->bmn", "kb,knb->nb", "km,nk->nm"])
def test_sums_of_products_of_all_pairs(agree, rng, equation):
    """Written out: products of matrices all the same."""
    x, y = operands(rng, equation, b=3, m=17, k=33, n=20)
    terms, result = equation.split("->")
    left, right = terms.split(",")
    letters = "".join(sorted(set(left + right)))

    def spread(v, term):
        order = sorted(range(len(term)), key=lambda i: term[i])
        v = v.transpose(order)
        return jnp.expand_dims(v, [i for i, c in enumerate(letters) if c not in term])

    def f(x, y):
        sums = (spread(x, left) * spread(y, right)).sum(letters.index("k"))
        kept = letters.replace("k", "")
        return sums.transpose([kept.index(c) for c in result])
    agree(f, x, y)


def test_subnormal_operands_that_others_read(tercel, rng):
    k = np.exp(-rng.uniform(60, 103, (256, 256))).astype(np.float32)
    v = rng.uniform(0.5, 2, (256, 40)).astype(np.float32)

    def f(k, v):
        return k @ v, (k * v[:, 0]).sum(1), k @ k[:, :40] + v, k @ v + k[:, :40]
    g = jax.jit(f)
    calls = [g(*jax.device_put((k, v), tercel)) for _ in range(4)]
    wanted = f(k.astype(np.float64), v.astype(np.float64))
    for one, same in zip(calls[0], wanted):
        np.testing.assert_allclose(one, same, rtol=1e-4, atol=90e-45)
    for later in calls[1:]:
        for one, same in zip(later, calls[0]):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(same))


COMPLEX_FORMS = {
    "matrices": ("ij,jk->ik", (50, 40), (40, 9)),
    "wide": ("ij,jk->ik", (7, 40), (40, 90)),
    "one_column": ("ij,j->i", (200, 64), (64,)),
    "one_row": ("j,jk->k", (64,), (64, 200)),
    "turned": ("ji,jk->ik", (40, 60), (40, 12)),
    "both_turned": ("ji,kj->ik", (40, 60), (12, 40)),
    "small_turned": ("ij,kj->ik", (6, 40), (70, 40)),
    "batches": ("bij,bj->bi", (20, 30, 32), (20, 32)),
    "batches_last": ("ijb,bjk->bik", (30, 17, 6), (6, 17, 31)),
    "free_ones_around": ("iakb,kcj->iabcj", (4, 3, 32, 5), (32, 4, 8)),
    "rows_with_themselves": ("bij,bkj->bik", (5, 9, 60), (5, 9, 60)),
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX_FORMS)
def test_complex_products_of_all_forms(agree, x64, rng, name, dtype):
    form, left, right = COMPLEX_FORMS[name]
    x, y = ((rng.normal(size=s) + 1j * rng.normal(size=s)).astype(dtype) for s in (left, right))
    agree(lambda x, y: jnp.einsum(form, x, y), x, y, scale=10)
    agree(lambda x, y: jnp.abs(jnp.einsum(form, x.conj() * 2, y)) + 1, x, y, scale=10)


def test_complex_products_in_loops_and_of_results(agree, rng):
    a = (rng.normal(size=(48, 48)) + 1j * rng.normal(size=(48, 48))).astype(np.complex64) * 0.1
    v = (rng.normal(size=48) + 1j * rng.normal(size=48)).astype(np.complex64)
    agree(lambda a, v: jax.lax.fori_loop(0, 9, lambda i, v: a @ v + v * i, v), a, v, scale=100)
    agree(lambda a: (a @ a, (a @ a) @ a, (a @ a).T.reshape(-1)[:5]), a, scale=10)
    agree(jax.grad(lambda a, v: jnp.abs(a @ (a @ v)).sum()), a, v, scale=100)
    donated = [jax.jit(lambda a, v: a @ (a @ v) + v, donate_argnums=1)(*jax.device_put((a, v), d))
               for d in (jax.devices("tercel")[0], jax.devices("cpu")[0])]
    np.testing.assert_allclose(*donated, rtol=1e-4, atol=1e-4)


KINDS = ["bool", "int8", "int32", "uint8", "bfloat16", "float16", "float32", "float64", "complex64"]


def product_as(wanted):
    return lambda a, b: jax.lax.dot_general(a, b, (((1,), (0,)), ((), ())),
                                            preferred_element_type=jnp.dtype(wanted))


def jax_allows(given, wanted):
    sides = (jax.ShapeDtypeStruct(size, given) for size in ((3, 7), (7, 4)))
    try:
        return jax.eval_shape(product_as(wanted), *sides) is not None
    except TypeError:
        return False


@pytest.mark.parametrize("given", KINDS)
def test_products_are_added_up_in_the_type_that_holds_them(agree, rng, x64, given):
    a, b = ((rng.integers(0, 9, size) / 4).astype(jnp.dtype(given)) for size in ((3, 7), (7, 4)))
    # XLA:CPU without its emitters of fusions takes no complex product for a real one.
    quick = "fusion_emitters" in os.environ.get("XLA_FLAGS", "")
    options = {"xla_cpu_use_fusion_emitters": True} if quick else {}
    for wanted in (k for k in KINDS if jax_allows(given, k)):
        agree(product_as(wanted), a, b, compiler_options=options)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "int8"])
@pytest.mark.parametrize("n", [36, 50, 72, 98, 100, 130, 200])
def test_last_panels_of_fewer_vectors(agree, rng, x64, dtype, n):
    def numbers(*shape):
        return rng.integers(-3, 4, shape).astype(dtype)
    kwargs = dict(preferred_element_type="int32") if dtype == "int8" else {}
    for k in (90, 1700):
        x, y, z = numbers(2, 61, k), numbers(k, n), numbers(61, n)
        agree(lambda x, y, z: (
            jnp.matmul(x[0], y, **kwargs), jnp.matmul(x[0], y.T.copy().T, **kwargs) + z,
            jnp.einsum("bmk,kn->bmn", x, y, **kwargs),
            jnp.matmul(x[0], y.reshape(n, k).T, **kwargs)), x, y, z)


@pytest.mark.parametrize("form, sizes", [
    ("ijk,j,k->i", (17, 17, 17)), ("ijk,kj->i", (33, 20, 18)), ("lijk,kji->l", (3, 9, 16, 17)),
    ("dca,ac->da", (9, 30, 20)), ("bdca,bac->da", (3, 5, 8, 33)), ("bda,ab->da", (21, 5, 17)),
    ("tcdb,tbd->cb", (3, 5, 4, 16)), ("ca,dca->ad", (30, 20, 9))])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
def test_sums_over_axes_in_another_order(agree, rng, form, sizes, dtype):
    labels = form.split("->")[0].split(",")
    size = dict(zip(max(labels, key=len), sizes))
    if form.startswith("ca"):
        size = {"c": 30, "a": 20, "d": 9}
    operands = [jnp.asarray(rng.integers(-2, 3, [size[label] for label in operand])).astype(dtype)
                for operand in labels]
    agree(lambda *a: jnp.einsum(form, *a), *operands)


@pytest.mark.parametrize("form", ["bi,oi->bo", "ib,oi->ob", "bi,io->bo", "ib,io->ob", "bgi,goi->bgo"])
@pytest.mark.parametrize("made", [False, True])
def test_factors_that_a_loop_does_not_change(agree, rng, form, made):
    """Also where they are computed before it."""
    x = rng.integers(-2, 3, (20, 3, 24) if "g" in form else (20, 24)).astype(np.float32)
    w = rng.integers(-2, 3, (3, 24, 24) if "g" in form else (24, 24)).astype(np.float32)
    x = x.T if form.startswith("ib") else x

    def run(x, w):
        w = w * w - 1 if made else w
        return jax.lax.fori_loop(0, 3, lambda _, x: jnp.einsum(form, x, w) / 64, x)

    agree(run, x, w)
    agree(lambda v, w: jax.lax.fori_loop(0, 4, lambda _, v: (w * w - 1 if made else w) @ v / 64, v),
          np.ravel(x)[:24], w[0] if "g" in form else w)
