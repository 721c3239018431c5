"""Measures exact search against faiss, sentence-transformers and the raw matrix product, in one run.

    python benchmarks/top_k_speed.py [--queries 2000] [--codes 50000] [--rounds 5] [--width 384 --width 1792]

Width 384 is that of one small model, 1792 that of the three models of CoSQA+ one after the other (768, 768 and
256). The methods take turns, and the quickest turn of each counts, so that what else the machine does bears on
none more than on another. Ours reads the vectors from files, as it does in use; the others have them in memory.
faiss is compared where faiss-cpu is installed. The last part encodes texts with the embedded model.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy

from agents.retrieval import search
from agents.retrieval.encoder import Encoded
from agents.retrieval.encoders import open_encoders
from agents.retrieval.search import exact_top
from agents.retrieval.vectors import VectorCache, Vectors

TOP = 20
Array = numpy.ndarray[Any, Any]
Method = Callable[[], Array | None]


class Drawn:
    """Makes vectors at random, to fill a cache with."""

    warning = ""

    def __init__(self, width: int) -> None:
        self.name = f"drawn-{width}"
        self._width = width
        self._rng = numpy.random.default_rng(width)

    def identity(self, role: str) -> dict[str, str]:
        """Return what the vectors depend on."""
        return {"width": str(self._width), "role": role}

    def encode(self, texts: Any, role: str, report: Any = None) -> Encoded:
        """Draw a vector for each text."""
        vectors = self._rng.standard_normal((len(texts), self._width), dtype=numpy.float32)
        vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
        return Encoded(vectors, numpy.zeros(len(texts), dtype=bool))


def drawn(folder: Path, width: int, number: int) -> Vectors:
    return VectorCache(folder).vectors(Drawn(width), [f"text {at}" for at in range(number)], "code")


def ours(queries: Array, stored: Vectors) -> Method:
    return lambda: exact_top([queries], [stored], TOP).ranking.codes


def raw_product(queries: Array, codes: Array) -> Method:
    """The same blocks multiplied, and nothing else."""
    import torch

    asked, given = torch.from_numpy(queries), torch.from_numpy(codes)
    room = torch.empty(search.QUERIES_AT_ONCE * search.CODES_AT_ONCE)

    def multiply() -> None:
        for start in range(0, len(given), search.CODES_AT_ONCE):
            block = given[start : start + search.CODES_AT_ONCE]
            for first in range(0, len(asked), search.QUERIES_AT_ONCE):
                some = asked[first : first + search.QUERIES_AT_ONCE]
                out = room[: len(some) * len(block)].view(len(some), len(block))
                torch.mm(some, block.T, out=out)

    return multiply


def sentence_transformers(queries: Array, codes: Array) -> Method:
    import torch
    from sentence_transformers.util import semantic_search

    def find() -> Array:
        found = semantic_search(torch.from_numpy(queries), torch.from_numpy(codes), top_k=TOP)
        return numpy.array([[int(one["corpus_id"]) for one in hits] for hits in found])

    return find


def faiss_flat(queries: Array, codes: Array) -> Method:
    import torch

    if torch.cpu.get_capabilities().get("avx512_f"):
        # The OpenBLAS of faiss's packages takes a processor that it does not know for one of 2004.
        os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    import faiss  # type: ignore[import-not-found, import-untyped, unused-ignore]

    index = faiss.IndexFlatIP(codes.shape[1])
    index.add(codes)
    return lambda: numpy.asarray(index.search(queries, TOP)[1])


def compare(width: int, queries: int, codes: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stored = drawn(Path(folder), width, codes + queries)
        whole = stored.all()
        asked, given = whole[codes:].copy(), whole[:codes]
        stored = drawn(Path(folder), width, codes)
        methods = {
            "ours": ours(asked, stored),
            "raw product": raw_product(asked, given),
            "sentence-transformers": sentence_transformers(asked, given),
        }
        if find_spec("faiss"):
            methods["faiss"] = faiss_flat(asked, given)
        seconds: dict[str, list[float]] = {name: [] for name in methods}
        results: dict[str, Array | None] = {}
        for _ in range(rounds):
            for name, method in methods.items():
                began = time.perf_counter()
                results[name] = method()
                seconds[name].append(time.perf_counter() - began)
    own, best = min(seconds["ours"]), {name: min(some) for name, some in seconds.items()}
    print(f"width {width}: {queries:,} queries x {codes:,} codes, ours {own:.2f} s")
    print(f"  {own / best['raw product']:.2f} of the raw product's time (goal: at most 1.3)")
    for name, goal in (("faiss", 1), ("sentence-transformers", 2)):
        found = results.get(name)
        if found is not None and results["ours"] is not None:
            same = float((found == results["ours"]).mean())
            print(f"  {best[name] / own:.2f} times as fast as {name} (goal: {goal}); {same:.2%} equal places")


def peak(width: int, codes: int) -> float:
    """Return by how many MiB a search of so many codes grows at its peak."""
    with tempfile.TemporaryDirectory() as folder:
        stored = drawn(Path(folder), width, codes)
        asked = numpy.empty((1000, width), dtype=numpy.float32)
        stored.read(0, asked)
        find = ours(asked, stored)
        Path("/proc/self/clear_refs").write_text("5")  # the peak from here on
        before = memory("VmRSS")
        find()
        return memory("VmHWM") - before


def memory(field: str) -> float:
    """Return a field of what the kernel says of this process's memory, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def encoding() -> None:
    (encoder,) = open_encoders(["minilm"])
    short = [f"how to sort a list of {at} numbers" for at in range(256)]
    long = [f"def f{at}(x):\n" + "    x = sorted(x, key=lambda one: one.name)\n" * 12 for at in range(64)]
    encoder.encode(short[:8], "query")
    for what, texts in (("queries", short), ("codes", long)):
        began = time.perf_counter()
        encoder.encode(texts, "code")
        print(
            f"encoding, all-MiniLM-L6-v2: {len(texts) / (time.perf_counter() - began):,.0f} {what} a second"
        )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--queries", type=int, default=2_000)
    options.add_argument("--codes", type=int, default=50_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--width", type=int, action="append")
    given = options.parse_args()
    # First, while no memory is left over that could be used again.
    for codes in (given.codes, 4 * given.codes):
        print(
            f"memory, width 384, 1,000 queries x {codes:,} codes: {peak(384, codes):,.0f} MiB more at the peak"
        )
    for width in given.width or [384, 1792]:
        compare(width, given.queries, given.codes, given.rounds)
    encoding()


if __name__ == "__main__":
    main()
