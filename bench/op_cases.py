"""The programs of ./dev bench --ops: every StableHLO op, as text with a type left open.

In a body $0, $1, ... are the operands' types, $r the result's, $s the scalar's, $t the element type
and $zero a constant of it.
"""

import dataclasses
import re

REAL = ("f32", "f64", "f16", "bf16")
COMPLEX = ("c64", "c128")
SIGNED = ("s8", "s16", "s32", "s64")
UNSIGNED = ("u8", "u16", "u32", "u64")
SMALL_INTEGERS = ("s2", "s4", "u2", "u4")
SMALL_FLOATS = ("f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2",
                "f8E5M2FNUZ", "f8E8M0FNU", "f4E2M1FN")
FLOATS = REAL + SMALL_FLOATS
INTEGERS = SIGNED + UNSIGNED + SMALL_INTEGERS
NUMBERS = FLOATS + COMPLEX + INTEGERS
ORDERED = FLOATS + INTEGERS
ALL = NUMBERS + ("pred",)
FULL = REAL + COMPLEX  # of linear algebra

MLIR = {"c64": "complex<f32>", "c128": "complex<f64>", "pred": "i1",
        **{name: "i" + name[1:] for name in SIGNED + ("s2", "s4")},
        **{name: "ui" + name[1:] for name in UNSIGNED + ("u2", "u4")}}


@dataclasses.dataclass
class Case:
    name: str
    types: tuple
    body: str
    operands: tuple  # each "1024x1024xT maker", with T for the type that is swept
    results: tuple

    def element(self, word, dtype):
        """The dimensions and element type of "2x3xT"."""
        *dims, element = word.split("x")
        return [int(d) for d in dims], dtype if element == "T" else element

    def tensor(self, word, dtype):
        dims, element = self.element(word, dtype)
        return f"tensor<{''.join(f'{d}x' for d in dims)}{MLIR.get(element, element)}>"

    def text(self, dtype):
        operands = [self.tensor(word.split()[0], dtype) for word in self.operands]
        results = [self.tensor(word, dtype) for word in self.results]
        zero = "0.0" if dtype.startswith(("f", "bf")) else "false" if dtype == "pred" else "0"
        if dtype == "f8E8M0FNU":
            zero = "1.0"
        if dtype in COMPLEX:
            zero = "(0.0,0.0)"
        scalar = self.tensor("T", dtype)
        words = {"r": results[0], "s": scalar, "t": MLIR.get(dtype, dtype),
                 "zero": f"stablehlo.constant dense<{zero}> : {scalar}",
                 **{str(i): t for i, t in enumerate(operands)}}
        body = re.sub(r"\$(\w+)", lambda match: words[match[1]], self.body)
        signature = ", ".join(f"%{i}: {t}" for i, t in enumerate(operands))
        names = ", ".join(["%r"] if len(results) == 1 else
                          [f"%r#{i}" for i in range(len(results))])
        return (f"module @m {{ func.func public @main({signature}) -> ({', '.join(results)}) {{\n"
                f"{body}\nreturn {names} : {', '.join(results)}\n}} }}")


CASES = {}
SQUARE = "1024x1024xT"
WIDE = "2048x1024xT"  # of what takes little time


def case(name, types, body, operands, *results):
    if name in CASES:
        raise ValueError(f"two cases are called {name}")
    CASES[name] = Case(name, types, body, operands, results)


def unary(names, types, maker="normal", dialect="stablehlo"):
    arrow = " -> $r" if dialect == "chlo" else ""
    for name in names.split():
        case(name, types, f"%r = {dialect}.{name} %0 : $0{arrow}", (f"{WIDE} {maker}",), WIDE)


def binary(names, types, left="normal", right="normal", dialect="stablehlo"):
    form = " : ($0, $1) -> $r" if dialect == "chlo" else " : $0"
    for name in names.split():
        case(name, types, f"%r = {dialect}.{name} %0, %1{form}",
             (f"{WIDE} {left}", f"{WIDE} {right}"), WIDE)


def region(op, operands="%a, %b"):
    """A region that combines two scalars."""
    return (f"({{\n^bb0(%a: $s, %b: $s):\n%v = stablehlo.{op} {operands} : $s\n"
            "stablehlo.return %v : $s })")


