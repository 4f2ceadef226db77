"""Saved programs beside IREE's runtime and ONNX Runtime: python aot.py prepare|measure FOLDER
Saved programs beside the plugin: python aot.py plugin
The same for aot_calls.cc, which needs no Python: python aot.py calls FOLDER

`plugin`, `calls` and `prepare` need JAX and Tercel, `measure` NumPy, onnx, onnxruntime,
iree-base-compiler and iree-base-runtime (all of PyPI), and Tercel's library (PJRT_TERCEL_LIBRARY):
two environments, one folder. The model is the demo's network; all use every CPU there is; runs take
turns, the least counts.
"""

import functools
import os
import pathlib
import sys
import time

import numpy as np

BATCHES = (1, 8, 64, 360)


def prepare(folder):
    import jax

    from tercel.aot import Program
    from tercel.demo import digits

    params = digits.init(jax.random.key(0))
    images = digits.load_digits()[2]
    predict = jax.jit(lambda x: digits.logits(params, x))

    class Network(Program):
        _params = Program.export_global(params, mutable=False)

        def predict(self, images=Program.like(images[:1], "batch, ...", batch=BATCHES)):
            return digits.logits(self._params, images)

    begin = time.perf_counter()
    Program.get_compiled_artifact(Network).save(folder / "network.tercel")
    print(f"Tercel: traced, compiled and saved in {time.perf_counter() - begin:.2f} s")
    for batch in BATCHES:
        exported = jax.export.export(predict, platforms=["cpu"])(images[:batch])
        (folder / f"network{batch}.mlirbc").write_bytes(exported.mlir_module_serialized)
    arrays = {f"{layer}.{name}": value for layer, leaves in params.items()
              for name, value in leaves.items()}
    np.savez(folder / "arrays.npz", images=images[:max(BATCHES)],
             scores=predict(images[:max(BATCHES)]), **arrays)


def tercel_program(folder, batch, arrays):
    import tercel

    model = tercel.load(folder / "network.tercel", num_threads=os.cpu_count())
    return model.predict


def onnx_program(folder, batch, arrays):
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper

    weights = {name: np.ascontiguousarray(arrays[f"{name}.w"].transpose(3, 2, 0, 1))
               for name in ("conv1", "conv2")}
    weights |= {name: arrays[f"{name}.w"] for name in ("dense1", "dense2")}
    tensors = [numpy_helper.from_array(value, f"{name}.w") for name, value in weights.items()]
    tensors += [numpy_helper.from_array(arrays[f"{name}.b"], f"{name}.b") for name in weights]
    tensors += [numpy_helper.from_array(np.array([batch, -1]), "flat")]
    nodes, last = [], "images"

    def add(kind, *inputs, **attributes):
        nonlocal last
        output = f"value{len(nodes)}"
        nodes.append(helper.make_node(kind, [last, *inputs], [output], **attributes))
        last = output

    add("Transpose", perm=[0, 3, 1, 2])
    for name in ("conv1", "conv2"):
        add("Conv", f"{name}.w", f"{name}.b", pads=[1, 1, 1, 1])
        add("Relu")
    add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    add("Transpose", perm=[0, 2, 3, 1])
    add("Reshape", "flat")
    add("Gemm", "dense1.w", "dense1.b")
    add("Relu")
    add("Gemm", "dense2.w", "dense2.b")
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info("images", kind, [batch, 8, 8, 1])],
        [helper.make_tensor_value_info(last, kind, [batch, 10])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    return lambda images: session.run(None, {"images": images})[0]


def iree_program(folder, batch, arrays):
    import iree.compiler
    import iree.runtime

    compiled = iree.compiler.compile_file(
        str(folder / f"network{batch}.mlirbc"), input_type="stablehlo",
        target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=host"])
    config = iree.runtime.Config("local-task")
    context = iree.runtime.SystemContext(config=config)
    context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, compiled))
    main = context.modules.jit__lambda.main
    return lambda images: main(images).to_host()


