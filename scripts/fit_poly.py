#!/usr/bin/env python3
"""Writes src/compiler/kernel/math/coefficients.h (to standard output); needs mpmath.

Each row of FITS names a function, the part of it that a polynomial stands for, and how an error of
the polynomial shows in the result (the weight), so that the error given is relative to the result.
"""

import functools

import mpmath as mp

import minimax

LN2 = mp.log(2)
REDUCED = LN2 / 2 * mp.mpf("1.0001")  # |r| after r = x - k ln 2
TINY = mp.mpf("1e-9")
s = mp.sqrt


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


@functools.cache
def erf_inv_of(log):  # of the x > 0 with log(1 - x^2) = log
    return mp.erfinv(mp.sqrt(-mp.expm1(log)))


def erfc_small(high, terms32, terms64):
    return ("erfc_small", f"erfc(x) = 1 - x + x P(x^2), x in [0, {high}]",
            lambda u: 1 - mp.erf(s(u)) / s(u), lambda u: s(u) / mp.erfc(s(u)),
            TINY, mp.mpf(high) ** 2, terms32, terms64)


def erfc_tail(middle, low, high, terms32, terms64):  # u = s (x - m) / (x + m), 0 at x = m
    scale = 2 * middle * erfcx(middle)
    x = lambda u: middle * (scale + u) / (scale - u)
    u = lambda x: scale * (x - middle) / (x + middle)
    q = lambda u: (x(u) + middle) * erfcx(x(u)) / scale
    return ("erfc_tail",
            f"erfc(x) e^(x^2) (x + m) / s = 1 + u P(u), m = {middle}, x in [{low}, {high}]",
            lambda u: (q(u) - 1) / u, lambda u: abs(u) / q(u),
            u(mp.mpf(low)), u(mp.mpf(high)), terms32, terms64)


def erf_inv(low, terms32, terms64):
    f = lambda v: erf_inv_of(v) / mp.sqrt(-mp.expm1(v)) - 1
    return ("erf_inv", f"erf_inv(x) = x + x P(log(1 - x^2)), log in [{low}, 0]",
            f, lambda v: 1 / (1 + f(v)), mp.mpf(low) * mp.mpf("1.001"), -TINY, terms32, terms64)


def erf_inv_tail(c, d, low, high, terms32, terms64):
    s = lambda u: (c + d * u) / (1 - u)
    u = lambda s: (s - c) / (s + d)
    f = lambda u: erf_inv_of(-s(u) ** 2) / s(u) - 1
    return ("erf_inv_tail",
            f"erf_inv(x) = s + s P((s - {c}) / (s + {d})), s^2 = -log(1 - x^2), s <= {high}",
            f, lambda u: 1 / (1 + f(u)), u(mp.mpf(low)), u(mp.mpf(high)), terms32, terms64)


def log_gamma_tail(x):
    return mp.loggamma(x) - ((x - mp.mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)


def digamma_tail(x):
    return mp.log(x) - 1 / (2 * x) - mp.digamma(x)


DIGAMMA_ZERO = mp.findroot(mp.digamma, mp.mpf("1.4616"))


def bessel_row(n, what, terms32, terms64):
    ratio = lambda u: mp.besseli(n, s(u)) * (2 / s(u)) ** n
    return (f"bessel_i{n}", what, lambda u: (ratio(u) - 1) / u, lambda u: u / ratio(u),
            TINY, 64, terms32, terms64)


def bessel_tail_row(n, terms32, terms64):
    scaled = lambda t: mp.besseli(n, 1 / t) * mp.exp(-1 / t) / s(t)
    return (f"bessel_i{n}_tail", f"I{n}(x) = e^x / sqrt(x) P(1/x), x >= 8",
            scaled, lambda t: 1 / scaled(t), mp.mpf("1e-4"), 0.125, terms32, terms64)


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
    erfc_small("0.65", 5, 0),
    erfc_small("0.85", 0, 11),
    erfc_tail(1.5, "0.65", "10.07", 7, 0),
    erfc_tail(2.25, "0.85", "27.3", 0, 20),
    erf_inv(-6, 11, 0),
    erf_inv(-5, 0, 22),
    erf_inv_tail(3.1, 2, "2.445", "3.994", 7, 0),
    erf_inv_tail(3.86, 3, "2.235", "6.004", 0, 26),
    ("narrow_log2", "log2(1 + f) = f P(f), f in [-1/4, 1/2]",
     lambda f: mp.log1p(f) / f / LN2, lambda f: f * LN2 / mp.log1p(f), -0.25, 0.5, 0, 13),
    ("narrow_exp2", "2^r = 1 + r P(r), |r| <= 1/2",
     lambda r: (mp.mpf(2) ** r - 1) / r, lambda r: r / mp.mpf(2) ** r, -0.5001, 0.5001, 0, 6),
    ("rcbrt", "m^(-1/3), roughly, m in [3/8, 3]",
     lambda m: 1 / mp.cbrt(m), mp.cbrt, 0.375, 3, 5, 6),
    ("lgamma_tail", "log gamma(x) = (x - 1/2) log x - x + log(2 pi)/2 + P(1/x^2)/x, x >= 5/2",
     lambda u: log_gamma_tail(1 / s(u)) / s(u), lambda u: s(u) / mp.loggamma(1 / s(u)),
     TINY, 0.16, 4, 14),
    ("sin_pi", "sin(pi d) = pi d (1 - pi^2/6 d^2 + d^4 P(d^2)), |d| <= 1/2",
     lambda u: (mp.sinpi(s(u)) / (mp.pi * s(u)) - 1 + mp.pi**2 / 6 * u) / u**2,
     lambda u: u**2 * mp.pi * s(u) / mp.sinpi(s(u)), TINY, 0.25, 4, 8),
    ("digamma_tail", "digamma(x) = log x - 1/(2 x) - P(1/x^2)/x^2, x >= 2",
     lambda u: digamma_tail(1 / s(u)) / u, lambda u: u / mp.digamma(1 / s(u)), TINY, 0.25, 4, 16),
    bessel_row(0, "I0(x) = 1 + x^2 P(x^2), |x| <= 8", 10, 16),
    bessel_row(1, "I1(x) = x/2 (1 + x^2 P(x^2)), |x| <= 8", 10, 16),
]

