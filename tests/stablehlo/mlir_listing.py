"""A module as MLIR's Python bindings see it, written as listing.cc writes ours: one line an op,
with its operands, result types and attributes. `?` stands for what this side cannot read."""
import re
import zlib

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

DTYPES = {"i1": "pred", "i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64", "ui8": "u8",
          "ui16": "u16", "ui32": "u32", "ui64": "u64", "f16": "f16", "bf16": "bf16",
          "f32": "f32", "f64": "f64", "complex<f32>": "c64", "complex<f64>": "c128"}
STRUCTS = {
    "dot_dimension_numbers": (hlo.DotDimensionNumbers, [
        "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
        "rhs_contracting_dimensions"]),
    "scatter_dimension_numbers": (hlo.ScatterDimensionNumbers, [
        "update_window_dims", "inserted_window_dims", "input_batching_dims",
        "scatter_indices_batching_dims", ("scatter_dims_to_operand_dims",
                                          "scattered_dims_to_operand_dims"), "index_vector_dim"]),
    "gather": (hlo.GatherDimensionNumbers, [
        "offset_dims", "collapsed_slice_dims", "operand_batching_dims",
        "start_indices_batching_dims", "start_index_map", "index_vector_dim"]),
    "convolution": (hlo.ConvDimensionNumbers, [
        "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions",
        "kernel_input_feature_dimension", "kernel_output_feature_dimension",
        "kernel_spatial_dimensions", "output_batch_dimension", "output_feature_dimension",
        "output_spatial_dimensions"]),
}
# Custom calls that the reader writes as ops, of those in the corpus.
REWRITTEN_CALLS = {"ApproxTopK"}
UNKNOWN = "?"


class Unlisted(Exception):
    """Not shown here: a type that NumPy or our IR lacks, or an op that the reader writes as others."""


def has_columns_first(custom_call):
    """Whether a layout of the call is not row-major, so that transposes stand around it."""
    layouts = [np.asarray(layout) for key in ("operand_layouts", "result_layouts")
               if key in custom_call.attributes for layout in custom_call.attributes[key]]
    return any((np.diff(layout) > 0).any() for layout in layouts)


def type_text(t):
    if str(t) == "!stablehlo.token":
        return "token"
    if not isinstance(t, ir.RankedTensorType):
        raise Unlisted(str(t))
    t = ir.RankedTensorType(t)
    element = DTYPES.get(str(t.element_type))
    if element is None or any(t.is_dynamic_dim(i) for i in range(t.rank)):
        raise Unlisted(str(t))
    return f"{element}[{','.join(map(str, t.shape))}]"


def constant_text(attr):
    kind = type_text(attr.type)
    try:
        array = np.asarray(attr)
        if kind.startswith("pred"):
            array = array.astype(np.uint8)
        if kind.startswith(("bf16", "f16", "c")) and array.dtype.itemsize not in (2, 8, 16):
            return UNKNOWN
        return f"{zlib.crc32(np.ascontiguousarray(array).tobytes()):08x}"
    except Exception:  # element types numpy lacks
        return UNKNOWN


def ints_text(values):
    return "[" + ",".join(str(int(v)) for v in values) + "]"


def value_text(attr):
    """Of attributes that need no knowledge of their op."""
    text = str(attr)
    if text in ("true", "unit"):
        return "1"
    if text == "false":
        return None
    choice = re.fullmatch(r"#stablehlo<\w+ (\w+)>", text)
    if choice:
        return choice[1] if choice[1] != "NOTYPE" else None
    if text.startswith("array<"):
        return ints_text(v for v in attr)
    if isinstance(attr, ir.DenseElementsAttr):
        return ints_text(np.asarray(attr).reshape(-1))
    if isinstance(attr, ir.IntegerAttr):
        return str(ir.IntegerAttr(attr).value)
    if isinstance(attr, ir.FlatSymbolRefAttr):
        return ir.FlatSymbolRefAttr(attr).value
    if isinstance(attr, ir.StringAttr):
        return ir.StringAttr(attr).value or None
    return UNKNOWN


def defaults(op, name):
    if name == "convolution":
        n = len(op.operands[0].type.shape) - 2
        return {"window_strides": [1] * n, "padding": [0] * 2 * n, "lhs_dilation": [1] * n,
                "rhs_dilation": [1] * n, "window_reversal": [0] * n}
    if name in ("reduce_window", "select_and_scatter"):
        n = len(op.operands[0].type.shape)
        out = {"window_strides": [1] * n, "padding": [0] * 2 * n}
        if name == "reduce_window":
            out |= {"base_dilations": [1] * n, "window_dilations": [1] * n}
        return out
    if name == "sort":
        return {"dimension": len(op.operands[0].type.shape) - 1}
    if name == "custom_call":
        return {"api_version": 1}
    return {}


RENAMED = {"decomposition": "callee"}
IGNORED = {"version", "called_computations", "operand_layouts", "result_layouts", "result_accuracy",
           "output_operand_aliases", "mhlo.frontend_attributes", "mhlo.sharding", "sdy.sharding"}


