"""Speed of a code search, as ratios in one run: splitting, comparing, and a search that comes a second time.

    python benchmarks/code_search_speed.py REPO [--vectors 200000] [--rounds 5]

Splitting is cutting the Python files of REPO into functions and classes, beside a bare parse of them by
tree-sitter. Comparing is one query with synthetic vectors of width 384 that are held in memory, as the streams of a
search have them, and with the same vectors in files, beside the bare matrix product. The second search is
`workbench search` as a user repeats it, in one process with the encoder loaded, beside the first one with an empty
cache of vectors. Goals: 2, 1.3, and a tenth.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tree_sitter_python
from top_k_speed import drawn
from tree_sitter import Language, Parser

from agents.code_search.searching import default_encoder, search_by_query, with_words
from agents.repositories.reading import read_repository
from agents.repositories.units import has_units, units_in
from agents.retrieval.methods import open_retriever
from agents.retrieval.search import exact_top, held
from agents.retrieval.settings import RetrievalSettings

QUERY = "where are redirects followed and how many are allowed"


def quickest(rounds: int, *works: Callable[[], Any]) -> list[float]:
    """Return the quickest seconds of each of several works, which take turns."""
    found = [float("inf")] * len(works)
    for _ in range(rounds):
        for place, work in enumerate(works):
            began = time.perf_counter()
            work()
            found[place] = min(found[place], time.perf_counter() - began)
    return found


def told(name: str, ours: float, other: str, theirs: float) -> None:
    """Print two times and their ratio."""
    print(f"{name:<28} {1000 * ours:9.1f} ms   {other} {1000 * theirs:9.1f} ms   ratio {ours / theirs:.2f}")


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository")
    parser.add_argument("--vectors", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    read = read_repository(options.repository, lambda path: path.endswith(".py"))
    bare = Parser(Language(tree_sitter_python.language()))
    sources = [file.text.encode() for file in read.files]
    ours, theirs = quickest(
        options.rounds, lambda: units_in(read), lambda: [bare.parse(source) for source in sources]
    )
    told(f"splitting {len(sources):,} files", ours, "bare parse", theirs)
    with tempfile.TemporaryDirectory() as folder:
        stored = drawn(Path(folder), 384, options.vectors)
        vectors = stored.all()
        query = vectors[:1].copy()
        kept = held(stored)
        from_files, ours, theirs = quickest(
            options.rounds,
            lambda: exact_top([query], [stored], 3),
            lambda: exact_top([query], [kept], 3),
            lambda: query @ vectors.T,
        )
        told(f"comparing {options.vectors:,} vectors", ours, "bare product", theirs)
        told("the same, from files", from_files, "bare product", theirs)
    with tempfile.TemporaryDirectory() as folder:
        retriever = open_retriever(
            with_words(default_encoder()), RetrievalSettings(vectors=Path(folder)), None
        )
        retriever.search([QUERY], ["def f(): pass"], 1)

        def search() -> None:
            units = units_in(read_repository(options.repository, has_units))
            search_by_query(units, QUERY, retriever, 10)

        (first,) = quickest(1, search)
        (second,) = quickest(1, search)
        told("second search", second, "first", first)


if __name__ == "__main__":
    main()
