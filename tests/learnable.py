"""Pairs that can be learnt: queries and codes about the same two things, in words that they do not share."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from agents.retrieval.evaluation import Benchmark, NamedTexts
from agents.retrieval.stored_texts import StoredTexts

THINGS = 12


_FIRST = [f"{one}{other}" for one in "abcdef" for other in "ghijkl"]
_SECOND = [f"{one}{other}" for one in "mnopqr" for other in "stuvwx"]


def _pairs(number: int, seed: int, *, shuffled: bool = False) -> list[tuple[str, str]]:
    random = Random(seed)
    every = [(one, other) for one in range(THINGS) for other in range(THINGS) if one != other]
    drawn = random.sample(every, number)
    codes = drawn[:]
    if shuffled:
        random.shuffle(codes)
    return [
        (f"{_FIRST[one]} {_FIRST[other]} {_FIRST[one]}", f"{_SECOND[a]} {_SECOND[b]} {_SECOND[a]}")
        for (one, other), (a, b) in zip(drawn, codes, strict=True)
    ]


def learnable(parts: dict[str, int], *, seed: int = 0, shuffled: bool = False) -> dict[str, Benchmark]:
    """Parts with so many pairs each, no pair twice; shuffled labels are kept from all but the last part."""
    pairs, names = _pairs(sum(parts.values()), seed), list(parts)
    found, at = {}, 0
    for name, number in parts.items():
        own = pairs[at : at + number]
        if shuffled and name != names[-1]:
            codes = [code for _, code in own]
            Random(seed + 1).shuffle(codes)
            own = [(query, code) for (query, _), code in zip(own, codes, strict=True)]
        texts = StoredTexts()
        for _, code in own:
            texts.append(code)
        ids = tuple(f"{name}-c{place}" for place in range(number))
        queries = {f"{name}-q{place}": query for place, (query, _) in enumerate(own)}
        qrels = {query: {code: 1.0} for query, code in zip(queries, ids, strict=True)}
        found[name] = Benchmark(queries, NamedTexts(ids, texts), qrels, name)
        at += number
    return found


def write_beir(folder: Path, parts: dict[str, Benchmark]) -> Path:
    """Write parts as a BEIR folder."""
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as corpus, (folder / "queries.jsonl").open("w") as queries:
        for name, part in parts.items():
            for code, text in zip(part.codes.ids, part.codes.texts, strict=True):
                corpus.write(json.dumps({"_id": code, "text": text}) + "\n")
            for query, text in part.queries.items():
                queries.write(json.dumps({"_id": query, "text": text}) + "\n")
            rows = [
                f"{query}\t{code}\t{grade:g}"
                for query, of in part.qrels.items()
                for code, grade in of.items()
            ]
            (folder / "qrels" / f"{name}.tsv").write_text(
                "\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n"
            )
    return folder
