"""CoSQA+: pairs with their texts, or pairs that refer to a file of queries and a file of codes.

Its own files say `pair-idx`, `query-idx`, `code-idx`; older ones say `pair-index` and so on. All are read.
It is written as a folder of three files: codebase.json, queries.json, pairs.json.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from store.events import Progress
from store.formats.fields import Field, Layout
from store.formats.protocol import JSON, Export, Format, WriteResult
from store.formats.table import LABEL_VALUES
from store.kinds.pair import PAIR

PAIR_INDEX = ("pair-idx", "pair-index")
QUERY_INDEX = ("query-idx", "query-index")
CODE_INDEX = ("code-idx", "code-index")
FILES = ("codebase.json", "queries.json", "pairs.json")

_OWN = {*PAIR_INDEX, *QUERY_INDEX, *CODE_INDEX, "query", "code", "label"}
_WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(slots=True)
class _Numbered:
    """The number of every text: the imported one, or the next free one."""

    names: tuple[str, ...]
    numbers: dict[str, int | str] = field(default_factory=dict)
    taken: set[int | str] = field(default_factory=set)
    free: int = 0

    def propose(self, text: str, extra: dict[str, Any]) -> None:
        """Use the number of the imported record, unless another text has it."""
        given = next((extra[name] for name in self.names if name in extra), None)
        if text not in self.numbers and isinstance(given, int | str) and given not in self.taken:
            self.numbers[text] = given
            self.taken.add(given)

    def number(self, text: str) -> int | str:
        """Return the number of a text."""
        if text not in self.numbers:
            while self.free in self.taken:
                self.free += 1
            self.numbers[text] = self.free
            self.taken.add(self.free)
        return self.numbers[text]


def write_cosqa_plus(export: Export) -> WriteResult:
    """Write one rater's current labels as the three files of CoSQA+."""
    labels = export.labels(PAIR.name)
    queries, codes = _Numbered(QUERY_INDEX), _Numbered(CODE_INDEX)
    for batch in labels.of("query", "code", "extra"):
        for query, code, extra in batch:
            kept = json.loads(extra)
            queries.propose(query, kept)
            codes.propose(code, kept)
    written = 0
    with (export.target / "pairs.json").open("w", encoding="utf-8", newline="\n") as file:
        for batch in labels.of("id", "query", "code", "label", "extra"):
            for name, query, code, label, extra in batch:
                kept = {key: value for key, value in json.loads(extra).items() if key not in _OWN}
                record = {
                    "pair-idx": int(name) if _WHOLE.fullmatch(name) else name,
                    "query-idx": queries.number(query),
                    "query": query,
                    "code-idx": codes.number(code),
                    "code": code,
                    **kept,
                    "label": label,
                }
                _put(file, record, first=written == 0)
                written += 1
            export.progress(Progress("writing", written, labels.written.records))
        file.write("\n]\n")
    _write_texts(export.target / "queries.json", "query", queries)
    _write_texts(export.target / "codebase.json", "code", codes)
    return labels.written


def _write_texts(path: Path, name: str, texts: _Numbered) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for place, (text, number) in enumerate(texts.numbers.items()):
            _put(file, {f"{name}-idx": number, name: text}, first=place == 0)
        file.write("\n]\n")


def _put(file: IO[str], record: dict[str, Any], *, first: bool) -> None:
    file.write(("[\n " if first else ",\n ") + json.dumps(record, ensure_ascii=False))


COSQA_PLUS = Format(
    name="cosqa-plus",
    description="CoSQA+: pair-idx, query-idx, query, code-idx, code, label; or with its query and code files",
    containers=JSON,
    layouts=(
        Layout(
            "pair",
            (
                Field("external_id", PAIR_INDEX, "id", required=True),
                Field("query_ref", QUERY_INDEX, "id", required=True, kept=True),
                Field("code_ref", CODE_INDEX, "id", required=True, kept=True),
                Field("query", ("query",), filled=True),
                Field("code", ("code",), filled=True),
                Field("label", ("label",), "number", values=LABEL_VALUES),
            ),
        ),
        Layout(
            "query",
            (
                Field("ref", QUERY_INDEX, "id", required=True),
                Field("query", ("query",), required=True, filled=True),
            ),
        ),
        Layout(
            "code",
            (
                Field("ref", CODE_INDEX, "id", required=True),
                Field("code", ("code",), required=True, filled=True),
            ),
        ),
    ),
    write=write_cosqa_plus,
    carries="Pairs with one rater's labels, as the three files of CoSQA+.",
    suffix="",
    needs_rater=True,
    folder=True,
)
