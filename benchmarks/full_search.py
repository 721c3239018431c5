"""Searches at the full scale of CoSQA+: 20,604 queries, 653,994 codes, the widths of its three models.

    python benchmarks/full_search.py [--queries 20604] [--codes 653994] [--sample 100] [--folder FOLDER]

The vectors are projected at random: every text has a place in a space of 64 dimensions, near one of a thousand
topics, and each model's vector is that place times a matrix of its own. So models agree somewhat, a topic's codes
lie close together, and one code in twenty is a copy of another. They are kept in files as in use (5 GB), beside
which the search runs in a process of its own, whose memory is measured. A sample of the queries is compared with a
search in float64.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
from top_k_speed import memory

from agents.retrieval.encoder import Encoded, Role
from agents.retrieval.search import exact_top
from agents.retrieval.stored_texts import StoredTexts
from agents.retrieval.vectors import VectorCache, Vectors

WIDTHS = (768, 768, 256)
TOP, PLACES, TOPICS, COPIES = 20, 64, 1000, 20
Array = numpy.ndarray[Any, Any]


class Projected:
    """Makes vectors by a random projection of places that are drawn at random."""

    warning = ""

    def __init__(self, number: int, width: int) -> None:
        self.name = f"projected-{number}"
        self._matrix = numpy.random.default_rng(number).standard_normal((PLACES, width))
        self._topics = numpy.random.default_rng(100).standard_normal((TOPICS, PLACES))

    def identity(self, role: str) -> dict[str, str]:
        """Return what the vectors depend on."""
        return {"name": self.name, "role": role}

    def encode(self, texts: Sequence[str], role: str, report: Any = None) -> Encoded:
        """Return the vectors of texts such as `code 12`."""
        places = numpy.empty((len(texts), PLACES))
        for row, text in enumerate(texts):
            number = int(text.rpartition(" ")[2])
            original = number - 1 if number % COPIES == COPIES - 1 else number
            rng = numpy.random.default_rng([ord(role[0]), original])
            places[row] = self._topics[rng.integers(TOPICS)] + 0.5 * rng.standard_normal(PLACES)
        vectors = (places @ self._matrix).astype(numpy.float32)
        vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
        return Encoded(vectors, numpy.zeros(len(texts), dtype=bool))


def kept(folder: Path, role: Role, number: int) -> Iterator[Vectors]:
    """Yield the vectors of queries or codes by each model, made where they are not there."""
    texts = StoredTexts()
    for at in range(number):
        texts.append(f"{role} {at}")
    for model, width in enumerate(WIDTHS):
        yield VectorCache(folder).vectors(Projected(model, width), texts, role)


def search(folder: Path, queries: int, codes: int, sample: int) -> None:
    """Search, and print the time, the memory and how many queries have the codes of float64."""
    asked = [one.all() for one in kept(folder, "query", queries)]
    given = list(kept(folder, "code", codes))
    exact_top([one[:50] for one in asked], given, TOP)  # compiles, and loads torch
    Path("/proc/self/clear_refs").write_text("5")  # the peak from here on
    before = memory("VmRSS")
    began = time.perf_counter()
    found = exact_top(asked, given, TOP)
    seconds = time.perf_counter() - began
    print(f"search: {seconds:,.0f} s, {queries * codes / seconds / 1e6:,.0f} million comparisons a second")
    print(f"memory: {memory('VmHWM'):,.0f} MiB at the peak, {before:,.0f} MiB of it before the search")
    rows = numpy.random.default_rng(7).choice(queries, sample, replace=False)
    same = int((in_float64(asked, given, rows) == found.ranking.codes[rows]).all(axis=1).sum())
    print(f"as in float64: {same:,} of {sample:,} sampled queries")


def in_float64(asked: Sequence[Array], given: Sequence[Vectors], rows: Array) -> Array:
    """Return the best codes of some queries by scores in float64; copies in their order."""
    scores = numpy.zeros((len(rows), len(given[0])))
    for queries, codes in zip(asked, given, strict=True):
        for start in range(0, len(codes), 4096):
            block = numpy.empty((min(4096, len(codes) - start), codes.width), dtype=numpy.float32)
            codes.read(start, block)
            scores[:, start : start + len(block)] += queries[rows].astype(float) @ block.astype(float).T
    # A matrix product rounds equal codes differently: a copy has the score of its original.
    copies = numpy.arange(COPIES - 1, scores.shape[1], COPIES)
    scores[:, copies] = scores[:, copies - 1]
    best: Array = numpy.argsort(-scores, axis=1, kind="stable")[:, :TOP]
    return best


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--queries", type=int, default=20_604)
    options.add_argument("--codes", type=int, default=653_994)
    options.add_argument("--sample", type=int, default=100)
    options.add_argument("--folder", type=Path, help="where the vectors are kept; else in a temporary one")
    options.add_argument("--search", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.search:
        search(given.folder, given.queries, given.codes, given.sample)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        began = time.perf_counter()
        for _ in (*kept(folder, "query", given.queries), *kept(folder, "code", given.codes)):
            pass
        print(f"vectors: {time.perf_counter() - began:,.0f} s to draw and to keep", flush=True)
        again = [sys.executable, __file__, "--search", "--folder", str(folder)]
        for name in ("queries", "codes", "sample"):
            again += [f"--{name}", str(getattr(given, name))]
        subprocess.run(again, check=True)


if __name__ == "__main__":
    main()
