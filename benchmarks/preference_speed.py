"""Times the intervals of Bradley-Terry ratings against a logistic fit for each resample, in one run.

    python benchmarks/preference_speed.py [--battles N] [--candidates C] [--resamples N] [--fits N]

Both resample prompts of one battle each. Ours are `store.measures.bradley_terry.rate`, all resamples. The other
side is what FastChat's notebook does: scikit-learn's LogisticRegression without a penalty over the battles of
a resample, a tie as one row for each side; a few such fits are timed, and scaled up. It needs scikit-learn:
pip install scikit-learn.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

# As the commands do: the products of a bootstrap are too small to be worth threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy

from store.measures.battles import Battles
from store.measures.bradley_terry import SCALE, rate

Array = numpy.ndarray[Any, Any]


def simulated(number: int, candidates: int, seed: int = 1) -> Battles:
    """Battles of candidates of different strength, a tenth of them ties."""
    random = numpy.random.default_rng(seed)
    strength = random.normal(0, 1, candidates)
    first = random.integers(0, candidates, number)
    second = (first + random.integers(1, candidates, number)) % candidates
    won = random.random(number) < 1 / (1 + numpy.exp(strength[second] - strength[first]))
    score = numpy.where(random.random(number) < 0.1, 0.5, won.astype(float))
    names = tuple(f"c{place:03}" for place in range(candidates))
    return Battles(names, first, second, score, numpy.arange(number))


def logistic(battles: Battles, drawn: Array) -> Array:
    """Fit the ratings of a resample by scikit-learn, and return them."""
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    first, second, score = battles.first[drawn], battles.second[drawn], battles.score[drawn]
    # A win is two rows and a tie one for each side, as in FastChat.
    first, second = numpy.tile(first, 2), numpy.tile(second, 2)
    label = numpy.concatenate([score > 0, score == 1])
    n = len(label)
    row = numpy.repeat(numpy.arange(n), 2)
    column = numpy.stack([first, second], axis=1).ravel()
    design = csr_array((numpy.tile([1.0, -1.0], n), (row, column)), shape=(n, len(battles.candidates)))
    model = LogisticRegression(C=numpy.inf, fit_intercept=False, tol=1e-6, max_iter=1000)
    model.fit(design, label)
    fitted = model.coef_[0]
    found: Array = 1000 + SCALE * (fitted - fitted.mean())
    return found


def main() -> None:
    """Time both, and print the ratio."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--battles", type=int, default=1_500_000)
    options.add_argument("--candidates", type=int, default=100)
    options.add_argument("--resamples", type=int, default=1000)
    options.add_argument("--fits", type=int, default=3, help="fits of the other side that are timed")
    given = options.parse_args()
    battles = simulated(given.battles, given.candidates)
    begun = time.perf_counter()
    ours = rate(battles, resamples=given.resamples)
    own_seconds = time.perf_counter() - begun
    random = numpy.random.default_rng(2)
    begun = time.perf_counter()
    fits = [logistic(battles, random.integers(0, given.battles, given.battles)) for _ in range(given.fits)]
    other_seconds = (time.perf_counter() - begun) / given.fits * given.resamples
    whole = logistic(battles, numpy.arange(given.battles))
    difference = float(numpy.abs(numpy.array(ours.values, dtype=float) - whole).max())
    spread = float(numpy.abs(numpy.array(fits) - whole).max())
    print(f"{given.battles:,} battles of {given.candidates} candidates, {given.resamples:,} resamples")
    print(f"ours                     {own_seconds:8.1f} s")
    print(f"a logistic fit for each  {other_seconds:8.1f} s, scaled up from {given.fits}")
    print(f"ratio                    {other_seconds / own_seconds:8.0f}")
    print(f"ratings differ by at most {difference:.4f}; those of the resamples by {spread:.1f}")


if __name__ == "__main__":
    main()