# Half the difference of two: nothing that a table of known reducers has.
ODD = ("({\n^bb0(%a: $s, %b: $s):\n%u = stablehlo.multiply %a, %b : $s\n"
       "%w = stablehlo.maximum %a, %b : $s\n%v = stablehlo.subtract %w, %u : $s\n"
       "stablehlo.return %v : $s })")


def elementwise():
    unary("abs negate sign", FLOATS + COMPLEX + SIGNED + ("s2", "s4"))
    unary("cbrt ceil floor round_nearest_afz round_nearest_even", FLOATS)
    unary("sqrt rsqrt log log_plus_one", FLOATS + COMPLEX, "positive")
    unary("cosine sine tan tanh exponential exponential_minus_one logistic", FLOATS + COMPLEX)
    unary("not", INTEGERS + ("pred",))
    unary("popcnt count_leading_zeros", INTEGERS)
    unary("acos asin atanh erf_inv", REAL, "unit", "chlo")
    unary("acosh digamma lgamma", REAL, "above_one", "chlo")
    unary("asinh atan cosh sinh erf erfc", REAL, "normal", "chlo")
    unary("square", FLOATS + COMPLEX, "normal", "chlo")
    CASES["abs"].types = FLOATS + SIGNED + ("s2", "s4")
    for t, part in (("c64", "f32"), ("c128", "f64")):
        for op in ("abs", "real", "imag"):
            case(f"{op}_{t}", (t,), f"%r = stablehlo.{op} %0 : ($0) -> $r",
                 (f"{WIDE} normal",), f"2048x1024x{part}")
    case("complex", ("f32",), "%r = stablehlo.complex %0, %1 : $r",
         (f"{WIDE} normal", f"{WIDE} normal"), "2048x1024xc64")
    case("is_finite", REAL, "%r = stablehlo.is_finite %0 : ($0) -> $r", (f"{WIDE} normal",),
         "2048x1024xpred")
    case("reduce_precision", REAL, "%r = stablehlo.reduce_precision %0, format = e4m6 : $0",
         (f"{WIDE} normal",), WIDE)
    binary("add subtract multiply", NUMBERS)
    binary("maximum minimum", ORDERED)
    binary("divide", NUMBERS, right="positive")
    binary("remainder", ORDERED, right="positive")
    binary("power", FLOATS + COMPLEX, "positive", "unit")
    binary("atan2", FLOATS + COMPLEX)
    binary("and or xor", INTEGERS + ("pred",))
    binary("shift_left shift_right_arithmetic shift_right_logical", INTEGERS, right="shift")
    case("power_of_integers", INTEGERS, "%r = stablehlo.power %0, %1 : $0",
         (f"{WIDE} normal", f"{WIDE} shift"), WIDE)
    for name, types in (("LT", ORDERED), ("EQ", ALL)):
        case(f"compare_{name}", types, f"%r = stablehlo.compare {name}, %0, %1 : ($0, $1) -> "
             "$r", (f"{WIDE} normal", f"{WIDE} normal"), "2048x1024xpred")
    case("select", ALL, "%r = stablehlo.select %0, %1, %2 : $0, $1",
         ("2048x1024xpred normal", f"{WIDE} normal", f"{WIDE} normal"), WIDE)
    case("clamp", ORDERED, "%r = stablehlo.clamp %0, %1, %2 : $0",
         (f"{WIDE} normal", f"{WIDE} normal", f"{WIDE} normal"), WIDE)
    case("map", FLOATS + COMPLEX, '%r = "stablehlo.map"(%0, %1) <{dimensions = array<i64: 0, 1>}>'
         f" {region('multiply')} : ($0, $1) -> $r",
         (f"{WIDE} normal", f"{WIDE} normal"), WIDE)


def conversions():
    for other in ("f32", "f64", "bf16", "f16", "s32", "u8", "s64", "pred", "f8E4M3FN", "s4"):
        for way, source, target in (("to", "T", other), ("from", other, "T")):
            case(f"convert_{way}_{other}", tuple(t for t in ALL if t != other),
                 "%r = stablehlo.convert %0 : ($0) -> $r", (f"2048x1024x{source} normal",),
                 f"2048x1024x{target}")
    for types, same in ((("f32", "s32"), "u32"), (("f64", "s64"), "u64"),
                        (("f16", "bf16", "s16"), "u16"), (("s8",) + SMALL_FLOATS[:8], "u8")):
        case(f"bitcast_convert_to_{same}", types,
             "%r = stablehlo.bitcast_convert %0 : ($0) -> $r", (f"{WIDE} normal",),
             f"2048x1024x{same}")