# The same, for near_minimax.
FITS_BETWEEN_POINTS = [
    ("log_pair", "log(1 + f) = f - f^2/2 + f^3 P(f), f in [-1/4, 1/2], and absolute",
     lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, lambda f: abs(f) ** 3, -0.25, 0.5, 10, 21),
    ("lgamma_near_two", "log gamma(2 + u) = (1 - euler) u + u^2 P(u), |u| <= 1/2",
     lambda u: (mp.loggamma(2 + u) - (1 - mp.euler) * u) / u**2, lambda u: abs(u) / 0.42,
     -0.5, 0.5001, 8, 19),
    ("digamma_near_zero", "digamma(x) = d P(d), d = x - 1.46163 (its zero), x in [1, 2]",
     lambda d: mp.digamma(DIGAMMA_ZERO + d) / d, lambda d: d / mp.digamma(DIGAMMA_ZERO + d),
     1 - DIGAMMA_ZERO, 2 - DIGAMMA_ZERO, 11, 23),
    bessel_tail_row(0, 6, 24),
    bessel_tail_row(1, 6, 24),
]

# What minimax.polynomial stops at too early.
REFITTED = {"erfc_tail", "erf_inv", "erf_inv_tail"}

# Constants in parts: the sum of the parts is the number. Each is rounded down, so that all are
# positive: then k * part has k's sign, which keeps -0 through the reductions.
PARTS = [
    ("ln2", LN2, 2),
    ("log2e", 1 / LN2, 2),
    ("half_pi", mp.pi / 2, 2),
    ("pi", mp.pi, 3),
    ("two_thirds_log2e", 2 / (3 * LN2), 2),
    ("two_log2e", 2 / LN2, 2),
    ("one_minus_euler", 1 - mp.euler, 2),
    ("sixth_of_pi_squared", mp.pi**2 / 6, 2),
    ("digamma_zero", DIGAMMA_ZERO - 1, 2),
]

# Those whose first part has so few bits that its product with a float's exponent is exact.
SHORT_PARTS = [("short_ln2", LN2), ("short_half_log_two_pi", mp.log(2 * mp.pi) / 2)]
SHORT_BITS = {32: 16, 64: 42}

# |log gamma(x)| is less than this near a zero in (-3, -2), less than twice this near others.
NEAR_ZERO = mp.mpf(1) / 15

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


def log_gamma(x):
    return mp.re(mp.loggamma(x))


def log_gamma_zeros():
    """t = -x of log gamma's zeros in (-9.5, -2), where a float is near one."""
    # Beside a pole at -n gamma is nearly 1 / (n! d).
    poles = [(n, side) for n in range(2, 10) for side in (-1, 1)][1:]
    root = lambda n, d: -mp.findroot(log_gamma, (-n - d, -n - d * mp.mpf("0.98")), tol=TINY**7)
    return [root(n, side / mp.factorial(n)) for n, side in poles]


def emit_log_gamma_zeros(bits):
    print("  // t of log gamma(-t) = 0 in two parts, and P: log gamma(-t - e) = e P(e)")
    print("  static constexpr std::array<std::array<double, 8>, 15> lgamma_zeros = {{")
    for t in log_gamma_zeros():
        f = lambda e: log_gamma(-t - e) / e
        slope, least = f(t * mp.mpf("1e-30")), NEAR_ZERO if t < 3 else 2 * NEAR_ZERO
        ends = [mp.findroot(lambda e: log_gamma(-t - e) - value,
                            (value / slope, value / slope * mp.mpf("0.98")), tol=TINY**4)
                for value in (-least, least)]
        c, _ = minimax.near_minimax(bits, f, lambda e: 1 / f(e), min(ends), max(ends), 6)
        hi = minimax.round_to(bits, t)
        print("      {" + ", ".join(literal(bits, v) for v in [hi, t - hi] + c) + "},")
    print("  }};")


def coefficients(bits):
    print("template <>")
    print(f"struct Coefficients<{bits}> {{")
    for name, comment, f, weight, a, b, terms32, terms64 in FITS:
        terms = terms32 if bits == 32 else terms64
        if terms:
            fit = minimax.refitted if name in REFITTED else minimax.polynomial
            emit(bits, name, comment, *fit(bits, f, weight, a, b, terms))
    for name, comment, f, weight, a, b, terms32, terms64 in FITS_BETWEEN_POINTS:
        terms = terms32 if bits == 32 else terms64
        emit(bits, name, comment, *minimax.near_minimax(bits, f, weight, a, b, terms))
    for name, value, count in PARTS:
        parts, rest = [], value
        for _ in range(count):
            parts.append(minimax.round_down(bits, rest))
            rest -= parts[-1]
        emit(bits, name, f"{name} in parts", parts)
    for name, value in SHORT_PARTS:
        unit = mp.mpf(2) ** (mp.frexp(value)[1] - SHORT_BITS[bits])
        hi = mp.floor(value / unit) * unit
        emit(bits, name, f"{name} in parts", [hi, value - hi])
    if bits == 32:
        emit_log_gamma_zeros(bits)
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
