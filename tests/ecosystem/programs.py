"""Programs of the libraries that people write on top of JAX. Each returns a tree of arrays."""

import jax
import jax.numpy as jnp
import numpy as np


class Roughly:
    """Means of a chain, whose steps may part after some time by a difference in the last bit."""

    def __init__(self, means):
        self.means = means


def equinox_training():
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(4, 2, 32, 3, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (64, 4))
    y = jnp.sin(x[:, :2])
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    def loss(model):
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    @eqx.filter_jit
    def step(model, state):
        value, gradient = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimizer.update(gradient, state)
        return eqx.apply_updates(model, updates), state, value

    losses = []
    for _ in range(20):
        model, state, value = step(model, state)
        losses.append(value)
    return jnp.stack(losses)


def equinox_layers():
    import equinox as eqx

    keys = jax.random.split(jax.random.key(0), 5)
    convolution = eqx.nn.Conv2d(3, 8, 3, padding=1, key=keys[0])
    attention = eqx.nn.MultiheadAttention(4, 16, key=keys[1])
    norm = eqx.nn.LayerNorm(16)
    cell = eqx.nn.GRUCell(16, 16, key=keys[2])
    embedding = eqx.nn.Embedding(10, 16, key=keys[3])
    image = jax.random.normal(keys[4], (3, 12, 12))
    hidden = jax.vmap(embedding)(jnp.arange(7))
    hidden = jax.vmap(norm)(attention(hidden, hidden, hidden))
    last, _ = jax.lax.scan(lambda c, x: (cell(x, c), c), jnp.zeros(16), hidden)
    return eqx.filter_jit(convolution)(image).sum(), last


def diffrax_lotka_volterra():
    import diffrax

    def field(t, y, k):
        return jnp.array([k[0] * y[0] - k[1] * y[0] * y[1], -k[2] * y[1] + k[3] * y[0] * y[1]])

    return diffrax.diffeqsolve(
        diffrax.ODETerm(field), diffrax.Tsit5(), 0, 20, 0.1, jnp.array([10., 10.]),
        args=jnp.array([.1, .02, .4, .02]), saveat=diffrax.SaveAt(ts=jnp.linspace(0, 20, 30)),
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-4)).ys


def diffrax_gradient():
    import diffrax

    def loss(k):
        solution = diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, k: -k * y ** 2),
                                       diffrax.Dopri5(), 0, 3, 0.1, jnp.array([1., 2.]), args=k)
        return jnp.sum(solution.ys)

    return jax.jit(jax.value_and_grad(loss))(0.7)


def diffrax_brownian_motion():
    import diffrax

    motion = diffrax.VirtualBrownianTree(0., 1., tol=1e-3, shape=(), key=jax.random.key(0))
    terms = diffrax.MultiTerm(diffrax.ODETerm(lambda t, y, k: -y),
                              diffrax.ControlTerm(lambda t, y, k: 0.1 * t, motion))
    return diffrax.diffeqsolve(terms, diffrax.Euler(), 0., 1., dt0=0.05, y0=1.0).ys


def diffrax_stiff():
    import diffrax

    def robertson(t, y, k):
        a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return jnp.array([b - a, a - b - c, c])

    return diffrax.diffeqsolve(
        diffrax.ODETerm(robertson), diffrax.Kvaerno5(), 0, 10., 1e-4, jnp.array([1., 0, 0]),
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6), max_steps=500).ys


def lineax_solvers():
    import lineax as lx

    a = jax.random.normal(jax.random.key(0), (6, 6)) + 6 * jnp.eye(6)
    b = jnp.arange(6.)
    general = lx.MatrixLinearOperator(a)
    positive = lx.MatrixLinearOperator(a @ a.T + jnp.eye(6), lx.positive_semidefinite_tag)
    return [lx.linear_solve(operator, b, solver).value
            for operator, solver in [(general, lx.LU()), (general, lx.QR()), (general, lx.SVD()),
                                     (positive, lx.Cholesky()), (positive, lx.CG(1e-5, 1e-5))]]