def movement():
    one = (f"{SQUARE} normal",)
    case("transpose", ALL, "%r = stablehlo.transpose %0, dims = [1, 0] : ($0) -> $r", one, SQUARE)
    case("transpose_inner", ALL, "%r = stablehlo.transpose %0, dims = [0, 2, 1] : ($0) -> $r",
         ("64x256x64xT normal",), "64x64x256xT")
    case("reverse", ALL, "%r = stablehlo.reverse %0, dims = [0, 1] : $0", one, SQUARE)
    case("reshape", ALL, "%r = stablehlo.reshape %0 : ($0) -> $r", one, "512x2048xT")
    case("broadcast_in_dim", ALL,
         "%r = stablehlo.broadcast_in_dim %0, dims = [0] : ($0) -> $r", ("1024xT normal",), SQUARE)
    case("slice", ALL, "%r = stablehlo.slice %0 [1:2047, 3:1023:2] : ($0) -> $r",
         ("2048x1024xT normal",), "2046x510xT")
    case("pad", ALL, "%z = $zero\n%r = stablehlo.pad %0, %z, low = [1, 3], high = [2, -1], "
         "interior = [0, 1] : ($0, $s) -> $r", ("1024x512xT normal",), "1027x1025xT")
    case("concatenate", ALL,
         "%r = stablehlo.concatenate %0, %1, dim = 1 : ($0, $1) -> $r",
         ("1024x511xT normal", "1024x513xT normal"), SQUARE)
    case("dynamic_slice", ALL, "%r = stablehlo.dynamic_slice %0, %1, %1, sizes = [1000, 1000] : "
         "($0, $1, $1) -> $r", (*one, "s32 shift"), "1000x1000xT")
    case("dynamic_update_slice", ALL, "%r = stablehlo.dynamic_update_slice %0, %1, %2, %2 : "
         "($0, $1, $2, $2) -> $r", (*one, "1000x500xT normal", "s32 shift"), SQUARE)
    for dim in (0, 1):
        case(f"iota_{dim}", NUMBERS, f"%r = stablehlo.iota dim = {dim} : $r", (), WIDE)
    for what, take, index, sizes in (("rows", "100000x32", "100000", "1, 32"),
                                     ("elements", "1000000", "1000000", "1, 1")):
        offset = "[1], collapsed_slice_dims = [0]" if what == "rows" else \
            "[], collapsed_slice_dims = [0, 1]"
        width = "1xs32" if what == "rows" else "2xs32"
        start = "[0]" if what == "rows" else "[0, 1]"
        case(f"gather_{what}", ALL, '%r = "stablehlo.gather"(%0, %1) <{dimension_numbers = '
             f"#stablehlo.gather<offset_dims = {offset}, start_index_map = {start}, "
             f"index_vector_dim = 1>, slice_sizes = array<i64: {sizes}>}}> : ($0, $1) -> "
             "$r", ("20000x32xT normal", f"{index}x{width} index"), f"{take}xT")


def reductions():
    one = (f"{SQUARE} normal",)
    for op, types in (("add", NUMBERS), ("multiply", NUMBERS), ("maximum", ORDERED),
                      ("minimum", ORDERED), ("and", INTEGERS + ("pred",)), ("or", ("pred", "u32")),
                      ("xor", ("pred", "u32"))):
        for where, dims, result in (("rows", "1", "1024xT"), ("columns", "0", "1024xT"),
                                    ("all", "0, 1", "T")):
            case(f"reduce_{op}_{where}", types, "%z = $zero\n%r = stablehlo.reduce(%0 init: %z) "
                 f"applies stablehlo.{op} across dimensions = [{dims}] : ($0, $s) -> $r",
                 one, result)
    case("reduce_odd_rows", ORDERED, '%z = $zero\n%r = "stablehlo.reduce"(%0, %z) <{dimensions = '
         f"array<i64: 1>}}> {ODD} : ($0, $s) -> $r", one, "1024xT")
    case("argmax_rows", ORDERED, """%z = $zero
%n = stablehlo.constant dense<0> : tensor<i32>
%i = stablehlo.iota dim = 1 : tensor<1024x1024xi32>
%r:2 = "stablehlo.reduce"(%0, %i, %z, %n) <{dimensions = array<i64: 1>}> ({
^bb0(%a: $s, %p: tensor<i32>, %b: $s, %q: tensor<i32>):
%c = stablehlo.compare GT, %a, %b : ($s, $s) -> tensor<i1>
%e = stablehlo.compare EQ, %a, %b : ($s, $s) -> tensor<i1>
%l = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
%m = stablehlo.and %e, %l : tensor<i1>
%o = stablehlo.or %c, %m : tensor<i1>
%v = stablehlo.select %c, %a, %b : tensor<i1>, $s
%w = stablehlo.select %o, %p, %q : tensor<i1>, tensor<i32>
stablehlo.return %v, %w : $s, tensor<i32>
}) : ($0, tensor<1024x1024xi32>, $s, tensor<i32>) -> (tensor<1024x$t>, tensor<1024xi32>)""",
         one, "1024xT", "1024xs32")


