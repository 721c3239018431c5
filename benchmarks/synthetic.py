"""Write synthetic query-code pairs of CoSQA+'s size: 20,604 queries with 20 candidates each, 132,952 codes.

The texts are drawn from a seed, so that two machines measure the same file:

    python benchmarks/synthetic.py PAIRS.jsonl [--queries 20604] [--codes 132952] [--form jsonl|csv|parquet|cosqa-plus]
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

QUERIES = 20_604
CODES = 132_952
CANDIDATES = 20
SEED = 20_604
FORMS = {"jsonl": ".jsonl", "csv": ".csv", "parquet": ".parquet", "cosqa-plus": ".json"}
"""The forms that can be written, each with the ending of its files."""

_VERBS = ("get", "set", "read", "write", "sort", "merge", "split", "count", "find", "check", "parse", "load")
_NOUNS = ("list", "dict", "file", "string", "date", "row", "column", "number", "path", "key", "line", "array")
_TAILS = ("by key", "in place", "from csv", "without loop", "to json", "with regex", "in order", "fast")
_LINES = (
    "    {a} = [{b} for {b} in {c} if {b} is not None]",
    "    for {a}, {b} in enumerate({c}):",
    "        {a}.append(str({b}).strip().lower())",
    '    """Return the {a} of every {b} that {c} holds, in the order given."""',
    "    with open({a}, encoding='utf-8') as {b}:",
    "        {c} = json.loads({b}.read() or '{{}}')",
    "    if not isinstance({a}, (list, tuple)):",
    "        raise ValueError('no {b} in %r' % ({c},))",
    "    {a} = sorted({b}.items(), key=lambda pair: (pair[1], pair[0]))",
    "    return {{{a}: {b} for {a}, {b} in zip({c}, range(len({c})))}}",
)


def queries(count: int, draw: random.Random) -> list[str]:
    """Return `count` different query texts, about 30 characters each."""
    return [
        f"python {draw.choice(_VERBS)} {draw.choice(_NOUNS)} {draw.choice(_NOUNS)} "
        f"{draw.choice(_TAILS)} {number}"
        for number in range(count)
    ]


def codes(count: int, draw: random.Random) -> list[str]:
    """Return `count` different snippets, 378 characters each on average."""
    names = [f"{draw.choice(_VERBS)}_{draw.choice(_NOUNS)}" for _ in range(500)]
    pool = [
        draw.choice(_LINES).format(a=draw.choice(names), b=draw.choice(names), c=draw.choice(names))
        for _ in range(4_000)
    ]
    return [
        "\n".join(
            [f"def {draw.choice(names)}_{number}({draw.choice(names)}):", *draw.choices(pool, k=_body(draw))]
        )
        for number in range(count)
    ]


def _body(draw: random.Random) -> int:
    return draw.randint(2, 7)


def pairs(query_count: int = QUERIES, code_count: int = CODES, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Yield the pairs of every query in turn, as CoSQA+ records with a rank and a similarity.

    Args:
        query_count: How many queries; each has 20 candidates.
        code_count: How many different snippets, at least 20; each occurs when there are enough pairs.
        seed: What the texts and the labels are drawn from.
    """
    draw = random.Random(seed)
    query_texts, code_texts = queries(query_count, draw), codes(code_count, draw)
    order = draw.sample(range(code_count), code_count)
    number = 0
    for query_number, query in enumerate(query_texts):
        chosen: dict[int, None] = {}
        while len(chosen) < CANDIDATES:
            chosen.setdefault(order[number] if number < code_count else draw.randrange(code_count))
            number += 1
        for rank, code_number in enumerate(chosen, start=1):
            yield {
                "pair-idx": query_number * CANDIDATES + rank - 1,
                "query-idx": query_number,
                "query": query,
                "code-idx": code_number,
                "code": code_texts[code_number],
                "label": int(draw.random() < 0.25),
                "rank": rank,
                "similarity": round(0.9 - 0.02 * rank + draw.random() / 50, 6),
            }


def write(path: Path, form: str = "jsonl", *, labelled: bool = False, **size: int) -> int:
    """Write the pairs to a file; return how many they are.

    Args:
        path: The file.
        form: `jsonl` (id, query, code, rank, similarity; a line each), `csv` and `parquet` (the same
            columns) or `cosqa-plus` (an array of its own field names, always labelled).
        labelled: Whether the records of a table carry the labels.
        **size: `query_count`, `code_count`, `seed` of `pairs`.
    """
    writers: dict[str, Callable[[Path, Iterator[dict[str, Any]]], None]] = {
        "jsonl": _write_lines,
        "csv": _write_csv,
        "parquet": _write_parquet,
        "cosqa-plus": _write_array,
    }
    count = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal count
        for record in pairs(**size):
            count += 1
            yield record if form == "cosqa-plus" else _line(record, labelled=labelled)

    writers[form](path, counted())
    return count


def _line(record: dict[str, Any], *, labelled: bool) -> dict[str, Any]:
    line = {"id": f"p{record['pair-idx']}", "query": record["query"], "code": record["code"]}
    line |= {"rank": record["rank"], "similarity": {"synthetic": record["similarity"]}}
    return line | ({"label": record["label"]} if labelled else {})


def _write_lines(path: Path, records: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def _write_array(path: Path, records: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for place, record in enumerate(records):
            kept = {name: value for name, value in record.items() if name not in ("rank", "similarity")}
            file.write(("[\n" if place == 0 else ",\n") + json.dumps(kept))
        file.write("\n]\n")


def _write_csv(path: Path, records: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for place, record in enumerate(records):
            row = {**record, "similarity": record["similarity"]["synthetic"]}
            if place == 0:
                writer.writerow(row)
            writer.writerow(row.values())


def _write_parquet(path: Path, records: Iterator[dict[str, Any]]) -> None:
    rows = [{**record, "similarity": record["similarity"]["synthetic"]} for record in records]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, compression="zstd")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--codes", type=int, default=CODES)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--form", choices=FORMS, default="jsonl")
    parser.add_argument("--labelled", action="store_true", help="labels in a table, too")
    options = parser.parse_args()
    count = write(
        options.path,
        options.form,
        labelled=options.labelled,
        query_count=options.queries,
        code_count=options.codes,
        seed=options.seed,
    )
    print(f"{count:,} pairs in {options.path}, {options.path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
