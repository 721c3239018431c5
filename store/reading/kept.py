"""Files that are kept in the workspace as they were imported, so that an export can give them back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow

from store.formats.fields import Field, Layout
from store.formats.protocol import Container, Sample
from store.reading.files import InputFile
from store.reading.spreadsheets import write_as_csv

_PART = 4 << 20
"""Bytes of a packed file in a row."""

_BLOCK = 1 << 20

_LARGEST = 1 << 30
"""Bytes of a record; whoever imported it said how large one may be."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The description by which a kept table of pairs is read again, and the item of each row is found.

    Attributes:
        container: How its records are stored.
        columns: Its columns, sorted.
        sheet: The ending of its name where it is a spreadsheet, which is kept as it is; empty for others.
        delimiter: Between the cells of a CSV file.
        has_header: Whether its first row names the columns.
        has_mark: Whether the file began with a byte order mark.
        query: The columns that may hold the query.
        code: The columns that may hold the code.
        id: The columns that may hold the id; none where ids are made of both texts.
        stem: How ids begin that are made of both texts.
        prefix: Put before every id.
        replaces: The sources of earlier files of its name, all of whose items it has.
    """

    container: Container
    columns: tuple[str, ...]
    sheet: str
    delimiter: str
    has_header: bool
    has_mark: bool
    query: tuple[str, ...]
    code: tuple[str, ...]
    id: tuple[str, ...]
    stem: str
    prefix: str
    replaces: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, file: InputFile, sample: Sample, layout: Layout, prefix: str, replaces: Sequence[int]
    ) -> Reading:
        """Return how a file is read that was made ready."""
        columns = {field.name: field.columns for field in layout.fields}
        return cls(
            sample.container,
            tuple(sorted(sample.columns)),
            file.path.suffix.lower() if file.is_sheet else "",
            sample.delimiter,
            sample.has_header,
            file.has_mark,
            columns["query"],
            columns["code"],
            columns.get("external_id", ()),
            layout.content_id,
            prefix,
            tuple(replaces),
        )

    @classmethod
    def from_json(cls, text: str) -> Reading:
        """Return the reading that `to_json` wrote."""
        fields: dict[str, Any] = {
            name: tuple(value) if type(value) is list else value for name, value in json.loads(text).items()
        }
        return cls(**fields)

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @property
    def encoding(self) -> str:
        """The encoding of a CSV file that is given back."""
        return "utf-8-sig" if self.has_mark else "utf-8"

    @property
    def layout(self) -> Layout:
        """The fields by which an item is found: its id, and its texts."""
        fields = tuple(
            Field(name, columns, required=True, filled=True)
            for name, columns in (("query", self.query), ("code", self.code))
        )
        if not self.id:
            return Layout("pair", fields, content_id=self.stem)
        return Layout("pair", (Field("external_id", self.id, "id", required=True), *fields))

    def sample(self, path: Path) -> Sample:
        """Return the sample of the file, for who reads it."""
        return Sample(path, self.container, frozenset(), self.delimiter, has_header=self.has_header)


def table_name(name: str) -> str:
    """Return the name of the table that a file belongs to: shards of a table have one."""
    return re.sub(r"-\d+-of-\d+(?=\.|$)", "", name)


def keep_file(cursor: duckdb.DuckDBPyConnection, source_id: int, file: InputFile) -> None:
    """Store the content of a file in the table source_file, within a transaction."""
    packed = file.spare.with_suffix(".zst")
    whole = file.path.open("rb") if file.is_sheet else file.open()
    with whole as plain, pyarrow.CompressedOutputStream(str(packed), "zstd") as out:
        while block := plain.read(_BLOCK):
            out.write(block)
    with packed.open("rb") as stream:
        for part, content in enumerate(iter(lambda: stream.read(_PART), b"")):
            cursor.execute("INSERT INTO source_file VALUES (?, ?, ?)", [source_id, part, content])
    packed.unlink()


def fetch_file(
    cursor: duckdb.DuckDBPyConnection, source_id: int, name: str, reading: Reading, folder: Path
) -> InputFile:
    """Write the content of a kept file into a folder, and return it as a file made ready.

    Args:
        cursor: A cursor of the workspace.
        source_id: The key of its source.
        name: Its name, for messages; of a spreadsheet the path is where it lies now.
        reading: How it is read.
        folder: Where to.
    """
    packed, whole = folder / f"{source_id}.zst", folder / f"{source_id}.whole{reading.sheet}"
    with packed.open("wb") as out:
        for content in _parts(cursor, source_id):
            out.write(content)
    with pyarrow.CompressedInputStream(str(packed), "zstd") as stream, whole.open("wb") as out:
        while block := stream.read(_BLOCK):
            out.write(block)
    packed.unlink()
    plain, path = whole, Path(name)
    if reading.sheet:
        plain, path = folder / f"{source_id}.csv", whole
        write_as_csv(whole, plain)
    spare, size = folder / f"{source_id}.spare", plain.stat().st_size
    return InputFile(0, path, plain, "", size, spare, _LARGEST, is_sheet=bool(reading.sheet))


def _parts(cursor: duckdb.DuckDBPyConnection, source_id: int) -> Iterator[bytes]:
    """Yield the parts of a file, one at a time: each is large."""
    part = 0
    while row := cursor.execute(
        "SELECT content FROM source_file WHERE source_id = ? AND part = ?", [source_id, part]
    ).fetchone():
        yield row[0]
        part += 1