def windows():
    def window(name, op, types, operand, result, facts):
        reducer = ODD if op == "odd" else region(op)
        case(name, types, f'%z = $zero\n%r = "stablehlo.reduce_window"(%0, %z) <{{{facts}}}> '
             f"{reducer} : ($0, $s) -> $r", (f"{operand} normal",), result)

    pool = ("window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>")
    for op in ("add", "maximum", "odd"):
        window(f"reduce_window_pool_{op}", op, NUMBERS if op == "add" else ORDERED,
               "4x64x64x64xT", "4x32x32x64xT", pool)
    window("reduce_window_overlap_add", "add", NUMBERS, "4x64x64x64xT", "4x62x62x64xT",
           "window_dimensions = array<i64: 1, 3, 3, 1>")
    window("reduce_window_nchw_maximum", "maximum", ORDERED, "4x64x64x64xT", "4x64x31x31xT",
           "window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>")
    for op in ("add", "maximum"):
        window(f"reduce_window_cumulative_{op}", op, NUMBERS if op == "add" else ORDERED,
               "256x512xT", "256x512xT", "window_dimensions = array<i64: 1, 512>, "
               "padding = dense<[[0, 0], [511, 0]]> : tensor<2x2xi64>")
    window("reduce_window_wide_add", "add", NUMBERS, "4096x16xT", "4033x16xT",
           "window_dimensions = array<i64: 64, 1>")
    for name, size, window_size, result in (("", 2, 2, 32), ("_overlap", 3, 2, 31)):
        case(f"select_and_scatter{name}", ORDERED, f"""%z = $zero
%r = "stablehlo.select_and_scatter"(%0, %1, %z) <{{
window_dimensions = array<i64: 1, {size}, {size}, 1>,
window_strides = array<i64: 1, {window_size}, {window_size}, 1>}}> ({{
^bb0(%a: $s, %b: $s):
%v = stablehlo.compare GE, %a, %b : ($s, $s) -> tensor<i1>
stablehlo.return %v : tensor<i1> }}, {region('add')[1:]}
 : ($0, $1, $s) -> $r""",
             ("4x64x64x64xT normal", f"4x{result}x{result}x64xT normal"), "4x64x64x64xT")


def scatters():
    for what, operand, index, update in (
            ("rows", "10000x32xT", "50000x1xs32", "50000x32xT"),
            ("elements", "10000x32xT", "200000x2xs32", "200000xT")):
        numbers = ("update_window_dims = [1], inserted_window_dims = [0], "
                   "scatter_dims_to_operand_dims = [0]" if what == "rows" else
                   "update_window_dims = [], inserted_window_dims = [0, 1], "
                   "scatter_dims_to_operand_dims = [0, 1]")
        for op, types in (("add", NUMBERS), ("maximum", ORDERED), ("multiply", NUMBERS),
                          ("set", ALL), ("odd", ORDERED)):
            reducer = ODD if op == "odd" else region(op) if op != "set" else (
                "({\n^bb0(%a: $s, %b: $s):\nstablehlo.return %b : $s })")
            case(f"scatter_{op}_{what}", types, '%r = "stablehlo.scatter"(%0, %1, %2) <{'
                 f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}, "
                 f"index_vector_dim = 1>}}> {reducer} : ($0, $1, $2) -> $r",
                 (f"{operand} normal", f"{index} index", f"{update} normal"), operand)