def attrs_of(op, name):
    out = {k: ints_text(v) if isinstance(v, list) else str(v)
           for k, v in defaults(op, name).items()}
    for key in op.attributes:
        try:
            attr = op.attributes[key]
        except TypeError:  # a kind of attribute that the bindings lack
            out[key] = UNKNOWN
            continue
        struct = STRUCTS.get(name if key == "dimension_numbers" else key)
        if struct:
            numbers = struct[0](attr)
            for field in struct[1]:
                ours, theirs = field if isinstance(field, tuple) else (field, field)
                value = getattr(numbers, theirs)
                out[ours] = str(value) if isinstance(value, int) else ints_text(value)
        elif key == "value" and name == "constant":
            out[key] = constant_text(attr)
        elif key == "precision_config":
            best = [p for p in ("HIGH", "HIGHEST") if re.search(rf"\b{p}\b", str(attr))]
            if best:
                out["precision"] = best[-1]
        elif key == "algorithm":
            element = re.search(r"accumulation_type = (\w+)", str(attr))[1]
            out["accumulation_type"] = DTYPES.get(element, element)
        elif key in ("backend_config", "mhlo.backend_config", "composite_attributes"):
            if str(attr) not in ('""', "{}"):
                out[key.removeprefix("mhlo.")] = UNKNOWN
            k = re.search(r"\bk = (\d+)", str(attr))
            if key == "composite_attributes" and k:
                out["k"] = k[1]
        elif key not in IGNORED and not key.startswith(("mhlo.", "sdy.", "jax.", "_xla")):
            value = value_text(attr)
            if value is not None:
                out[RENAMED.get(key, key)] = value
    return "".join(f" {k}={out[k]}" for k in sorted(out))


IDENTITIES = {"sdy.sharding_constraint", "sdy.reshard", "stablehlo.all_reduce",
              "stablehlo.all_gather", "stablehlo.all_to_all", "stablehlo.reduce_scatter",
              "stablehlo.collective_broadcast"}
SHARDING_CALLS = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"}


class Listing:
    def __init__(self):
        self.lines = []
        self.numbers = {}
        self.next = 0

    def define(self, values):
        for v in values:
            self.numbers[v] = self.next
            self.next += 1

    def alias(self, values, numbers):
        for v, n in zip(values, numbers, strict=True):
            self.numbers[v] = n

    def operands(self, op):
        return [self.numbers[v] for v in op.operands]

    def function(self, op):
        name = ir.StringAttr(op.attributes["sym_name"]).value
        private = "private" in str(dict(op.attributes.items()).get("sym_visibility"))
        block = op.regions[0].blocks[0]
        self.numbers, self.next = {}, 0
        self.define(block.arguments)
        args = [type_text(a.type) for a in block.arguments]
        infos = op.attributes["arg_attrs"] if "arg_attrs" in op.attributes else []
        for i, info in enumerate(infos):
            info = ir.DictAttr(info)
            if "tf.aliasing_output" in info:
                args[i] += f" alias={ir.IntegerAttr(info['tf.aliasing_output']).value}"
            if "jax.buffer_donor" in info:
                args[i] += " donor"
            if "mhlo.memory_kind" in info:
                args[i] += f" memory={ir.StringAttr(info['mhlo.memory_kind']).value}"
            if "mhlo.layout_mode" in info:
                args[i] += f" layout={ir.StringAttr(info['mhlo.layout_mode']).value}"
            if "sdy.sharding" in info:
                args[i] += f" sharding={str(info['sdy.sharding']).removeprefix('#sdy.sharding')}"
        self.lines.append(f"func {name}{' private' if private else ''} ({', '.join(args)})")
        self.block(block)

    def block(self, block):
        for op in block.operations:
            self.op(op.operation)

    def op(self, op):
        name = op.name
        if name in ("func.return", "stablehlo.return", "sdy.return"):
            self.lines.append("return" + "".join(f" %{n}" for n in self.operands(op)))
            return
        target = name == "stablehlo.custom_call" and ir.StringAttr(
            op.attributes["call_target_name"]).value
        if name == "stablehlo.rng" or target in REWRITTEN_CALLS or (
                target and has_columns_first(op)):
            raise Unlisted(name)
        if name in IDENTITIES or target in SHARDING_CALLS:
            return self.alias(op.results, self.operands(op))
        if name == "sdy.manual_computation":
            block = op.regions[0].blocks[0]
            self.alias(block.arguments, self.operands(op))
            self.block(block)
            self.lines.pop()  # its return
            returned = list(block.operations)[-1].operation
            return self.alias(op.results, self.operands(returned))
        self.plain(op, {"func.call": "call", "stablehlo.create_token": "after_all"}.get(
            name, name.removeprefix("stablehlo.")))

    def plain(self, op, name):
        operands = "".join(f" %{n}" for n in self.operands(op))
        attrs = attrs_of(op, name)
        if name in ("partition_id", "replica_id"):
            name, attrs = "constant", " value=?"
        types = ", ".join(type_text(r.type) for r in op.results)
        self.define(op.results)
        self.lines.append(f"{name}{operands}{attrs} : {types}")
        for region in op.regions:
            block = region.blocks[0]
            self.define(block.arguments)
            args = ", ".join(type_text(a.type) for a in block.arguments)
            self.lines.append(f"region ({args})")
            self.block(block)


def listing(module):
    out = Listing()
    for op in module.body.operations:
        if op.operation.name == "func.func":
            out.function(op.operation)
    return out.lines


def names_in(module):
    names = set()

    def visit(op):
        names.add(op.name.removeprefix("stablehlo."))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return names
