#!/usr/bin/env python3
"""Answers of SciPy, NumPy and ruptures to small cases, for `statistics.rs`.

Versions are the first lines of the output; install with
  pip install scipy==1.17.1 numpy==2.4.6 ruptures==1.1.10
and run
  python3 fixtures.py > fixtures.txt
"""
import numpy, ruptures, scipy
from scipy import stats, optimize

rng = numpy.random.default_rng(20120229)

def line(name, *parts):
    def text(part):
        if numpy.isscalar(part):
            return repr(float(part))
        return ",".join(repr(float(x)) for x in part)
    print(name, *[text(part) for part in parts], sep=" | ")

print("# scipy", scipy.__version__, "numpy", numpy.__version__, "ruptures", ruptures.__version__)
for less, more in [(0, 1), (3, 9), (10, 10), (17, 40), (120, 90), (480, 520)]:
    line("sign", less, more, stats.binomtest(less, less + more).pvalue)
for n, m in [(3, 5), (8, 8), (12, 30), (50, 20)]:
    a, b = rng.normal(0, 1, n).round(4), rng.normal(0.6, 1, m).round(4)
    r = stats.mannwhitneyu(a, b, method="exact")
    line("mann-whitney", a, b, r.statistic, r.pvalue)
for n, m in [(9, 12), (60, 70)]:
    a, b = rng.integers(0, 12, n), rng.integers(2, 14, m)
    r = stats.mannwhitneyu(a, b, method="asymptotic")
    line("mann-whitney", a, b, r.statistic, r.pvalue)
for part in [0.1, 0.5, 0.77, 0.975]:
    a = rng.lognormal(0, 1, 23).round(4)
    line("quantile", a, part, numpy.quantile(a, part))
for n, c in [(7, 0.975), (20, 0.95), (41, 0.99)]:
    a = rng.lognormal(0, 1, n).round(4)
    r = stats.quantile_test(a, p=0.5).confidence_interval(confidence_level=c)
    line("median-interval", a, c, r.low, r.high)
for lag in [1, 2, 5]:
    a = numpy.cumsum(rng.normal(0, 1, 40)).round(4)
    d = a - a.mean()
    line("autocorrelation", a, lag, (d[lag:] * d[:-lag]).sum() / (d * d).sum())
for n, penalty in [(60, 3.0), (90, 10.0), (120, 1.0), (40, 0.2)]:
    levels = numpy.repeat(rng.integers(0, 5, 6), n // 6)
    a = (levels + rng.normal(0, 0.5, len(levels))).round(3)
    found = ruptures.Pelt(model="l2", min_size=3, jump=1).fit(a).predict(pen=penalty)[:-1]
    line("pelt", a, penalty, found if found else [-1])
forms = {0: lambda n: 0 * n, 1: numpy.log, 2: lambda n: n, 3: lambda n: n * numpy.log(n), 4: lambda n: n * n}
for form, f in forms.items():
    n = numpy.array([2.0, 8, 32, 128, 512])
    y = ((20 + 3 * f(n)) * (1 + rng.normal(0, 0.05, 5))).round(3)
    if form == 0:
        p, _ = optimize.curve_fit(lambda n, a: a + 0 * n, n, y, sigma=y, p0=[20])
        line("fit", form, n, y, p[0], 0)
    else:
        p, _ = optimize.curve_fit(lambda n, a, b: a + b * f(n), n, y, sigma=y, p0=[20, 3])
        line("fit", form, n, y, p[0], p[1])
for z in [-6.0, -3.0, -1.3, 0.2, 2.9, 3.1]:
    line("normal", z, stats.norm.cdf(z))