def sorts():
    def sort(name, types, operands, body, dim=0):
        many = len(operands) > 1
        names = ", ".join(f"%{i}" for i in range(len(operands)))
        kinds = ", ".join(f"${i}" for i in range(len(operands)))
        case(name, types, f'%r{f":{len(operands)}" if many else ""} = "stablehlo.sort"({names}) '
             f"<{{dimension = {dim} : i64, is_stable = true}}> {body} : ({kinds}) -> "
             f"{'(' + kinds + ')' if many else kinds}", operands,
             *(o.split()[0] for o in operands))

    less = ("({\n^bb0(%a: $s, %b: $s):\n"
            "%v = stablehlo.compare LT, %a, %b : ($s, $s) -> tensor<i1>\n"
            "stablehlo.return %v : tensor<i1> })")
    pairs = less.replace("%b: $s", "%b: $s, %p: tensor<i32>, %q: tensor<i32>")
    by_size = ("({\n^bb0(%a: $s, %b: $s):\n%c = stablehlo.multiply %a, %a : $s\n"
               "%d = stablehlo.multiply %b, %b : $s\n"
               "%v = stablehlo.compare LT, %c, %d : ($s, $s) -> tensor<i1>\n"
               "stablehlo.return %v : tensor<i1> })")
    sort("sort", ORDERED, ("262144xT normal",), less)
    sort("sort_rows", ORDERED, ("2048x128xT normal",), less, 1)
    sort("sort_columns", ORDERED, ("128x2048xT normal",), less)
    sort("sort_pairs", ORDERED, ("262144xT normal", "262144xs32 index"), pairs)
    sort("sort_odd", ORDERED, ("65536xT normal",), by_size)
    case("top_k", ORDERED, "%r:2 = chlo.top_k(%0, k = 8) : $0 -> ($r, tensor<1024x8xi32>)",
         (f"{SQUARE} normal",), "1024x8xT", "1024x8xs32")


def products():
    def dot(name, left, right, result, contracting, batching=""):
        case(f"dot_general_{name}", NUMBERS, f"%r = stablehlo.dot_general %0, %1, {batching}"
             f"contracting_dims = {contracting} : ($0, $1) -> $r",
             (f"{left} unit", f"{right} unit"), result)

    dot("square", "256x256xT", "256x256xT", "256x256xT", "[1] x [0]")
    dot("transposed", "256x256xT", "256x256xT", "256x256xT", "[1] x [1]")
    dot("vector", "1024x1024xT", "1024xT", "1024xT", "[1] x [0]")
    dot("batch", "64x64x64xT", "64x64x64xT", "64x64x64xT", "[2] x [1]",
        "batching_dims = [0] x [0], ")

    def convolution(name, left, right, result, layout, window, groups=1):
        case(f"convolution_{name}", NUMBERS, "%r = stablehlo.convolution(%0, %1) dim_numbers = "
             f"{layout}, window = {{{window}}} {{batch_group_count = 1 : i64, "
             f"feature_group_count = {groups} : i64}} : ($0, $1) -> $r",
             (f"{left} unit", f"{right} unit"), result)

    nhwc = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
    same = "pad = [[1, 1], [1, 1]]"
    convolution("3x3", "2x28x28x32xT", "3x3x32x32xT", "2x28x28x32xT", nhwc, same)
    convolution("nchw", "2x32x28x28xT", "32x32x3x3xT", "2x32x28x28xT",
                "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", same)
    convolution("strided", "2x56x56x16xT", "3x3x16x32xT", "2x28x28x32xT", nhwc,
                "stride = [2, 2], pad = [[0, 1], [0, 1]]")
    convolution("depthwise", "2x28x28x64xT", "3x3x1x64xT", "2x28x28x64xT", nhwc, same, 64)
    convolution("dilated", "2x14x14x32xT", "3x3x32x32xT", "2x28x28x32xT", nhwc,
                "pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2]")
    convolution("1d", "16x512x32xT", "5x32x32xT", "16x508x32xT", "[b, 0, f]x[0, i, o]->[b, 0, f]",
                "")


def fourier(name, types, operand, result, length):
    case(f"fft_{name}" + ("" if len(types) > 1 else f"_{types[0]}"), types,
         f"%r = stablehlo.fft %0, type = {name.split('_')[0]}, length = [{length}] : ($0) -> $r",
         (f"{operand} normal",), result)


