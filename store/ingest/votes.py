"""Votes on comparisons straight from files, as an import reads them, without a workspace."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from store.errors import ImportFailed
from store.ingest.inputs import Input
from store.ingest.plain_files import plain_files
from store.kinds.comparison import BOTH_BAD, COMPARISON, FIRST_LEFT, listed_second_first, shown_order
from store.measures.votes import Pairing, Vote, Votes, group_values

_CONTENT = ("prompt", "first", "second", "first_name", "second_name")


def read_votes(
    paths: Sequence[Path | str], format_: str | None = None, *, group_by: str | None = None
) -> Votes:
    """Read the votes of files of comparisons, in the order of the files.

    Args:
        paths: The files; those of one call may refer to each other.
        format_: The name of their format; detected from the content of each when None.
        group_by: The column of the comparisons, or the other field of their records, by which they are
            grouped.

    Raises:
        ImportFailed: A file or a record cannot be read, a file holds no comparisons, or different ones have
            the same id.
        UnknownName: There is no such format, or no comparison has such a field.
    """
    items: dict[Hashable, Pairing] = {}
    groups: dict[Hashable, object] = {}
    contents: dict[Hashable, int] = {}
    labels: list[Vote] = []
    orders: list[Vote] = []
    with plain_files(paths, format_) as files:
        _refuse_others(files.inputs)
        for given, raw, made in files:
            for one in made:
                if one.sort == COMPARISON.name:
                    name = one.fields["external_id"]
                    content = hash(tuple(one.fields[part] for part in _CONTENT))
                    if contents.setdefault(name, content) != content:
                        files.refuse(given, raw, f"duplicate id {name!r}: it came before with other content")
                    items.setdefault(name, _pairing(one.fields))
                    if group_by is not None:
                        groups.setdefault(name, one.fields.get(group_by, (one.extra or {}).get(group_by)))
                elif one.fields["phase"] is None:
                    labels.append(_vote(one.fields))
                else:
                    orders.append(_vote(one.fields))
    if group_by is not None:
        values = group_values(list(groups.values()), group_by)
        for name, value in zip(groups, values, strict=True):
            items[name] = replace(items[name], group=value)
    return Votes(items, labels, orders, frozenset(one.rater for one in orders), files.notes())


def _refuse_others(inputs: Sequence[Input]) -> None:
    for given in inputs:
        if given.format.converter is None or given.format.layouts[0].sort != COMPARISON.name:
            raise ImportFailed(
                "No comparisons",
                f"{given.file.name} is of the format {given.format.name}, which holds no comparisons.",
                "See the formats of comparisons in docs/preference.md.",
            )


def _pairing(fields: Any) -> Pairing:
    first, second = fields["first"], fields["second"]
    lengths = (len(first), len(second)) if first or second else None
    names = fields["first_name"], fields["second_name"]
    listed = listed_second_first(fields["file_order"], *names)
    return Pairing(fields["prompt"], *names, lengths, listed, alike=bool(first) and first == second)


def _vote(fields: Any) -> Vote:
    return Vote(
        fields["item"],
        fields["rater"],
        fields["value"],
        fields["reason"] == BOTH_BAD,
        FIRST_LEFT.get(shown_order(fields["shown_as"]) or ""),
    )
