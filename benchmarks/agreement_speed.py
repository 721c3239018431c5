"""Measures the bootstrap interval of alpha against a plain loop over the package krippendorff.

    python benchmarks/agreement_speed.py [--loops N]

400,000 units of 20,000 queries, three raters, some values missing. Both sides resample queries 1,000 times and
start from the ratings of each rater. The loop puts the units of the drawn queries together and gives them to
`krippendorff.alpha`; N of its resamples are measured (default 20), and their mean is taken times 1,000. Both
compute alpha of the same N resamples, which have to be equal to 1e-9. Each side runs in a process of its own;
memory is the most that this held.
"""

from __future__ import annotations

import argparse
import resource
from multiprocessing import get_context
from time import perf_counter
from typing import TYPE_CHECKING, Any

import krippendorff
import numpy

from store.measures.coefficients import Patterns, krippendorff_alpha_of_sums
from store.measures.intervals import Bootstrap
from store.measures.rating_table import RatingTable

if TYPE_CHECKING:
    Array = numpy.ndarray[Any, Any]

RATERS, QUERIES, UNITS_PER_QUERY, RESAMPLES = 3, 20_000, 20, 1_000
TOLERANCE = 1e-9


def simulated() -> tuple[Array, Array]:
    """Return ratings of shape (raters, units), NaN for missing ones, and the query of each unit."""
    random = numpy.random.default_rng(0)
    query = numpy.repeat(numpy.arange(QUERIES), UNITS_PER_QUERY)
    shared = random.random(len(query)) < random.beta(2, 1, QUERIES)[query]
    own = (random.random((RATERS, len(query))) < 0.3).astype(float)
    ratings = numpy.where(shared, own[0], own)
    ratings[random.random(ratings.shape) < 0.03] = numpy.nan
    return ratings, query


def megabytes() -> float:
    """Return the most memory that this process held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_patterns(loops: int) -> tuple[float, list[float], float]:
    """Return the seconds of 1,000 resamples, alpha of the first one of each seed, and the MB of memory."""
    ratings, query = simulated()
    began = perf_counter()
    table = RatingTable("wide", ("a", "b", "c"), Patterns.of_ratings(ratings), (), query)
    statistic = krippendorff_alpha_of_sums("nominal").statistic(table.patterns)
    (interval,) = Bootstrap(RESAMPLES).intervals(table, [statistic])
    seconds = perf_counter() - began
    memory = megabytes()
    print(f"alpha: 95 % interval {interval.low:.4f} to {interval.high:.4f}")
    found = []
    for seed in range(loops):
        # The interval of one resample is its value.
        (one,) = Bootstrap(1, seed).intervals(table, [statistic])
        assert one.low is not None
        found.append(one.low)
    return seconds, found, memory


def by_loop(loops: int) -> tuple[float, list[float], float]:
    """Return the mean seconds of a resample, alpha of the first one of each seed, and the MB of memory."""
    ratings, query = simulated()
    of_query = numpy.split(ratings, numpy.flatnonzero(numpy.diff(query)) + 1, axis=1)
    found = []
    began = perf_counter()
    for seed in range(loops):
        # As `Bootstrap` draws its first resample with this seed.
        drawn = numpy.random.default_rng(seed).integers(QUERIES, size=QUERIES, dtype=numpy.int32)
        units = numpy.concatenate([of_query[one] for one in drawn], axis=1)
        found.append(float(krippendorff.alpha(units, level_of_measurement="nominal")))
    return (perf_counter() - began) / loops, found, megabytes()


def main() -> None:
    """Measure both and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--loops", type=int, default=20, help="resamples of the loop that are measured")
    loops = parser.parse_args().loops
    sides = []
    for side in (by_patterns, by_loop):
        with get_context("spawn").Pool(1) as pool:
            sides.append(pool.apply(side, (loops,)))
    (ours, our_alphas, our_memory), (one, alphas, memory) = sides
    apart = max(abs(a - b) for a, b in zip(our_alphas, alphas, strict=True))
    print(f"patterns   {RESAMPLES:,} resamples {ours:8.2f} s   {our_memory:5.0f} MB")
    print(
        f"plain loop {RESAMPLES:,} resamples {RESAMPLES * one:8.2f} s   {memory:5.0f} MB"
        f"   (from {loops} of them, {one:.3f} s each)"
    )
    print(
        f"ratio {RESAMPLES * one / ours:.0f}; alphas of {loops} equal resamples differ by at most {apart:.1e}"
    )
    if not apart <= TOLERANCE:
        raise SystemExit(f"They differ by more than {TOLERANCE:g}.")


if __name__ == "__main__":
    main()