def linear_algebra():
    for name, rows, length in (("", 256, 4096), ("_prime", 1027, 1021), ("_odd", 1048, 1000),
                               ("_short", 65536, 16), ("_long", 1, 1 << 20)):
        full, half = f"{rows}x{length}xT", f"{rows}x{length // 2 + 1}x"
        fourier(f"FFT{name}", COMPLEX, full, full, length)
        for real, complex_ in zip(REAL, COMPLEX):
            fourier(f"RFFT{name}", (real,), full, half + complex_, length)
            fourier(f"IRFFT{name}", (complex_,), half + "T", f"{rows}x{length}x{real}", length)
    fourier("IFFT", COMPLEX, "256x4096xT", "256x4096xT", 4096)
    fourier("FFT_2d", COMPLEX, "4x512x512xT", "4x512x512xT", "512, 512")
    case("cholesky", FULL[:2] + COMPLEX, "%r = stablehlo.cholesky %0, lower = true : $0",
         ("16x128x128xT definite",), "16x128x128xT")
    case("triangular_solve", FULL[:2] + COMPLEX, '%r = "stablehlo.triangular_solve"(%0, %1) <{'
         "left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, "
         "unit_diagonal = false}> : ($0, $1) -> $r",
         ("16x128x128xT definite", "16x128x64xT normal"), "16x128x64xT")
    image = "8x32x32x64xT normal"
    facts = "<{epsilon = 1.0e-3 : f32, feature_index = 3 : i64}>"
    case("batch_norm_training", REAL, f'%r:3 = "stablehlo.batch_norm_training"(%0, %1, %1) {facts}'
         " : ($0, $1, $1) -> ($0, $1, $1)", (image, "64xT positive"),
         image.split()[0], "64xT", "64xT")
    case("batch_norm_inference", REAL, '%r = "stablehlo.batch_norm_inference"(%0, %1, %1, %1, %1) '
         f"{facts} : ($0, $1, $1, $1, $1) -> $0", (image, "64xT positive"),
         image.split()[0])
    case("batch_norm_grad", REAL, f'%r:3 = "stablehlo.batch_norm_grad"(%0, %1, %1, %1, %2) {facts}'
         " : ($0, $1, $1, $1, $2) -> ($0, $1, $1)", (image, "64xT positive", image),
         image.split()[0], "64xT", "64xT")


def control():
    case("while", REAL + SIGNED + UNSIGNED + COMPLEX, """
%z = stablehlo.constant dense<0> : tensor<i32>
%w:2 = stablehlo.while(%i = %z, %x = %0) : tensor<i32>, $0 cond {
%n = stablehlo.constant dense<100> : tensor<i32>
%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
stablehlo.return %c : tensor<i1> } do {
%o = stablehlo.constant dense<1> : tensor<i32>
%j = stablehlo.add %i, %o : tensor<i32>
%y = stablehlo.multiply %x, %1 : $0
%v = stablehlo.add %y, %0 : $0
stablehlo.return %j, %v : tensor<i32>, $0 }
%r = stablehlo.negate %w#1 : $0""", ("16384xT unit", "16384xT unit"), "16384xT")
    case("case", REAL, """%r = "stablehlo.case"(%1) ({
%a = stablehlo.tanh %0 : $0
stablehlo.return %a : $0 }, {
%b = stablehlo.negate %0 : $0
stablehlo.return %b : $0 }) : ($1) -> $0""", (f"{SQUARE} normal", "s32 shift"), SQUARE)
    for algorithm in ("DEFAULT", "THREE_FRY", "PHILOX"):
        words = 2 if algorithm == "THREE_FRY" else 3
        state = f"{2 if algorithm == 'DEFAULT' else words}xu64"
        case(f"rng_bit_generator_{algorithm}", UNSIGNED,
             f"%r:2 = stablehlo.rng_bit_generator %0, algorithm = {algorithm} : "
             f"($0) -> ($0, tensor<1024x1024x$t>)", (f"{state} shift",), state, SQUARE)
    for kind in ("UNIFORM", "NORMAL"):
        case(f"rng_{kind}", ("f32", "f64", "bf16", "f16"),
             "%n = stablehlo.constant dense<1024> : tensor<2xi64>\n"
             f"%r = stablehlo.rng %0, %1, %n, distribution = {kind} : "
             "($s, $s, tensor<2xi64>) -> $r", ("T low", "T positive"), SQUARE)


for group in (elementwise, conversions, movement, reductions, windows, scatters, sorts, products,
              linear_algebra, control):
    group()