PROGRAMS = {"Tercel": tercel_program, "ONNX Runtime": onnx_program, "IREE": iree_program}


def least_times(calls, seconds=6.0, clock=time.perf_counter):
    least = {name: float("inf") for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in calls.items():
            for _ in range(20):
                begin = clock()
                call()
                least[name] = min(least[name], clock() - begin)
    return least


def measure(folder):
    arrays = np.load(folder / "arrays.npz")
    print("| batch | " + " | ".join(f"{name}: load ms, run us" for name in PROGRAMS) + " |")
    print("|---|" + "---|" * len(PROGRAMS))
    for batch in BATCHES:
        images, wanted = arrays["images"][:batch], arrays["scores"][:batch]
        calls, loads = {}, {}
        for name, make in PROGRAMS.items():
            begin = time.perf_counter()
            program = make(folder, batch, arrays)
            loads[name] = time.perf_counter() - begin
            np.testing.assert_allclose(program(images), wanted, rtol=1e-3, atol=1e-4)
            calls[name] = lambda program=program: program(images)
        least = least_times(calls)
        print(f"| {batch} | " + " | ".join(f"{loads[name] * 1e3:.0f}, {least[name] * 1e6:.0f}"
                                           for name in PROGRAMS) + " |", flush=True)


def block(params, x):
    """One block of a transformer: 4 heads, causal."""
    import jax
    import jax.numpy as jnp

    def norm(x):
        x = x - x.mean(-1, keepdims=True)
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    q, k, v = (norm(x) @ params[name] for name in "qkv")
    q, k, v = (a.reshape(*a.shape[:-1], 4, -1).swapaxes(-2, -3) for a in (q, k, v))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
    scores = jnp.where(jnp.tri(x.shape[1], dtype=bool), scores, -jnp.inf)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)
    x = x + mixed.swapaxes(-2, -3).reshape(x.shape) @ params["out"]
    return x + jax.nn.gelu(norm(x) @ params["up"]) @ params["down"]


def orbit(y):
    """Two thousand steps of Runge and Kutta for two bodies."""
    import jax
    import jax.numpy as jnp

    def slope(y):
        return jnp.concatenate([y[2:], -y[:2] / jnp.sum(y[:2] ** 2) ** 1.5])

    def step(_, y):
        a = slope(y)
        b = slope(y + 0.005 * a)
        c = slope(y + 0.005 * b)
        d = slope(y + 0.01 * c)
        return y + 0.01 / 6 * (a + 2 * b + 2 * c + d)

    return jax.lax.fori_loop(0, 2000, step, y)


def decode(params, cache, character, place):
    """One character more of the language model in examples/aot, and what it keeps of it."""
    import gpt
    scores, cache = gpt.forward(params, cache, character, place)
    return cache, scores


def training(values, images, labels):
    """A step of the demo's training: Adam on a batch."""
    from tercel.demo import digits
    params, state, loss = digits.train_step(*values, images, labels)
    return (params, state), loss


def plain_programs():
    """name -> a function and its arguments"""
    import jax
    import jax.numpy as jnp

    from tercel.demo import digits

    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.normal(size=shape).astype(np.float32)

    params = digits.init(jax.random.key(0))
    images = digits.load_digits()[2]
    weights = {name: normal(*size) / 16 for name, size in {
        "q": (256, 256), "k": (256, 256), "v": (256, 256), "out": (256, 256),
        "up": (256, 1024), "down": (1024, 256)}.items()}
    programs = {f"the network, batch {size}": (digits.logits, params, images[:size])
                for size in (1, 64, 360)}
    programs |= {
        "a transformer block": (block, weights, normal(2, 128, 256)),
        "an ODE": (orbit, np.float32([1, 0, 0, 1])),
        "a product of 512": (jnp.matmul, normal(512, 512), normal(512, 512)),
        "a product of 64": (jnp.matmul, normal(64, 64), normal(64, 64)),
        "softmax, 512 x 1000": (jax.nn.softmax, normal(512, 1000)),
        "sort of 100,000": (jnp.sort, normal(100_000)),
        "FFT, 64 x 1024": (jnp.fft.fft, normal(64, 1024)),
        "tanh of 1,000,000": (jnp.tanh, normal(1_000_000))}
    return programs


