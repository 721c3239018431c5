"""Tables of a user's own: which column is the query, the code, the label and the id.

Columns with usual names are taken at once. Other names are only proposed, by the words in them and by what
the columns hold; which of them is meant, the user says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from typing import Any, Literal

from store.errors import ImportFailed, place
from store.formats.fields import Layout
from store.formats.protocol import Format, Sample, find_format
from store.formats.table import LABEL_WORDS, TABLE
from store.reading.files import InputFile
from store.reading.kept import table_name
from store.reading.records import read_records

LOOKED_AT = 20
"""Records of a table that are looked at."""

PREVIEWED = 5
"""Rows that are kept to be shown."""

FIELDS = ("query", "code", "label", "id")
"""The fields that are looked for; those that a pair needs come first."""

USUAL: dict[str, tuple[str, ...]] = {
    "query": ("query", "question", "text", "doc", "search", "nl", "intent"),
    "code": ("code", "snippet", "function", "source", "answer_code"),
    "label": ("label", "gold", "relevance", "relevant", "match"),
    "id": ("id", "nr", "idx", "number"),
}
"""The usual names of each field, in any case; the first is ours, and goes before the others."""

_DOUBTFUL = {"text", "doc", "search", "nl", "function", "source", "nr", "idx", "number"}
"""Usual names that mean other things as well."""

_NAMED = frozenset(column for field in TABLE.fields for column in field.columns)
"""Our names, each of which means what it says."""

_REQUIRED = ("query", "code")
_FURTHER = ("name", "language", "repository", "path", "licence", "relevance")
"""Fields that are taken under their own names, in any case."""

_WORDS = {
    "query": {*USUAL["query"], "queries", "title", "prompt", "docstring", "description", "asked", "request"},
    "code": {*USUAL["code"], "answer", "solution", "implementation", "func", "body", "program", "candidate"},
    "label": {*USUAL["label"], "labels", "verdict", "judgement", "judgment", "correct", "rating", "class"},
    "id": {*USUAL["id"], "no", "key", "uid", "row"},
}
RATERS = {
    "annotator",
    "annotators",
    "rater",
    "worker",
    "assessor",
    "coder",
    "judge",
    "expert",
    "labeler",
    "labeller",
}
"""Words in the name of a column that says who gave a label."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_CODE = re.compile(
    r"\b(?:def|class|return|import|function|const|public|void|fn|func|lambda)\b.*[(:{=;]"
    r"|[;{}]\s*$|\w\(.*\)|^\w+ = ",
    re.MULTILINE,
)
_FEW, _CELL = 3, 24
"""Values of a column that are shown, and characters of each."""

