"""Minimax polynomials: Remez exchange in arbitrary precision (mpmath)."""

import struct

import mpmath as mp

mp.mp.dps = 70


def round_to(bits, c):
    """c rounded to f32 or f64, as an mpf."""
    value = float(c)
    if bits == 32:
        value = struct.unpack("f", struct.pack("f", value))[0]
    return mp.mpf(value)


def round_down(bits, c):
    """The largest f32 or f64 that is not above c > 0."""
    nearest = round_to(bits, c)
    if nearest <= c:
        return nearest
    mantissa, exponent = mp.frexp(nearest)
    ulp = mp.mpf(2) ** (exponent - (24 if bits == 32 else 53))
    return nearest - (ulp / 2 if mantissa == 0.5 else ulp)


def chebyshev_nodes(a, b, count):
    # Shifted a little, so that no node of a symmetric interval is 0, where a weight may vanish.
    return [
        (a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * (i + mp.mpf("0.013")) / (count - 1 + mp.mpf("0.03")))
        for i in range(count)
    ][::-1]


def alternation(grid, errors, count):
    """`count` points of largest error of alternating sign, one in each run of equal sign."""
    runs = []
    for x, e in zip(grid, errors):
        if e == 0:
            continue
        if runs and (runs[-1][1] > 0) == (e > 0):
            if abs(e) > abs(runs[-1][1]):
                runs[-1] = (x, e)
        else:
            runs.append((x, e))
    while len(runs) > count:
        # Drop the smaller end: the rest still alternates.
        runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
    return [x for x, _ in runs]


class Target:
    """f and its weight on [a, b], tabulated once on a Chebyshev-dense grid."""

    def __init__(self, f, weight, a, b, points):
        self.f, self.weight = f, weight
        self.a, self.b = mp.mpf(a), mp.mpf(b)
        self.grid = chebyshev_nodes(self.a, self.b, points)
        self.f_grid = [f(x) for x in self.grid]
        self.w_grid = [weight(x) for x in self.grid]

    def errors(self, approx):
        return [w * (t - approx(x)) for x, t, w in zip(self.grid, self.f_grid, self.w_grid)]


def remez(target, powers, fixed, rounds=12):
    """Best sum of c_k u^k over k in powers, added to the polynomial {k: c} `fixed`."""
    count = len(powers) + 1
    nodes = chebyshev_nodes(target.a, target.b, count)
    base = lambda x: mp.fsum(c * x**k for k, c in fixed.items())
    coeffs = []
    for _ in range(rounds):
        rows, rhs = [], []
        for i, x in enumerate(nodes):
            w = target.weight(x)
            rows.append([w * x**k for k in powers] + [(-1) ** i])
            rhs.append(w * (target.f(x) - base(x)))
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix(rhs))
        coeffs = list(solution[:-1])
        errors = target.errors(lambda x: base(x) + mp.fsum(c * x**k for c, k in zip(coeffs, powers)))
        found = alternation(target.grid, errors, count)
        worst = max(abs(e) for e in errors)
        if len(found) < count or worst <= abs(solution[len(powers)]) * mp.mpf("1.001"):
            break
        nodes = found
    return coeffs


def polynomial(bits, f, weight, a, b, terms, points=None):
    """Coefficients rounded one after the other, the rest fitted again around each. -> (c, error)"""
    target = Target(f, weight, a, b, points or 24 * (terms + 2))
    fixed = {}
    for first in range(terms):
        coeffs = remez(target, list(range(first, terms)), fixed)
        fixed[first] = round_to(bits, coeffs[0])
        if bits == 64 and first >= 4:  # the later ones' rounding does not show
            fixed.update({k: round_to(bits, c) for k, c in zip(range(first, terms), coeffs)})
            break
    errors = target.errors(lambda x: mp.fsum(c * x**k for k, c in fixed.items()))
    return [fixed[k] for k in range(terms)], max(abs(e) for e in errors)


def absorb(target, power, change, powers):
    """How the coefficients of `powers` take back `change` of the one of `power`."""
    columns = [[w * x**k for k in powers] for x, w in zip(target.grid, target.w_grid)]
    wanted = [-w * change * x**power for x, w in zip(target.grid, target.w_grid)]
    return list(mp.lu_solve(mp.matrix(columns), mp.matrix(wanted)))  # least squares


def refitted(bits, f, weight, a, b, terms):
    """As `polynomial`, but the later coefficients take back what rounding one changes in least
    squares: where 0 is inside [a, b], they have no alternation, as they do nothing at 0."""
    target = Target(f, weight, a, b, 16 * (terms + 2))
    coeffs = remez(target, list(range(terms)), {})
    for k in range(terms):
        rounded = round_to(bits, coeffs[k])
        later = range(k + 1, terms)
        if later:
            for i, change in zip(later, absorb(target, k, rounded - coeffs[k], later)):
                coeffs[i] += change
        coeffs[k] = rounded
    errors = target.errors(lambda x: mp.polyval(coeffs[::-1], x))
    return coeffs, max(abs(e) for e in errors)


def near_minimax(bits, f, weight, a, b, terms):
    """As `polynomial`, from Chebyshev's points: for a weight that is 0 inside [a, b], around which
    the exchange does not always converge."""
    a, b = mp.mpf(a), mp.mpf(b)
    coeffs = [round_to(bits, c) for c in mp.chebyfit(f, [a, b], terms)[::-1]]
    errors = Target(f, weight, a, b, 24 * (terms + 2)).errors(lambda x: mp.polyval(coeffs[::-1], x))
    return coeffs, max(abs(e) for e in errors)