def programs_with_state():
    """name -> a function of its state and arguments, the state, arguments"""
    import jax

    import gpt
    from tercel.demo import digits

    images, labels = digits.load_digits()[:2]
    cache = jax.tree.map(lambda kind: np.zeros(kind.shape, kind.dtype), gpt.empty_cache())
    model = gpt.start(jax.random.key(0))
    return {"training on a batch of 64": (training, digits.start(0), images[:64], labels[:64]),
            "decoding of a character": (
                lambda state, *rest: decode(model, state, *rest), cache,
                np.int32([3]), np.int32(7))}


def with_state(function, state, arguments):
    """(the plugin's, the saved program's): functions without arguments, which both change their
    state in place."""
    import jax

    import tercel
    from tercel.aot import Program

    like = [Program.like(argument) for argument in arguments]

    class Stateful(Program):
        _state = state

        def run(self, first=like[0], second=like[1]):
            self._state, result = function(self._state, first, second)
            return result

    saved = tercel.load(Program.get_compiled_artifact(Stateful).to_bytes(),
                        num_threads=os.cpu_count())
    jitted = jax.jit(function, donate_argnums=0)
    there = jax.device_put(arguments, jax.devices("tercel")[0])
    held = [jax.device_put(jax.tree.map(np.array, state), jax.devices("tercel")[0])]

    def on_plugin():
        held[0], result = jitted(held[0], *there)
        return result.block_until_ready()

    return on_plugin, lambda: saved.run(*arguments)


def without_state(function, arguments):
    import jax

    import tercel
    from tercel import aot

    arguments = jax.tree.map(np.asarray, arguments)
    saved = tercel.load(aot.compile(function, *arguments, name="run").to_bytes(),
                        num_threads=os.cpu_count())
    jitted, there = jax.jit(function), jax.device_put(arguments, jax.devices("tercel")[0])
    return lambda: jitted(*there).block_until_ready(), lambda: saved.run(*arguments)


def calls(folder):
    """Programs of float32 in a file each."""
    from tercel import aot

    for name, (function, *arguments) in plain_programs().items():
        file = name.replace(", ", "_").replace(" ", "_") + ".tercel"
        if not name.startswith("FFT"):
            aot.compile(function, *arguments, name="run").save(folder / file)


def plugin():
    """The same programs on the same values: jax.jit on the plugin and tercel.load."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples" / "aot"))
    pairs = {name: functools.partial(without_state, function, arguments)
             for name, (function, *arguments) in plain_programs().items()}
    pairs |= {name: functools.partial(with_state, function, state, arguments)
              for name, (function, state, *arguments) in programs_with_state().items()}
    print("| program | plugin, us | saved, us | saved / plugin | CPU time |\n" + "|---" * 5 + "|")
    for name, make in pairs.items():
        jitted, saved = make()
        np.testing.assert_array_equal(saved(), jitted())
        calls = {"plugin": jitted, "saved": saved}
        least, least_cpu = (least_times(calls, 3.0, clock)
                            for clock in (time.perf_counter, time.process_time))
        print(f"| {name} | {least['plugin'] * 1e6:.0f} | {least['saved'] * 1e6:.0f} | "
              f"{least['saved'] / least['plugin']:.3f} | "
              f"{least_cpu['saved'] / least_cpu['plugin']:.3f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["plugin"]:
        plugin()
    else:
        {"prepare": prepare, "measure": measure, "calls": calls}[sys.argv[1]](pathlib.Path(sys.argv[2]))
