"""Qrels and runs as TREC's programs read them, plain or gzipped, and the qrels of BEIR.

Qrels: `query 0 code grade`; or BEIR's three columns below a header, with tabs between them as in CSV. Runs:
`query Q0 code rank score name`. As in trec_eval only blanks of ASCII separate fields, so an id may have a
U+00A0; one with a blank can be in BEIR's qrels alone. A run is ordered by score and, where scores are equal
as 32-bit numbers, by code id, descending; the ranks in the file are ignored. Blank lines are skipped, and
lines that begin with #, except in BEIR's qrels.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, BinaryIO, Literal

from store.errors import EmptyFile, ImportFailed
from store.formatting import pluralize
from store.measures.ranking import Qrels, Run

MOST_CHARACTERS = 10_000
"""The characters of a line."""
MOST_LINES = 50_000_000
"""The lines of a file."""
HIGHEST_GRADE = 1_000
"""Above it, the exponential gain of a grade is no number any more."""

_BEIR = "query-id corpus-id score"
_QRELS = "query 0 code grade"
_RUN = "query Q0 code rank score name"

Repeated = Literal["error", "mean", "max"]
"""What becomes of a pair with several grades: the file is refused; it gets their mean, or the highest."""


def read_qrels(path: Path, repeated: Repeated = "error") -> dict[str, dict[str, float]]:
    """Return the grade of each judged code of each query.

    Raises:
        ImportFailed: It cannot be read, a line is no judgment, or it has none.
    """
    found: dict[str, dict[str, float]] = {}
    times: dict[tuple[str, str], int] = {}
    form, split = _QRELS, _fields
    for number, line in _lines(path):
        if form == _QRELS:
            fields = _fields(line)
            if not found and fields == _BEIR.split():
                form, split = _BEIR, _cells if "\t" in line else _fields
                continue
            if fields[0].startswith("#"):
                continue
        fields = split(line)
        _check_fields(path, number, fields, form)
        query, code, grade = fields[0], fields[-2], _number(path, number, fields[-1], "grade")
        if grade > HIGHEST_GRADE:
            raise _refused(path, number, f"the grade {grade:g} is above {HIGHEST_GRADE:,}")
        grades = found.setdefault(query, {})
        if code not in grades:
            grades[code] = grade
        elif repeated == "error":
            raise _refused(
                path,
                number,
                f"{query} and {code} have a grade already",
                "Take the mean of such grades, or the highest: --repeated mean, --repeated max.",
            )
        elif repeated == "max":
            grades[code] = max(grades[code], grade)
        else:
            seen = times[query, code] = times.get((query, code), 1) + 1
            grades[code] += (grade - grades[code]) / seen
    if not found:
        raise EmptyFile("Empty file", f"{path} holds no judgments.", "Check where it came from.")
    return found


def read_run(path: Path) -> dict[str, list[str]]:
    """Return the codes of each query, best first.

    Raises:
        ImportFailed: It cannot be read, a line is no result, a code is there twice, or it has no results.
    """
    found: dict[str, dict[str, None]] = {}
    scores: dict[str, array[float]] = {}
    names: dict[str, str] = {}
    for number, line in _lines(path):
        fields = _fields(line)
        if fields[0].startswith("#"):
            continue
        _check_fields(path, number, fields, _RUN)
        query, code = fields[0], names.setdefault(fields[2], fields[2])
        codes = found.setdefault(query, {})
        if code in codes:
            raise _refused(path, number, f"{query} has {code} already", "A run ranks each code once.")
        codes[code] = None
        scores.setdefault(query, array("f")).append(_number(path, number, fields[4], "score"))
    if not found:
        raise EmptyFile("Empty file", f"{path} holds no results.", "Check where it came from.")
    return {
        query: [code for _, code in sorted(zip(scores[query], codes, strict=True), reverse=True)]
        for query, codes in found.items()
    }


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Write judgments; gzipped where the name ends in .gz.

    Raises:
        ValueError: An id is not one word.
    """
    with _written(path) as file:
        for query, grades in qrels.items():
            for code, grade in grades.items():
                file.write(f"{_word(query, of_query=True)} 0 {_word(code)} {_plain(grade)}\n")


def write_run(path: Path, run: Run, name: str) -> None:
    """Write a run; gzipped where the name ends in .gz.

    The scores are whole numbers that fall by 1 with each rank, so that no program finds ties and breaks them
    in its own way.

    Args:
        path: The file.
        run: The codes of each query, best first.
        name: The name of the run.

    Raises:
        ValueError: An id or the name is not one word.
    """
    with _written(path) as file:
        for query, codes in run.items():
            for place, code in enumerate(codes):
                file.write(f"{_word(query, of_query=True)} Q0 {_word(code)} {place + 1} ")
                file.write(f"{len(codes) - place} {_word(name)}\n")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line with content."""
    number = 0
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            file: gzip.GzipFile | BinaryIO = gzip.GzipFile(fileobj=raw) if packed else raw
            while line := file.readline(MOST_CHARACTERS + 1):
                number += 1
                if len(line) > MOST_CHARACTERS:
                    raise _refused(path, number, f"the line has more than {MOST_CHARACTERS:,} bytes")
                if number > MOST_LINES:
                    raise _refused(path, number, f"the file has more than {MOST_LINES:,} lines")
                if line.strip():
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise _refused(path, number, "the line is not UTF-8") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _refused(path, number + 1, f"the gzip stream is damaged here ({error})") from error
    except OSError as error:
        raise ImportFailed(
            "Cannot read file", f"{path}: {error.strerror or error}", "Check the path."
        ) from error


_WORDS = re.compile(r"[^ \t\n\r\f\v]+").findall


def _fields(line: str) -> list[str]:
    """Return the fields of a line between ASCII blanks."""
    return line.split() if line.isascii() else _WORDS(line)


def _cells(line: str) -> list[str]:
    """Return the fields of a line between tabs, as BEIR's own program reads them."""
    try:
        return next(csv.reader([line], delimiter="\t"), [])
    except csv.Error:
        return []


def _check_fields(path: Path, number: int, fields: Sequence[str], form: str) -> None:
    wanted = len(form.split())
    # After the name of a run trec_eval ignores everything; an id with a blank would move the score there.
    longer = form == _RUN and len(fields) > wanted and _is_number(fields[3]) and not _is_number(fields[5])
    if len(fields) != wanted and not longer:
        raise _refused(
            path,
            number,
            f"the line has {pluralize(len(fields), 'field')}; they are: {form}",
            "Correct the line. Blanks separate fields; in BEIR's qrels tabs, so that ids can have blanks.",
        )
    if "" in fields:
        raise _refused(path, number, f"a field is empty; they are: {form}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(path: Path, number: int, text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _refused(path, number, f"the {what} {text[:40]!r} is no finite number")
    return value


def _refused(path: Path, number: int, why: str, hint: str = "Correct the line.") -> ImportFailed:
    return ImportFailed("Not a TREC file", f"{path}:{number}: {why}", hint)


def _plain(grade: float) -> str:
    return str(int(grade) if grade == int(grade) else grade)


def can_be_id(text: str, *, of_query: bool = False) -> bool:
    """Return whether a text can be an id in TREC's files: it is one word, and that of a query no comment."""
    return _fields(text) == [text] and not (of_query and text.startswith("#"))


def _word(text: str, *, of_query: bool = False) -> str:
    if not can_be_id(text, of_query=of_query):
        raise ValueError(f"{text!r} is not one word, as ids in TREC files are, or begins with #")
    return text


def _written(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "wt", encoding="utf-8", newline="\n")
    return path.open("w", encoding="utf-8", newline="\n")