How = Literal["chosen", "named", "proposed", "several", "none"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The column of a field.

    Attributes:
        field: Our name for the field.
        columns: The column; several where more than one fits, none where none does.
        how: `chosen` by the user, `named` as usual, only `proposed`, `several` that fit, or `none`.
    """

    field: str
    columns: tuple[str, ...]
    how: How

    @property
    def is_sure(self) -> bool:
        """Whether the column is taken without a further word of the user."""
        return self.how in ("chosen", "named")


@dataclass(frozen=True, slots=True)
class Proposal:
    """The columns of a table, and the fields that they fill.

    Attributes:
        sample: The beginning of the file.
        columns: The columns, in the file's order.
        choices: The column of each field that is looked for.
        values: The first values of each column, as texts.
        rows: The first rows, as texts by column.
    """

    sample: Sample
    columns: tuple[str, ...]
    choices: tuple[Choice, ...]
    values: Mapping[str, tuple[str, ...]]
    rows: tuple[Mapping[str, str], ...] = ()

    @property
    def unclear(self) -> list[str]:
        """The fields that the user has to choose a column for."""
        return [
            one.field
            for one in self.choices
            if one.how == "several" or (one.field in _REQUIRED and not one.is_sure)
        ]

    @property
    def has_codes(self) -> bool:
        """Whether a column may hold codes."""
        return any(one.field == "code" and one.columns for one in self.choices)

    @property
    def mapping(self) -> dict[str, str]:
        """The columns that are sure, by field."""
        return {one.field: one.columns[0] for one in self.choices if one.is_sure}

    @property
    def options(self) -> list[str]:
        """The options that would import the table as proposed, with `COLUMN` where the user has to choose."""
        found = []
        for one in self.choices:
            if one.how in ("chosen", "proposed"):
                found += ["--map", f"{one.field}={one.columns[0]}"]
            elif one.field in self.unclear:
                found += ["--map", f"{one.field}=COLUMN"]
        if self.unknown_words:
            found += ["--label-words", ",".join(f"{word}=?" for word in self.unknown_words)]
        return found

    @property
    def unknown_words(self) -> list[str]:
        """The words in the column of labels that are none of the scale; none where they are many or long."""
        column = next((one.columns[0] for one in self.choices if one.field == "label" and one.columns), None)
        words = [word.lower() for word in self.values[column]] if column else []
        unknown = list(dict.fromkeys(word for word in words if word not in LABEL_WORDS))
        is_short = all(len(word) < _CELL and not set(word) & set(",=") for word in unknown)
        return unknown if is_short and len(unknown) <= _FEW else []

    @property
    def why(self) -> str:
        """The fields with the columns they are read from, and others that may be meant, in a line."""
        return ", ".join(self._taken(self.mapping))

    @property
    def beside(self) -> str:
        """The same of a table with our names, without these; empty where there is nothing to say."""
        others = {field: column for field, column in self.mapping.items() if field != column}
        return "".join(f"; {one}" for one in self._taken(others))

    def _taken(self, mapping: Mapping[str, str]) -> list[str]:
        taken = [f"{field} from {column!r}" for field, column in mapping.items()]
        if "id" not in self.mapping:
            taken.append("id from the content")
        taken += [
            f"{one.columns[0]!r} may be the {one.field}: --map {one.field}={one.columns[0]}"
            for one in self.choices
            if one.how == "proposed"
        ]
        return taken

    def lines(self) -> list[str]:
        """Return the fields and their columns as lines of at most 78 characters."""
        rows = []
        for one in self.choices:
            if one.how == "several":
                names = " and ".join(_shown(column) for column in one.columns[:_FEW])
                rows.append((one.field, "", f"{names} fit: choose one"))
            elif one.columns:
                shown = " · ".join(self.values[one.columns[0]][:_FEW])
                rows.append((one.field, _shown(one.columns[0]), shown or "empty"))
            elif one.field != "label":
                rows.append((one.field, "", "made of the content" if one.field == "id" else "no column fits"))
        width = max(len(column) for _, column, _ in rows)
        taken = {column for one in self.choices for column in one.columns}
        lines = [f"  {field:<6} {column:<{width}}  {shown}"[:78].rstrip() for field, column, shown in rows]
        if kept := [_shown(column) for column in self.columns if column not in taken]:
            lines.append(f"  kept   {', '.join(kept)}"[:78])
        return lines


class ColumnsUnclear(ImportFailed):
    """A table of no known format, whose columns the user has to choose."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal
        sample, unclear = proposal.sample, " and ".join(proposal.unclear)
        where = place(str(sample.path), sample.first_line)
        container = sample.container if sample.has_header else f"{sample.container} without a header"
        super().__init__(
            "Columns to choose",
            "\n".join(
                (
                    f"{where} ({container}) names no column that is surely the {unclear}:",
                    *proposal.lines(),
                    "Nothing was imported.",
                )
            ),
            _advice(proposal),
        )


def _advice(proposal: Proposal) -> str:
    """Say what to do with the command that imports a table."""
    missing = ["the name of a column in place of COLUMN"] * ("COLUMN" in " ".join(proposal.options))
    missing += ["1, 0 or nothing in place of each ?"] * bool(proposal.unknown_words)
    if missing:
        return f"Put {', and '.join(missing)} in the command below."
    return "Choose the columns: the command below does it as proposed."


def propose(file: InputFile, sample: Sample, mapping: Mapping[str, str]) -> Proposal:
    """Look for the columns of a table of pairs.

    `mapping` holds the columns that the user named, by our field; it is empty for none.
    """
    records = [raw.value for raw in islice(read_records(file, sample), LOOKED_AT) if raw.value]
    columns = tuple(dict.fromkeys(name for record in records for name in record))
    values = {column: tuple(_text(record.get(column)) for record in records) for column in columns}
    filled = {column: tuple(one for one in values[column] if one) for column in columns}
    taken = set(mapping.values()) - {""}
    choices = {}
    for field in FIELDS:
        chosen = mapping.get(field)
        free = [one for one in columns if one not in taken]
        if field == "label":
            free = [one for one in free if not _is_graded(one, filled[one])]
        if chosen == "":
            choices[field] = Choice(field, (), "none")
            continue
        found = (chosen,) if chosen is not None else _usual(field, {one: filled[one] for one in free})
        if found:
            taken.update(found)
            how: How = "chosen" if chosen is not None else "named" if len(found) == 1 else "several"
            choices[field] = Choice(field, found, how)
    for field in FIELDS:
        if field not in choices:
            left = {column: filled[column] for column in columns if column not in {*taken, *_NAMED}}
            found = _fitting(field, left)
            taken.update(found)
            choices[field] = Choice(field, found, _HOW[min(len(found), 2)])
    first = {column: tuple(dict.fromkeys(map(_shown, filled[column]))) for column in columns}
    rows = tuple(
        {column: values[column][place] for column in columns} for place in range(min(len(records), PREVIEWED))
    )
    return Proposal(sample, columns, tuple(choices[field] for field in FIELDS), first, rows)


_HOW: tuple[How, How, How] = ("none", "proposed", "several")


def own_table(
    file: InputFile, sample: Sample, mapping: Mapping[str, str]
) -> tuple[Format, Layout, str, Proposal]:
    """Read a table of pairs, if its columns say which is which.

    `mapping` holds the columns that the user named, by our field.

    Returns:
        Its format, its fields, what was taken for what, and its columns.

    Raises:
        ColumnsUnclear: They do not.
    """
    is_named = sample.columns.issuperset(_REQUIRED)
    if sample.container == "CSV" and sample.has_header and not is_named and are_data(sample.columns):
        sample = without_header(sample)
    proposal = propose(file, sample, mapping)
    if proposal.unclear:
        _refuse_title(proposal)
        raise ColumnsUnclear(proposal)
    _refuse_raters(proposal)
    further = _further(set(proposal.columns) - set(proposal.mapping.values()))
    layout = TABLE if mapping.get("label") != "" else TABLE.without("label")
    if "id" not in proposal.mapping:
        layout = layout.without_id(content_stem(file))
    for name in _ours_of_others(proposal, mapping):
        layout = layout.without(name)
    chosen = {field: column for field, column in mapping.items() if column}
    layout = _lenient(layout.mapped({**further, **chosen, **proposal.mapping}), further)
    return find_format(_FORMATS.get(sample.container, "jsonl")), layout, proposal.why, proposal


def has_readable(file: InputFile, sample: Sample) -> bool:
    """Tell whether a record at the beginning of a file can be read."""
    return any(raw.value for raw in islice(read_records(file, sample), LOOKED_AT))


def content_stem(file: InputFile) -> str:
    """Return how ids begin that are made of the content: all shards of a table have one name."""
    return table_name(file.stem)


def _further(columns: Collection[str]) -> dict[str, str]:
    """Return the columns that are called as a further field of ours, in any case, by the field."""
    return {column.lower(): column for column in sorted(columns) if column.lower() in _FURTHER}


_OURS: dict[str, tuple[str, str]] = {
    "rank": ("rank", r"[-+]?\d.*"),
    "extra": ("extra", r"\{.*"),
    "relevance": ("relevance", r"[-+]?\d.*"),
    "similarity": ("scores", r"[-+]?\d.*|\{.*"),
}
"""Columns of ours that others may name so, each with its field, and how its values begin."""


def _ours_of_others(proposal: Proposal, mapping: Mapping[str, str]) -> list[str]:
    """Return our fields whose column here holds something else altogether: it is a further column."""
    return [
        field
        for column, (field, form) in _OURS.items()
        if field not in mapping
        and proposal.values.get(column)
        and not any(re.fullmatch(form, value.strip(), re.DOTALL) for value in proposal.values[column])
    ]


def _lenient(layout: Layout, found: Mapping[str, str]) -> Layout:
    """Let fields be empty that the user did not name."""
    fields = (
        replace(field, required=field.name in ("external_id", *_REQUIRED)) if field.name in found else field
        for field in layout.fields
    )
    return replace(layout, fields=tuple(fields))


_FORMATS = {"CSV": "csv", "Parquet": "parquet"}


def _refuse_title(proposal: Proposal) -> None:
    """Refuse a table whose first line names hardly any column: it is a title.

    Raises:
        ImportFailed: It is one.
    """
    unnamed = [column for column in proposal.columns if re.fullmatch(r"\(\d+\)|", column)]
    if proposal.sample.has_header and 2 * len(unnamed) >= len(proposal.columns) > 1:
        named = ", ".join(repr(column) for column in proposal.columns if column not in unnamed)
        where = place(str(proposal.sample.path), proposal.sample.first_line)
        raise ImportFailed(
            "No names of columns",
            f"{where}: the first line names {named or 'no column'}, and {len(unnamed)} more have no name. "
            "Nothing was imported.",
            "Delete what stands above the names of the columns, or give each column a name.",
        )


def _refuse_raters(proposal: Proposal) -> None:
    """Refuse a table with the labels of several raters: those of a column of pairs are one rater's.

    Raises:
        ImportFailed: It is one.
    """
    label = proposal.mapping.get("label")
    for column in proposal.columns if label else ():
        raters = set(proposal.values[column])
        if len(raters) > 1 and words_of(column) & RATERS:
            where = place(str(proposal.sample.path), proposal.sample.first_line)
            raise ImportFailed(
                "Labels of several raters",
                f"{where}: {column!r} names raters ({', '.join(sorted(raters)[:_FEW])}), and the labels in "
                f"{label!r} would all become those of one. Nothing was imported.",
                "Import the pairs alone (--map label=), then the labels as a table of item, rater and value.",
            )


def without_header(sample: Sample) -> Sample:
    """Return a table whose columns are named by their numbers."""
    numbers = frozenset(str(number) for number in range(1, len(sample.columns) + 1))
    return replace(sample, columns=numbers, has_header=False)


def are_data(names: Collection[str]) -> bool:
    """Tell whether the names of columns look like a first row of data."""
    return any("\n" in name or len(name) > 80 or _CODE.search(name) for name in names)


def nearest(column: str, columns: Sequence[str]) -> str:
    """Return words for the column whose name is nearest to one that is not there; empty for none."""
    by_lower = {one.lower(): one for one in columns}
    found = get_close_matches(column.lower(), by_lower, n=1, cutoff=0.6)
    return f"; the nearest is {by_lower[found[0]]!r}" if found else ""


def _usual(field: str, columns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the columns with a usual name of a field: the one with ours if there is one.

    A name that may mean something else, as `source` may, counts where the column holds what it should.
    """
    found = [column for column in columns if column.strip().lower() in USUAL[field]]
    ours = [column for column in found if column.strip().lower() == field]
    sure = [
        column
        for column in found
        if column.strip().lower() not in _DOUBTFUL or _HOLDS[field](columns[column])
    ]
    return tuple(ours[:1] or sure)


def _fitting(field: str, columns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the columns that fit a field best, by the words in their names and by their values."""
    scores = {}
    for column, values in columns.items():
        words = words_of(column)
        holds = bool(values) and _HOLDS[field](values)
        if field in ("label", "id") and not holds:
            continue
        scores[column] = 2 * bool(words & _WORDS[field]) + holds
    best = max(scores.values(), default=0)
    found = tuple(column for column, score in scores.items() if score == best) if best else ()
    # An id that is not named so may be anything that differs from row to row.
    return found if field != "id" or best > 1 else ()


def words_of(name: str) -> set[str]:
    """Return the words in a column's name, in lower case."""
    return {word.lower() for word in _WORD.findall(name)}


def _is_code(values: Sequence[str]) -> bool:
    return 2 * sum(bool(_CODE.search(value)) for value in values) > len(values)


def _is_query(values: Sequence[str]) -> bool:
    phrases = sum(" " in value.strip() and len(value) <= 400 for value in values)
    return 2 * phrases > len(values) and not _is_code(values)


def _is_label(values: Sequence[str]) -> bool:
    different = {value.strip().lower() for value in values}
    if all(re.fullmatch(r"\d+([.,]\d+)?", value) for value in different) and not different <= {"0", "1"}:
        return False  # grades
    return 2 <= len(different) <= 3 < len(values) and all(len(value) <= 20 for value in different)


def _is_graded(column: str, values: Sequence[str]) -> bool:
    """Tell whether a column holds grades, of which a label would be made only with `--match-from`."""
    return (
        column.strip().lower() == "relevance"
        and not {value.lower() for value in values} <= LABEL_WORDS.keys()
    )


def _is_id(values: Sequence[str]) -> bool:
    return len(set(values)) == len(values) and all(len(value) <= 60 and " " not in value for value in values)


_HOLDS: dict[str, Callable[[Sequence[str]], bool]] = {
    "query": _is_query,
    "code": _is_code,
    "label": _is_label,
    "id": _is_id,
}


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"
