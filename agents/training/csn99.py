"""The expert annotations of CodeSearchNet, CSN99, as the test that CoSQA+ makes of them (section IV.A, RQ1).

The published file has a row for each expert: language, query, address of the code on GitHub, and a grade from
0 to 3. It has no codes; these are in CodeSearchNet's own files, under the same address.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.retrieval.evaluation import MOST_BYTES, Benchmark, NamedTexts
from agents.retrieval.stored_texts import StoredTexts
from store.errors import ImportFailed

GRADES = ("0", "1", "2", "3")
GRADE = "3"
"""The grade of an exact match."""
COLUMNS = ("Language", "Query", "GitHubUrl", "Relevance")


@dataclass(frozen=True, slots=True)
class Annotated:
    """The pairs of CSN99 that some expert graded 3.

    Attributes:
        pairs: Query and address, each pair once, in the order of the file.
    """

    pairs: Sequence[tuple[str, str]]

    @property
    def queries(self) -> list[str]:
        """The queries, each once."""
        return list(dict.fromkeys(query for query, _ in self.pairs))


def is_annotations(path: Path) -> bool:
    """Return whether a file is one of annotations."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return tuple(next(csv.reader([file.readline(1_000)]), ()))[: len(COLUMNS)] == COLUMNS
    except OSError:
        return False


def read_annotations(path: Path, language: str = "Python") -> Annotated:
    """Read the pairs of a language that some expert graded 3.

    Raises:
        ImportFailed: The file cannot be read, or has no such pair.
    """
    found: dict[tuple[str, str], None] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), start=2):
                if any(row.get(name) is None for name in COLUMNS):
                    raise ImportFailed(
                        "Not annotations",
                        f"{path}:{number} lacks one of the columns {', '.join(COLUMNS)}.",
                        "Take annotationStore.csv of CodeSearchNet as it is published.",
                    )
                language_of, query, address, grade = (row[name].strip() for name in COLUMNS)
                if grade not in GRADES or not (query and address):
                    raise ImportFailed(
                        "Not annotations",
                        f"{path}:{number} has no query, no address, or no grade from 0 to 3.",
                        "Take annotationStore.csv of CodeSearchNet as it is published.",
                    )
                if language_of == language and grade == GRADE:
                    found[query, address] = None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ImportFailed("Cannot read file", f"{path}: {error}", "Check where it came from.") from error
    if not found:
        raise ImportFailed(
            "No match to find",
            f"{path} has no pair of {language} with the grade {GRADE}.",
            "Take annotationStore.csv of CodeSearchNet as it is published.",
        )
    return Annotated(tuple(found))


def csn99(path: Path, codes: Sequence[Path]) -> tuple[Benchmark, int]:
    """Return the annotated pairs as a benchmark, whose codes are those of the pairs.

    Args:
        path: The file of annotations.
        codes: CodeSearchNet's files of codes (JSON lines, also packed with gzip).

    Returns:
        The benchmark, and how many of the pairs it lacks since their code is in none of the files.

    Raises:
        ImportFailed: A file cannot be read, or has none of the codes.
    """
    annotated = read_annotations(path)
    wanted = {url for _, url in annotated.pairs}
    found: dict[str, str] = {}
    for file in codes:
        found.update((url, code) for url, code in _codes(file) if url in wanted and url not in found)
    if not found:
        raise ImportFailed(
            "No code",
            f"None of the {len(wanted):,} annotated addresses is in {', '.join(map(str, codes))}.",
            "Name CodeSearchNet's files of Python: --codes FILE.jsonl.gz",
        )
    texts, names = (
        StoredTexts(),
        [url for url in dict.fromkeys(url for _, url in annotated.pairs) if url in found],
    )
    for url in names:
        texts.append(found[url])
    queries = {query: query for query, url in annotated.pairs if url in found}
    qrels: dict[str, dict[str, float]] = {query: {} for query in queries}
    for query, url in annotated.pairs:
        if url in found:
            qrels[query][url] = 1.0
    lost = sum(url not in found for _, url in annotated.pairs)
    return Benchmark(queries, NamedTexts(tuple(names), texts), qrels, "test"), lost


def _codes(path: Path) -> Iterator[tuple[str, str]]:
    """Yield address and code of each row of a file.

    Raises:
        ImportFailed: It cannot be read.
    """
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while line := file.readline(MOST_BYTES):
                number += 1
                row = json.loads(line)
                url, code = row.get("url"), row.get("code") or row.get("original_string")
                if isinstance(url, str) and isinstance(code, str):
                    yield url, code
    except (OSError, EOFError, ValueError, AttributeError) as error:
        raise ImportFailed(
            "Cannot read file", f"{path}:{number}: {error}", "Name JSON lines with the fields url and code."
        ) from error