def optimistix_solvers():
    import optimistix as optx

    def field(y, _):
        return jnp.array([y[0] ** 2 + y[1] - 11, y[0] + y[1] ** 2 - 7])

    return (optx.root_find(field, optx.Newton(1e-6, 1e-6), jnp.array([3.5, 1.5])).value,
            optx.least_squares(field, optx.LevenbergMarquardt(1e-6, 1e-6),
                               jnp.array([3., 1.])).value,
            optx.minimise(lambda y, _: jnp.sum((y - 2) ** 4 + y ** 2), optx.BFGS(1e-5, 1e-5),
                          jnp.zeros(3)).value,
            optx.fixed_point(lambda y, _: jnp.cos(y), optx.FixedPointIteration(1e-6, 1e-6),
                             jnp.array(1.)).value)


def numpyro_nuts():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    x = np.linspace(-1, 1, 40)
    y = 1.5 * x + 0.3 + 0.1 * np.random.default_rng(0).normal(size=40)

    def model(x, y):
        slope = numpyro.sample("slope", dist.Normal(0, 2))
        offset = numpyro.sample("offset", dist.Normal(0, 2))
        noise = numpyro.sample("noise", dist.HalfNormal(1))
        numpyro.sample("y", dist.Normal(slope * x + offset, noise), obs=y)

    chain = MCMC(NUTS(model), num_warmup=200, num_samples=300, progress_bar=False)
    chain.run(jax.random.key(0), x, y)
    return Roughly({name: sample.mean() for name, sample in chain.get_samples().items()})


def numpyro_svi():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    data = jnp.array([1.] * 7 + [0.] * 3)

    def model(data):
        fairness = numpyro.sample("fairness", dist.Beta(10, 10))
        with numpyro.plate("throws", 10):
            numpyro.sample("throw", dist.Bernoulli(fairness), obs=data)

    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.01), Trace_ELBO())
    return svi.run(jax.random.key(0), 200, data, progress_bar=False).losses[-5:]


def numpyro_distributions():
    import numpyro.distributions as dist

    distributions = [
        dist.Gamma(2., 3.), dist.Beta(2., 5.), dist.StudentT(4.), dist.Poisson(3.),
        dist.Dirichlet(jnp.ones(4)), dist.Categorical(probs=jnp.array([.2, .3, .5])),
        dist.NegativeBinomial2(3., 2.), dist.VonMises(0., 2.), dist.Weibull(2., 1.5),
        dist.MultivariateNormal(jnp.zeros(3), 2 * jnp.eye(3)), dist.LKJCholesky(3, 1.5),
        dist.Laplace(), dist.Cauchy(), dist.Gumbel(), dist.InverseGamma(3., 2.),
        dist.TruncatedNormal(low=0.)]
    return [d.log_prob(d.sample(jax.random.key(3), (20,))) for d in distributions]


def blackjax_nuts():
    import blackjax

    def density(x):
        return -0.5 * jnp.sum(((x - jnp.array([1., -2.])) / jnp.array([1., .5])) ** 2)

    kernel = blackjax.nuts(density, 0.3, jnp.ones(2))
    state, step, places = kernel.init(jnp.zeros(2)), jax.jit(kernel.step), []
    for i in range(60):
        state, _ = step(jax.random.fold_in(jax.random.key(1), i), state)
        places.append(state.position)
    return Roughly(jnp.stack(places).mean(0))


def haiku_resnet():
    import haiku as hk

    net = hk.transform_with_state(lambda x: hk.nets.ResNet18(10, logits_config={
        "w_init": hk.initializers.RandomNormal()})(x, True))
    x = jax.random.normal(jax.random.key(0), (4, 64, 64, 3))
    parameters, state = net.init(jax.random.key(1), x)
    return jax.jit(lambda p, s, x: net.apply(p, s, None, x)[0])(parameters, state, x)


def haiku_lstm_gradient():
    import haiku as hk

    def net(x):
        core = hk.LSTM(16)
        y, _ = hk.dynamic_unroll(core, x, core.initial_state(3))
        return hk.Linear(2)(y)

    net = hk.without_apply_rng(hk.transform(net))
    x = jax.random.normal(jax.random.key(0), (11, 3, 5))
    parameters = net.init(jax.random.key(1), x)
    return jax.jit(jax.grad(lambda p: jnp.sum(net.apply(p, x) ** 2)))(parameters)


