"""Pseudonyms in place of people's names, wherever the program stores a name and in what people wrote."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, Literal

import duckdb

from store.sql import parquet, quoted

_FUNCTIONS = ("whole_name", "names_in_fields", "names_in_words")
_NAMED_COLUMNS: Mapping[tuple[str, str], str] = {
    ("rater", "name"): "whole_name(name)",
    ("rater", "pseudonym"): "whole_name(pseudonym)",
    # A person has one name in an archive, in whatever study.
    ("study_rater", "pseudonym"): "(SELECT whole_name(r.name) FROM rater r WHERE r.id = rater_id)",
    ("score", "judge"): "whole_name(judge)",
    ("study", "protocol"): "names_in_fields(protocol)",
    ("study", "manifest"): "names_in_fields(manifest)",
    ("split", "plan"): "names_in_fields(plan)",
    ("split", "report"): "names_in_fields(report)",
    ("packet", "manifest"): "names_in_fields(manifest)",
    ("packet", "mapping"): "names_in_fields(mapping)",
    ("workspace_fact", "value"): "names_in_fields(value)",
    ("pending_response", "scores"): "names_in_fields(scores)",
    ("study_rater", "experience"): "names_in_words(experience)",
    ("saved_view", "name"): "names_in_words(name)",
    ("judgment", "comment"): "CASE WHEN comment = '' THEN '' ELSE names_in_words(comment) END",
    ("judgment", "reason"): "CASE WHEN reason = '' THEN '' ELSE names_in_words(reason) END",
    ("sent_back", "note"): "names_in_words(note)",
    # A revision is the text of an item.
    ("mark", "text"): "CASE WHEN text = '' OR kind LIKE 'revision.%' THEN text ELSE names_in_words(text) END",
}
"""The columns that hold people's names, with the SQL of their pseudonymous values."""

_FIELDS = frozenset({"rater", "raters", "coordinators", "judge", "against", "panel"})
"""The fields of stored JSON that hold names."""

_SHORTEST_WORD = 3
"""Letters of a name that is replaced within texts; a shorter one may be any word."""

_GIVEN = re.compile(r"P[1-9][0-9]*")
"""A pseudonym of somebody in no study."""

_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
"""The forms of Unicode in which a name may be written."""


def _key(name: str) -> str:
    """Return a name as it is the same in every case and form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@dataclass(frozen=True)
class Pseudonyms:
    """People's pseudonyms.

    Attributes:
        by_name: The pseudonym of each name that is replaced.
    """

    by_name: Mapping[str, str]

    @classmethod
    def of(cls, cursor: duckdb.DuckDBPyConnection) -> Pseudonyms:
        """Give every person a pseudonym: that of their first study, else P1, P2 and so on.

        An imported rater may be a person, too, unless it bears the name of a model or is named after a file.
        """
        raters = cursor.execute(
            """
            SELECT r.name, m.pseudonym, r.kind = 'agent' OR r.kind = 'import' AND (
                r.name IN (SELECT model FROM response_ref UNION SELECT model FROM run
                    UNION SELECT first_name FROM comparison UNION SELECT second_name FROM comparison)
                OR r.name IN (SELECT split_part(s.name, '.', 1) || ' labels' FROM source s)
            )
            FROM rater r LEFT JOIN (
                SELECT rater_id, arg_min(pseudonym, study_id) AS pseudonym FROM study_rater GROUP BY rater_id
            ) m ON m.rater_id = r.id ORDER BY r.id
            """
        ).fetchall()
        # What is a pseudonym already stays, so that an archive of an archive names people as that does.
        raters = [
            (name, pseudonym, kept or name == pseudonym or _GIVEN.fullmatch(name) is not None)
            for name, pseudonym, kept in raters
        ]
        taken = {name for name, _, _ in raters}
        found: dict[str, str] = {}
        for name, pseudonym, kept in raters:
            if not kept and pseudonym is not None and pseudonym not in taken:
                found[name] = pseudonym
                taken.add(pseudonym)
        free = (f"P{number}" for number in count(1))
        for name, _, kept in raters:
            if not kept and name not in found:
                found[name] = next(one for one in free if one not in taken)
        return cls(found)

    @property
    def _words(self) -> str:
        """A regular expression that finds the names that may be replaced within texts, in any case."""
        names = {
            unicodedata.normalize(form, name)
            for name in self.by_name
            if len(name) >= _SHORTEST_WORD
            for form in _FORMS
        }
        return "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or r"[^\s\S]"

    def whole(self, text: str) -> str:
        """Return the pseudonym of a name; any other text as it is."""
        return self.by_name.get(text, text)

    def in_words(self, text: str) -> str:
        """Return a text with pseudonyms in place of the names in it, in whatever case they are written."""
        return self._pattern.sub(lambda found: self._by_key.get(_key(found[0]), found[0]), text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{self._words})(?!\w)", re.IGNORECASE)

    @cached_property
    def _by_key(self) -> Mapping[str, str]:
        return {_key(name): pseudonym for name, pseudonym in reversed([*self.by_name.items()])}

    def in_fields(self, text: str) -> str:
        """Return JSON with pseudonyms in those fields that hold names; what is no JSON as it is."""
        try:
            given = json.loads(text)
        except ValueError:
            return text
        renamed = self._renamed(given)
        return text if renamed == given else json.dumps(renamed, ensure_ascii=False, sort_keys=True)

    def _renamed(self, value: Any, *, named: bool = False) -> Any:
        if isinstance(value, dict):
            return {name: self._renamed(one, named=name in _FIELDS) for name, one in value.items()}
        if isinstance(value, list):
            return [self._renamed(one, named=named) for one in value]
        return self.whole(value) if named and isinstance(value, str) else value

    @contextmanager
    def replacing(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[Mapping[tuple[str, str], str]]:
        """Give the SQL of the pseudonymous values of each column that holds names."""
        for name, function in zip(_FUNCTIONS, (self.whole, self.in_fields, self.in_words), strict=True):
            cursor.create_function(name, function, ["VARCHAR"], "VARCHAR")
        try:
            yield _NAMED_COLUMNS
        finally:
            for name in _FUNCTIONS:
                cursor.remove_function(name)

    def left_in(self, cursor: duckdb.DuckDBPyConnection, file: Path) -> dict[str, int]:
        """Return in how many rows of a Parquet file each column of texts holds a name, where any does."""
        found = cursor.execute(f"DESCRIBE FROM {parquet(file)}").fetchall()
        texts = [name for name, type_, *_ in found if type_ == "VARCHAR"]
        if not texts:
            return {}
        words = quoted(rf"(?i)(^|[^\p{{L}}\p{{N}}_])({self._words})($|[^\p{{L}}\p{{N}}_])")
        names = ", ".join(map(quoted, self.by_name)) or "NULL"
        counts = ", ".join(
            f'count(*) FILTER (WHERE regexp_matches("{name}", {words}) OR "{name}" IN ({names}))'
            for name in texts
        )
        row = cursor.execute(f"SELECT {counts} FROM {parquet(file)}").fetchone()
        return {name: number for name, number in zip(texts, row or (), strict=True) if number}
