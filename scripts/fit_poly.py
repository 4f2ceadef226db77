#!/usr/bin/env python3
"""Writes src/compiler/kernel/math/coefficients.h (to standard output); needs mpmath.

Each row of FITS names a function, the part of it that a polynomial stands for, and how an error of
the polynomial shows in the result (the weight), so that the error given is relative to the result.
"""

import mpmath as mp

import minimax

LN2 = mp.log(2)
REDUCED = LN2 / 2 * mp.mpf("1.0001")  # |r| after r = x - k ln 2
TINY = mp.mpf("1e-9")
s = mp.sqrt

# name, what it is, f(u), weight(u), a, b, terms for f32, for f64 (0: none)
FITS = [
    ("exp", "e^r = 1 + r + r^2 P(r), |r| <= ln(2)/2",
     lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / abs(mp.expm1(r)), -REDUCED, REDUCED, 5, 11),
    ("exp2", "2^r = 1 + r ln2 + r^2 P(r), |r| <= 1/2",
     lambda r: (mp.mpf(2) ** r - 1 - r * LN2) / r**2, lambda r: r**2 / mp.mpf(2) ** r,
     -0.5001, 0.5001, 5, 11),
    ("log", "log(1 + f) = f - f^2/2 + f^3 P(f), f in [-1/4, 1/2]",
     lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, lambda f: f**3 / mp.log1p(f),
     -0.25, 0.5, 9, 20),
    ("log2_tail", "2/ln(2) atanh(s) = 2/ln(2) (s + s^3/3) + s^5 P(s^2), s in [-1/7, 1/5]",
     lambda u: 2 / LN2 * (mp.atanh(s(u)) - s(u) - s(u) ** 3 / 3) / s(u) ** 5,
     lambda u: s(u) ** 5 / mp.atanh(s(u)), mp.mpf("1e-7"), mp.mpf("0.0401"), 3, 8),
    ("sin", "sin(r) = r + r^3 P(r^2), |r| <= pi/2",
     lambda u: (mp.sin(s(u)) - s(u)) / s(u) ** 3, lambda u: s(u) ** 3 / mp.sin(s(u)),
     TINY, (mp.pi / 2) ** 2 * mp.mpf("1.01"), 4, 8),
    ("cos", "cos(r) = 1 - r^2/2 + r^4 P(r^2), |r| <= pi/4",
     lambda u: (mp.cos(s(u)) - 1 + u / 2) / u**2, lambda u: u**2 / mp.cos(s(u)),
     TINY, (mp.pi / 4 * mp.mpf("1.0001")) ** 2, 3, 6),
    ("sinh_part", "sinh(r) = r + r^3 P(r^2), |r| <= ln(2)/2",
     lambda u: (mp.sinh(s(u)) - s(u)) / s(u) ** 3, lambda u: s(u) ** 3 / mp.sinh(s(u)),
     TINY, REDUCED**2, 2, 5),
    ("cosh_part", "cosh(r) = 1 + r^2/2 + r^4 P(r^2), |r| <= ln(2)/2",
     lambda u: (mp.cosh(s(u)) - 1 - u / 2) / u**2, lambda u: u**2 / mp.cosh(s(u)),
     TINY, REDUCED**2, 2, 5),
    ("atan", "atan(t) = t + t^3 P(t^2), |t| <= 1",
     lambda u: (mp.atan(s(u)) - s(u)) / s(u) ** 3, lambda u: s(u) ** 3 / mp.atan(s(u)),
     TINY, 1, 9, 20),
    ("asin", "asin(t) = t + t^3 P(t^2), |t| <= 0.541",
     lambda u: (mp.asin(s(u)) - s(u)) / s(u) ** 3, lambda u: s(u) ** 3 / mp.asin(s(u)),
     TINY, mp.mpf("0.541") ** 2, 5, 13),
    ("erf_small", "erf(x) = x + x P(x^2), |x| <= 5/4",
     lambda u: mp.erf(s(u)) / s(u) - 1, lambda u: s(u) / mp.erf(s(u)), TINY, mp.mpf(25) / 16, 7, 16),
    ("erf_tail", "erf(x) = 1 - P(x)^8, x in [5/4, 3.93]",
     lambda x: mp.root(mp.erfc(x), 8), lambda x: 8 * mp.root(mp.erfc(x), 8) ** 7 / mp.erf(x),
     1.25, 3.93, 7, 0),
    ("erf_tail", "erf(x) = 1 - P(x)^8, x in [5/4, 5.95]",
     lambda x: mp.root(mp.erfc(x), 8), lambda x: 8 * mp.root(mp.erfc(x), 8) ** 7 / mp.erf(x),
     1.25, 5.95, 0, 18),
    ("narrow_log2", "log2(1 + f) = f P(f), f in [-1/4, 1/2]",
     lambda f: mp.log1p(f) / f / LN2, lambda f: f * LN2 / mp.log1p(f), -0.25, 0.5, 0, 13),
    ("narrow_exp2", "2^r = 1 + r P(r), |r| <= 1/2",
     lambda r: (mp.mpf(2) ** r - 1) / r, lambda r: r / mp.mpf(2) ** r, -0.5001, 0.5001, 0, 6),
    ("rcbrt", "m^(-1/3), roughly, m in [3/8, 3]",
     lambda m: 1 / mp.cbrt(m), mp.cbrt, 0.375, 3, 5, 6),
]

