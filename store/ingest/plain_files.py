"""Records of files, converted as an import converts them, without a workspace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from store.errors import MOST_LISTED, ImportFailed, place
from store.events import silent
from store.formats.protocol import Converter, Entity
from store.formats.values import Refused
from store.formatting import pluralize
from store.ingest.inputs import Input, detect_inputs, listed, make_converters
from store.ingest.problems import reason_of
from store.processes import temporary_folder
from store.reading.files import prepare
from store.reading.records import RawRecord, read_records


class PlainFiles:
    """The records of some files, in order.

    Attributes:
        inputs: The files with their formats.
    """

    def __init__(self, inputs: Sequence[Input], converters: Mapping[int, Converter]) -> None:
        self.inputs = inputs
        self._converters = converters
        self._problems: list[str] = []

    def __iter__(self) -> Iterator[tuple[Input, RawRecord, list[Entity]]]:
        """Yield each record with its file and what it is converted to; one that cannot be read is noted."""
        for given in self.inputs:
            for raw in read_records(given.file, given.sample):
                try:
                    if raw.value is None:
                        raise Refused(raw.reason)
                    made = self._converters[given.file.number].convert(raw.value, raw.number)
                except Refused as refusal:
                    self.refuse(given, raw, str(refusal))
                else:
                    yield given, raw, made

    def refuse(self, given: Input, raw: RawRecord, why: str) -> None:
        """Note that a record cannot be used; all that were noted are one error in the end."""
        said = reason_of(given, raw.number, raw.content, why)
        self._problems.append(f"{place(given.file.name, raw.line)}: {said}")

    def check(self) -> None:
        """Refuse the files where a record could not be used.

        Raises:
            ImportFailed: One could not.
        """
        if self._problems:
            raise ImportFailed(
                "Records cannot be read",
                f"{pluralize(len(self._problems), 'record')} cannot be read: "
                f"{'; '.join(self._problems[:MOST_LISTED])}.",
                "Correct them. Nothing was computed.",
            )

    def notes(self) -> dict[str, int]:
        """Return what the converters counted, by its name."""
        found: Counter[str] = Counter()
        for converter in self._converters.values():
            found.update(converter.counts)
        return dict(found)


@contextmanager
def plain_files(paths: Sequence[Path | str], format_: str | None = None) -> Iterator[PlainFiles]:
    """Open files to read their records.

    Args:
        paths: The files; those of one call may refer to each other.
        format_: The name of their format; detected from the content of each when None.

    Raises:
        ImportFailed: A file or, at the end of the block, a record cannot be read.
        UnknownName: There is no such format.
    """
    with temporary_folder("workbench-files-") as folder:
        inputs, _ = detect_inputs(
            listed(paths), format_, {}, lambda number, path: prepare(number, path, folder, silent)
        )
        files = PlainFiles(inputs, make_converters(inputs))
        yield files
        files.check()