def distrax_flow():
    import distrax

    flow = distrax.Transformed(distrax.Normal(0., 1.), distrax.Chain(
        [distrax.Tanh(), distrax.ScalarAffine(0.1, 2.)]))
    sample, density = flow.sample_and_log_prob(seed=jax.random.key(0), sample_shape=(50,))
    mixture = distrax.MixtureSameFamily(distrax.Categorical(jnp.zeros(3)),
                                        distrax.Normal(jnp.arange(3.), jnp.ones(3)))
    return sample, density, mixture.log_prob(sample)


def jaxopt_solvers():
    import jaxopt

    x = jax.random.normal(jax.random.key(0), (50, 5))
    y = x @ jnp.arange(5.)

    def loss(w, _=None):
        return jnp.mean((x @ w - y) ** 2)

    lasso = jaxopt.ProximalGradient(fun=loss, prox=jaxopt.prox.prox_lasso, maxiter=50)
    return (jaxopt.LBFGS(fun=loss, maxiter=50).run(jnp.zeros(5)).params,
            lasso.run(jnp.zeros(5), hyperparams_prox=0.1).params)


def tinygp_likelihood():
    import tinygp

    x = jnp.linspace(0, 5, 20)

    def loss(p):
        kernel = jnp.exp(p[0]) * tinygp.kernels.Matern32(jnp.exp(p[1]))
        return -tinygp.GaussianProcess(kernel, x, diag=0.01).log_probability(jnp.sin(x))

    return jax.jit(jax.value_and_grad(loss))(jnp.zeros(2))


def jraph_convolution():
    import jraph

    graph = jraph.GraphsTuple(
        nodes=jax.random.normal(jax.random.key(0), (6, 4)), edges=jnp.ones((9, 2)),
        senders=jnp.array([0, 1, 2, 3, 4, 5, 0, 2, 4]),
        receivers=jnp.array([1, 2, 3, 4, 5, 0, 3, 5, 1]),
        n_node=jnp.array([6]), n_edge=jnp.array([9]), globals=jnp.ones((1, 3)))
    w = jax.random.normal(jax.random.key(1), (4, 4))
    net = jraph.GraphConvolution(lambda nodes: nodes @ w, add_self_edges=True,
                                 symmetric_normalization=True)
    return jax.jit(net)(graph).nodes


def brax_pendulum():
    from brax import envs

    env = envs.get_environment("inverted_pendulum", backend="generalized")
    state, step = jax.jit(env.reset)(jax.random.key(0)), jax.jit(env.step)
    for _ in range(5):
        state = step(state, 0.1 * jnp.ones(env.action_size))
    return state.obs


def mjx_falling_ball():
    import mujoco
    from mujoco import mjx

    model = mujoco.MjModel.from_xml_string("""
        <mujoco><worldbody>
          <geom type="plane" size="5 5 .1"/>
          <body pos="0 0 1"><freejoint/><geom size=".2" mass="1"/></body>
          <body pos="0 0 .5">
            <joint type="hinge" axis="0 1 0"/><geom type="capsule" size=".05 .3"/>
          </body>
        </worldbody></mujoco>""")
    device = jax.config.jax_default_device
    world, data = mjx.put_model(model, device=device), mjx.make_data(model, device=device)
    step = jax.jit(mjx.step)
    for _ in range(20):
        data = step(world, data)
    return data.qpos


def e3nn_products():
    import e3nn_jax as e3nn

    x = e3nn.normal("3x0e+2x1o+1x2e", jax.random.key(0), (5,))
    directions = e3nn.IrrepsArray("1o", jax.random.normal(jax.random.key(1), (7, 3)))
    return (e3nn.tensor_product(x, x).filter(["0e", "1o", "2e"]).array,
            e3nn.spherical_harmonics("0e+1o+2e+3o", directions, True).array)


def nnx_recurrent_network():
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(20, 16, rngs=rngs)
            self.recur = nnx.RNN(nnx.OptimizedLSTMCell(16, 24, rngs=rngs))
            self.last = nnx.Linear(24, 20, rngs=rngs)

        def __call__(self, x):
            return self.last(self.recur(self.embed(x)))

    net = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(net, optax.adamw(1e-2), wrt=nnx.Param)
    x = jax.random.randint(jax.random.key(0), (8, 15), 0, 20)

    @nnx.jit
    def step(net, optimizer):
        loss, gradient = nnx.value_and_grad(
            lambda net: optax.softmax_cross_entropy_with_integer_labels(
                net(x[:, :-1]), x[:, 1:]).mean())(net)
        optimizer.update(net, gradient)
        return loss

    return jnp.stack([step(net, optimizer) for _ in range(10)])


