"""The pairs that an encoder is trained on, and their batches.

Training sees individual pairs of a query and a code that matches it (CoSQA+, section IV.A). The other codes
of a batch are a query's negatives, so no batch has a code that matches another query of it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from agents.retrieval.evaluation import Benchmark
from store.errors import WorkbenchError

Negatives = Literal["in-batch", "labelled"]
LEVEL = 1
"""The least grade of a match."""
_LOOKED_AT = 2_000
"""Pairs that one batch puts off at most, so that a query with very many matches takes no time squared."""


@dataclass(frozen=True, slots=True)
class TrainingPairs:
    """Pairs of a query and a code that matches it, as texts, each once.

    Attributes:
        pairs: The pairs, in the order of the queries.
        matches: The codes that match each query, also those of grades in other parts.
        negatives: A code for each pair that was labelled as no match of its query, or, where there is none, a
            code of another query; none where only the batch has negatives.
        drawn: How many of these negatives are codes of other queries.
        digest: A digest of the texts and labels.
    """

    pairs: Sequence[tuple[str, str]]
    matches: Mapping[str, frozenset[str]]
    negatives: Sequence[str]
    drawn: int
    digest: str

    @property
    def queries(self) -> list[str]:
        """The queries, each once."""
        return list(dict.fromkeys(query for query, _ in self.pairs))


def training_pairs(
    benchmark: Benchmark, negatives: Negatives = "in-batch", seed: int = 0, others: Sequence[Benchmark] = ()
) -> TrainingPairs:
    """Return the pairs of a part of a benchmark.

    Args:
        benchmark: The part.
        negatives: Whether labelled non-matches are negatives, too.
        seed: Draws one of several labelled non-matches of a query.
        others: Other parts; a code that matches a query there is no negative of it here.

    Raises:
        WorkbenchError: No pair of the part is a match.
    """
    codes = _judged(benchmark)
    matches, labelled = defaultdict[str, dict[str, None]](dict), defaultdict[str, dict[str, None]](dict)
    graded = hashlib.sha256()
    for name, grades in sorted(benchmark.qrels.items()):
        query = benchmark.queries[name]
        for code, grade in sorted(grades.items()):
            (matches if grade >= LEVEL else labelled)[query][codes[code]] = None
            graded.update(repr((query, codes[code], grade)).encode("utf-8", "surrogatepass"))
    pairs = [(query, code) for query, found in matches.items() for code in found]
    if not pairs:
        raise WorkbenchError(
            "No match to learn from",
            f"No pair of the part {benchmark.part} is labelled a match.",
            "Label pairs, or name another part: --part NAME",
        )
    known = {query: frozenset(found) for query, found in matches.items()}
    for other in others:
        texts = _judged(other)
        for name, grades in other.qrels.items():
            if (query := other.queries[name]) in known:
                known[query] |= {texts[code] for code, grade in grades.items() if grade >= LEVEL}
    hard: list[str] = []
    drawn = 0
    if negatives == "labelled":
        random, every = Random(seed), list(dict.fromkeys(code for _, code in pairs))
        for query, _ in pairs:
            # One text can be in the corpus twice, with both labels.
            own = [code for code in labelled[query] if code not in known[query]]
            if not own:
                own = [code for code in random.sample(every, min(len(every), 20)) if code not in known[query]]
                drawn += 1
            if not own:
                raise WorkbenchError(
                    "No negative",
                    f"No code of the part {benchmark.part} is no match of {query!r}.",
                    "Label more pairs, or leave --negatives out.",
                )
            hard.append(random.choice(own))
    return TrainingPairs(pairs, known, hard, drawn, graded.hexdigest())


def _judged(benchmark: Benchmark) -> dict[str, str]:
    """Return the text of each judged code; a corpus can have many more."""
    judged = {code for grades in benchmark.qrels.values() for code in grades}
    named = zip(benchmark.codes.ids, benchmark.codes.texts, strict=True)
    return {name: text for name, text in named if name in judged}


def batches(pairs: TrainingPairs, size: int, random: Random) -> Iterator[list[int]]:
    """Yield the places of the pairs of each batch, in an order that is drawn.

    A pair that would be beside a match of its query waits for a later batch, so the last batches can be
    small. One of a single pair, which has no negative, is left out, unless pairs bring their own.
    """
    waiting = deque(random.sample(range(len(pairs.pairs)), len(pairs.pairs)))
    while waiting:
        batch: list[int] = []
        queries, matching, shown = set[str](), set[str](), set[str]()
        put_off: list[int] = []
        while waiting and len(batch) < size and len(put_off) < _LOOKED_AT:
            place = waiting.popleft()
            query, code = pairs.pairs[place]
            brings = {code, *pairs.negatives[place : place + 1]}
            known = pairs.matches[query]
            if query in queries or brings & matching or any(one in shown for one in known):
                put_off.append(place)
                continue
            batch.append(place)
            queries.add(query)
            matching |= known
            shown |= brings
        waiting.extendleft(reversed(put_off))
        if len(batch) > 1 or pairs.negatives:
            yield batch


def epochs_of_batches(pairs: TrainingPairs, size: int, epochs: int, seed: int) -> list[list[list[int]]]:
    """Return the batches of each epoch, as many in each.

    What an epoch has beyond those of the one with the fewest is left out: a few pairs that no other batch
    took.

    Raises:
        WorkbenchError: There is none: all pairs are of one query.
    """
    found = [list(batches(pairs, size, Random(f"{seed} {epoch}"))) for epoch in range(epochs)]
    number = min(map(len, found))
    if not number:
        raise WorkbenchError(
            "No negatives",
            "All pairs are of one query, so that no batch has a code that does not match it.",
            "Label pairs of other queries, or give --negatives labelled.",
        )
    return [one[:number] for one in found]