# Constants in parts: the sum of the parts is the number. Each is rounded down, so that all are
# positive: then k * part has k's sign, which keeps -0 through the reductions.
PARTS = [
    ("ln2", LN2, 2),
    ("log2e", 1 / LN2, 2),
    ("half_pi", mp.pi / 2, 2),
    ("pi", mp.pi, 3),
    ("two_thirds_log2e", 2 / (3 * LN2), 2),
    ("two_log2e", 2 / LN2, 2),
]

INVERSE_PI_WORDS = {32: 8, 64: 20}


def literal(bits, c):
    return f"{float(c):.9g}" if bits == 32 else f"{float(c):.17g}"


def emit(bits, name, comment, values, error=None):
    if error is not None:
        comment += f"; error 2^{float(mp.log(error, 2)):.1f}"
    print(f"  // {comment}")
    print(f"  static constexpr std::array<double, {len(values)}> {name} = {{")
    per_line = 4 if bits == 32 else 3
    for i in range(0, len(values), per_line):
        print("      " + ", ".join(literal(bits, c) for c in values[i : i + per_line]) + ",")
    print("  };")


def inverse_pi(bits):
    """1/pi * 2^bits, in words: the first has no integer part and no fraction bits."""
    scaled = mp.floor((1 / mp.pi) * mp.mpf(2) ** (bits * INVERSE_PI_WORDS[bits]))
    digits = int(scaled)
    return [(digits >> (bits * i)) % 2**bits for i in reversed(range(INVERSE_PI_WORDS[bits]))]


def coefficients(bits):
    print("template <>")
    print(f"struct Coefficients<{bits}> {{")
    for name, comment, f, weight, a, b, terms32, terms64 in FITS:
        terms = terms32 if bits == 32 else terms64
        if terms:
            emit(bits, name, comment, *minimax.polynomial(bits, f, weight, a, b, terms))
    for name, value, count in PARTS:
        parts, rest = [], value
        for _ in range(count):
            parts.append(minimax.round_down(bits, rest))
            rest -= parts[-1]
        emit(bits, name, f"{name} in parts", parts)
    words = inverse_pi(bits)
    print("  // The bits of 1/pi after the point, most significant word first.")
    print(f"  static constexpr std::array<uint{bits}_t, {len(words)}> inverse_pi = {{")
    per_line = 6 if bits == 32 else 4
    for i in range(0, len(words), per_line):
        print("      " + ", ".join(f"0x{w:0{bits // 4}x}" for w in words[i : i + per_line]) + ",")
    print("  };")
    print("};")


def main():
    mp.mp.dps = 420
    words = {bits: inverse_pi(bits) for bits in (32, 64)}
    mp.mp.dps = 70
    globals()["inverse_pi"] = words.get
    print("// Made by `scripts/fit_poly.py`: minimax fits, coefficients from the constant term up.")
    print("// clang-format off")
    print("#pragma once")
    print("#include <array>")
    print("#include <cstdint>\n")
    print("namespace tercel::math {\n")
    print("template <int bits>")
    print("struct Coefficients;\n")
    coefficients(32)
    print()
    coefficients(64)
    print("\n}  // namespace tercel::math")


if __name__ == "__main__":
    main()
