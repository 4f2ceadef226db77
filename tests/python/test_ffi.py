"""Users' own handlers (jax.ffi), compiled here against the headers that come with jaxlib."""

import ctypes
import pathlib
import re
import shutil
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import assert_same

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="handlers are compiled by g++")
ABI = pathlib.Path(__file__).resolve().parents[2] / "src"

SOURCE = r"""
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include "xla/ffi/api/c_api.h"
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;

static ffi::Error Scale(ffi::Buffer<ffi::F32> x, float times, int64_t add, std::string_view mode,
                        ffi::Span<const int64_t> numbers, ffi::Span<const float> weights,
                        ffi::Dictionary more, bool negate,
                        ffi::ResultBuffer<ffi::F32> y) {
  if (mode == "fail") return ffi::Error::InvalidArgument("asked to fail");
  if (mode != "plain") return ffi::Error(ffi::ErrorCode::kOutOfRange, "mode " + std::string(mode));
  float sum = add;
  for (int64_t n : numbers) sum += n;
  for (float w : weights) sum += w;
  sum += *more.get<double>("half");
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = (negate ? -1 : 1) * times * x.typed_data()[i] + sum;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(scale, Scale, ffi::Ffi::Bind()
    .Arg<ffi::Buffer<ffi::F32>>().Attr<float>("times").Attr<int64_t>("add")
    .Attr<std::string_view>("mode").Attr<ffi::Span<const int64_t>>("numbers")
    .Attr<ffi::Span<const float>>("weights").Attr<ffi::Dictionary>("more")
    .Attr<bool>("negate").Ret<ffi::Buffer<ffi::F32>>());

static ffi::Error Shape(ffi::AnyBuffer x, ffi::ResultBuffer<ffi::S64> y) {
  y->typed_data()[0] = x.dimensions()[0];
  y->typed_data()[1] = x.dimensions()[1];
  y->typed_data()[2] = static_cast<int32_t*>(x.untyped_data())[1];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(shape, Shape,
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::Buffer<ffi::S64>>());

static ffi::Error InPlace(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (x.untyped_data() != y->untyped_data()) return ffi::Error::Internal("not the same memory");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] *= 2;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(in_place, InPlace, ffi::Ffi::Bind()
    .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

struct Counter {
  static ffi::TypeId id;
  static std::atomic<int64_t> made;
  Counter() { ++made; }
  std::atomic<int64_t> value{0};
};
ffi::TypeId Counter::id = {};
std::atomic<int64_t> Counter::made = 0;
extern "C" void* counter_id() { return &Counter::id; }
#if XLA_FFI_API_MINOR >= 2
static ffi::TypeInfo counter_info = ffi::MakeTypeInfo<Counter>();
extern "C" void* counter_type_info() { return &counter_info; }
#endif

static ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter() { return std::make_unique<Counter>(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(make_counter, MakeCounter, ffi::Ffi::BindInstantiate());
static ffi::Error Count(Counter* counter, ffi::ResultBuffer<ffi::S64> y) {
  y->typed_data()[0] = ++counter->value;
  y->typed_data()[1] = Counter::made;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(count, Count,
    ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<ffi::Buffer<ffi::S64>>());

static ffi::Future Parallel(ffi::ThreadPool pool, ffi::ScratchAllocator scratch,
                            ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  ffi::Promise promise;
  ffi::Future future(promise);
  int64_t n = x.element_count();
  if (!scratch.Allocate(64)) {
    promise.SetError(ffi::Error::Internal("no scratch"));
    return future;
  }
  auto left = std::make_shared<std::atomic<int64_t>>(n);
  auto done = std::make_shared<ffi::Promise>(std::move(promise));
  for (int64_t i = 0; i < n; ++i)
    pool.Schedule([=, from = x.typed_data(), to = y->typed_data()] {
      to[i] = from[i] + pool.num_threads() * 0 + 1;
      if (--*left == 0) done->SetAvailable();
    });
  if (n == 0) done->SetAvailable();
  return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(parallel, Parallel, ffi::Ffi::Bind()
    .Ctx<ffi::ThreadPool>().Ctx<ffi::ScratchAllocator>()
    .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

extern "C" void untyped_sum(void* out, const void** in) {
  const float* x = static_cast<const float*>(in[0]);
  *static_cast<float*>(out) = x[0] + x[1];
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ffi")
    (folder / "handlers.cc").write_text(SOURCE)
    subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}",
                    "handlers.cc", "-o", "handlers.so"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "handlers.so"))
    # Before and after the client exists: some are registered by the tests themselves.
    for name in ("scale", "shape", "in_place", "parallel"):
        jax.ffi.register_ffi_target(f"test_{name}", jax.ffi.pycapsule(getattr(library, name)))
    return library


def scale(x, mode="plain"):
    return jax.ffi.ffi_call("test_scale", jax.ShapeDtypeStruct(x.shape, x.dtype))(
        x, times=np.float32(2.5), add=np.int64(-3), mode=mode, negate=True,
        numbers=np.array([1, 2, 3], np.int64), weights=np.array([0.1, -1e-30], np.float32),
        more={"half": np.float64(0.5)})


def test_attributes_of_all_kinds(library, agree):
    agree(lambda x: scale(x) + 1, np.arange(12, dtype=np.float32).reshape(3, 4))
    agree(scale, np.zeros((0, 4), np.float32))


def test_an_error_keeps_its_code_and_the_next_call_works(library, tercel):
    with pytest.raises(jax.errors.JaxRuntimeError, match="INVALID_ARGUMENT.*asked to fail"):
        jax.jit(lambda x: scale(x, "fail"))(jnp.ones(3)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="OUT_OF_RANGE.*mode strange"):
        jax.jit(lambda x: scale(x, "strange"))(jnp.ones(3)).block_until_ready()
    assert abs(jax.jit(scale)(jnp.ones(3))[0] - 1.1) < 1e-6


def test_a_wrong_attribute_is_named(library, tercel):
    call = jax.ffi.ffi_call("test_scale", jax.ShapeDtypeStruct((3,), jnp.float32))
    with pytest.raises(jax.errors.JaxRuntimeError, match="[Ww]rong number of attributes"):
        jax.jit(lambda x: call(x, times=np.float32(1)))(jnp.ones(3)).block_until_ready()


@pytest.mark.parametrize("layout", [(0, 1), (1, 0)])
def test_layouts_are_what_was_asked_for(library, agree, x64, layout):
    call = jax.ffi.ffi_call("test_shape", jax.ShapeDtypeStruct((3,), jnp.int64),
                            input_layouts=[layout])
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    result = agree(lambda x: call(x), x)
    assert list(result) == [3, 4, 1 if layout == (0, 1) else 4]


def test_a_result_in_its_operands_memory(library, agree):
    call = jax.ffi.ffi_call("test_in_place", jax.ShapeDtypeStruct((5,), jnp.float32),
                            input_output_aliases={0: 0})
    x = np.arange(5, dtype=np.float32)
    agree(call, x)  # an argument: not to be changed
    agree(lambda x: (call(x + 1), x), x)
    agree(lambda x: (lambda y: (call(y), y * 3))(x + 1), x)
    agree(lambda x: jax.lax.fori_loop(0, 3, lambda i, v: call(v), x), x)
    agree(lambda x: call(call(x)), x)


def test_state_of_an_executable(library, tercel, x64):
    type_id = jax.ffi.pycapsule(_address(library.counter_id))
    if hasattr(library, "counter_type_info"):
        jax.ffi.register_ffi_type("TestCounter", {
            "type_id": type_id,
            "type_info": jax.ffi.pycapsule(_address(library.counter_type_info))})
    else:
        jax.ffi.register_ffi_type_id("TestCounter", type_id)
    jax.ffi.register_ffi_target("test_count", {
        "instantiate": jax.ffi.pycapsule(library.make_counter),
        "execute": jax.ffi.pycapsule(library.count)})
    call = jax.ffi.ffi_call("test_count", jax.ShapeDtypeStruct((2,), jnp.int64),
                            has_side_effect=True)
    first, second = jax.jit(lambda: call()), jax.jit(lambda: call() + 0)
    assert [int(first()[0]) for _ in range(3)] == [1, 2, 3]
    made = int(first()[1])
    assert int(second()[0]) == 1 and int(second()[1]) == made + 1


def _address(function):
    function.restype = ctypes.c_void_p
    return function()


def test_asynchronous_handlers_and_their_threads(library, tercel):
    # XLA:CPU runs the same handler; here it must be done when the result is read.
    call = jax.ffi.ffi_call("test_parallel", jax.ShapeDtypeStruct((50,), jnp.float32))
    x = np.arange(50, dtype=np.float32)
    for _ in range(20):
        assert_same(jax.jit(lambda x: call(x) * 2)(x), jnp.asarray((x + 1) * 2))


def test_a_function_without_a_call_frame(library, tercel):
    jax.ffi.register_ffi_target("test_untyped_sum", jax.ffi.pycapsule(library.untyped_sum),
                                api_version=0)
    call = jax.ffi.ffi_call("test_untyped_sum", jax.ShapeDtypeStruct((), jnp.float32),
                            custom_call_api_version=1)
    assert jax.jit(call)(jnp.array([2.0, 5.0])) == 7


@pytest.mark.native
def test_an_unknown_target_is_named_when_compiling(library, tercel):
    call = jax.ffi.ffi_call("nobody_has_this", jax.ShapeDtypeStruct((3,), jnp.float32))
    with pytest.raises(jax.errors.JaxRuntimeError,
                       match=r'UNIMPLEMENTED.*"nobody_has_this" of \(f32\[3\]\).*test_ffi.py'):
        jax.jit(call).lower(jnp.ones(3)).compile()


@pytest.mark.native
def test_a_program_with_calls_is_serialised(library, tercel):
    compiled = jax.jit(scale).lower(jnp.ones(3)).compile()
    client = tercel.client
    data = client.serialize_executable(compiled._executable.xla_executable)
    assert b"test_scale" in data


@pytest.mark.native
def test_custom_calls_survive_the_compilation_cache(library, tercel, tmp_path):
    from jax.experimental.serialize_executable import deserialize_and_load, serialize
    compiled = jax.jit(lambda x: scale(x) + jnp.linalg.inv(x)).lower(jnp.eye(3)).compile()
    again = deserialize_and_load(*serialize(compiled))
    assert_same(again(2 * jnp.eye(3)), compiled(2 * jnp.eye(3)))


def test_the_abi_is_jaxlibs(tmp_path):
    """Offsets of our transcription and of the header, wherever both have the name."""
    header = pathlib.Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h"
    ours = (ABI / "runtime/ffi/abi.h").read_text()
    theirs = header.read_text()
    old_states = int(re.search(r"define XLA_FFI_API_MINOR (\d+)", theirs).group(1)) < 3
    fields = []
    for name, body in re.findall(r"struct (XLA_FFI_\w+) {(?: *//[^\n]*)?\n(.*?)\n}", ours, re.S):
        if not re.search(rf"struct {name} {{|}} {name};", theirs) or name == "XLA_FFI_Api":
            continue
        if old_states and "_State_" in name:
            continue
        names = re.findall(r"(\w+);", re.sub(r"FFI_HEAD;", "", body))
        known = re.search(rf"struct {name} {{(.*?)\n}}", theirs, re.S).group(1)
        fields += [(name, field) for field in names if re.search(rf"\b{field};", known)]
    assert len(fields) > 60
    prints = "".join(f'std::printf("{s}.{f} %zu\\n", offsetof({s}, {f}));\n'
                     for s, f in fields)
    outputs = []
    for include in ("runtime/ffi/abi.h", "xla/ffi/api/c_api.h"):
        (tmp_path / "abi.cc").write_text(
            f'#include <cstddef>\n#include <cstdio>\n#include "{include}"\nint main() {{\n{prints}'
            'std::printf("%zu\\n", offsetof(XLA_FFI_Api, XLA_FFI_ERROR));}\n'.replace(
                "XLA_FFI_ERROR",
                "DeviceOrdinal_Get" if "runtime" in include else "XLA_FFI_DeviceOrdinal_Get"))
        subprocess.run(["g++", "-std=c++20", "-Wno-invalid-offsetof", f"-I{ABI}",
                        f"-I{jax.ffi.include_dir()}", "abi.cc", "-o", "abi"], cwd=tmp_path,
                       check=True)
        outputs.append(subprocess.run([tmp_path / "abi"], check=True, text=True,
                                      stdout=subprocess.PIPE).stdout)
    assert outputs[0] == outputs[1]