def haiku_norm_and_dropout():
    import haiku as hk
    import optax

    def net(x, is_training):
        x = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(hk.Linear(32, False)(x), is_training))
        return hk.Linear(4)(hk.dropout(hk.next_rng_key(), 0.3, x) if is_training else x)

    net = hk.transform_with_state(net)
    x = jax.random.normal(jax.random.key(0), (64, 10))
    labels = x[:, :4].argmax(-1)
    parameters, state = net.init(jax.random.key(1), x, True)
    optimizer = optax.chain(optax.clip_by_global_norm(1.), optax.adam(1e-2))

    def loss(parameters, state, key):
        logits, state = net.apply(parameters, state, key, x, True)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), state

    def step(carry, key):
        parameters, state, moments = carry
        (value, state), gradient = jax.value_and_grad(loss, has_aux=True)(parameters, state, key)
        updates, moments = optimizer.update(gradient, moments)
        return (optax.apply_updates(parameters, updates), state, moments), value

    (parameters, state, _), values = jax.jit(lambda carry, keys: jax.lax.scan(step, carry, keys))(
        (parameters, state, optimizer.init(parameters)), jax.random.split(jax.random.key(2), 30))
    return values, net.apply(parameters, state, None, x, False)[0]


def jraph_attention():
    import jraph

    nodes, edges = 60, 300
    keys = jax.random.split(jax.random.key(0), 5)
    x = jax.random.normal(keys[0], (nodes, 8))
    senders, receivers = jax.random.randint(keys[1], (2, edges), 0, nodes)

    def loss(w, a):
        n = x
        for _ in range(2):
            h = n @ w
            scores = jnp.concatenate([h[senders], h[receivers]], -1) @ a
            share = jraph.segment_softmax(jax.nn.leaky_relu(scores), receivers, nodes)
            n = jax.nn.elu(jraph.segment_sum(share[:, None] * h[senders], receivers, nodes))
        return jnp.sum(n ** 2)

    return jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))(
        jax.random.normal(keys[2], (8, 8)), jax.random.normal(keys[3], (16,)))


def optimistix_implicit_gradient():
    import optimistix as optx

    def root(a):
        return optx.root_find(lambda y, a: jnp.tanh(a @ y) + 0.5 * y - 1, optx.Newton(1e-6, 1e-6),
                              jnp.zeros(5), args=a).value.sum()

    return jax.jit(jax.value_and_grad(root))(0.3 * jax.random.normal(jax.random.key(0), (5, 5)))


def optax_optimizers():
    import optax

    start = {"w": jnp.linspace(-1, 1, 12).reshape(3, 4), "b": jnp.ones(4)}
    x = jax.random.normal(jax.random.key(0), (20, 3))

    def run(optimizer):
        def step(carry, _):
            p, state = carry
            gradient = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(p)
            updates, state = optimizer.update(gradient, state, p)
            return (optax.apply_updates(p, updates), state), None

        return jax.jit(lambda p: jax.lax.scan(step, (p, optimizer.init(p)), length=3)[0][0])(start)

    names = ("adamw lamb lars rmsprop adafactor adagrad lion nadam radam yogi sm3 novograd "
             "adabelief fromage noisy_sgd")
    return [run(getattr(optax, name)(1e-2)) for name in names.split()]


def flax_nnx():
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(4, 16, rngs=rngs)
            self.norm = nnx.BatchNorm(16, rngs=rngs)
            self.dropout = nnx.Dropout(0.2, rngs=rngs)
            self.last = nnx.Linear(16, 2, rngs=rngs)

        def __call__(self, x):
            return self.last(nnx.relu(self.dropout(self.norm(self.first(x)))))

    net = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
    x = jax.random.normal(jax.random.key(0), (16, 4))

    @nnx.jit
    def step(net, optimizer):
        loss, gradient = nnx.value_and_grad(lambda net: jnp.mean(net(x) ** 2))(net)
        optimizer.update(net, gradient)
        return loss

    return jnp.stack([step(net, optimizer) for _ in range(5)])


PROGRAMS = [value for name, value in list(globals().items())
            if callable(value) and getattr(value, "__module__", "") == __name__
            and not isinstance(value, type)]
