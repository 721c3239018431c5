"""Stages: the named tables of an import between what was read and what is published.

Each stage declares its columns and which staged records and other stages it is made from; a statement that
names others, or lacks a column, fails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import duckdb

_WORD = re.compile(r"[a-z_]+")
_NAMES: set[str] = set()


@dataclass(frozen=True, slots=True)
class Stage:
    """A temporary table or view of one import.

    Attributes:
        name: Its name.
        columns: Its columns, in order.
        inputs: The stages that it is made from, beside tables of the workspace and staged records.
        view: Whether it is a view.
    """

    name: str
    columns: tuple[str, ...]
    inputs: tuple[Stage, ...] = ()
    view: bool = False

    def __post_init__(self) -> None:
        """Note the name, so that other stages have to declare it."""
        _NAMES.add(self.name)

    def fill(
        self, cursor: duckdb.DuckDBPyConnection, select: str, values: dict[str, Any] | None = None
    ) -> None:
        """Make the stage.

        Args:
            cursor: The cursor that holds it.
            select: The SELECT of its rows, which may have further columns.
            values: The values of the parameters in it.

        Raises:
            ValueError: The SELECT names a stage that is none of the inputs.
        """
        declared = {self.name, *(stage.name for stage in self.inputs)}
        if strange := (_NAMES & set(_WORD.findall(select))) - declared:
            raise ValueError(f"the stage {self.name} is made from {', '.join(sorted(strange))}, undeclared")
        sort = "VIEW" if self.view else "TABLE"
        columns = ", ".join(self.columns)
        cursor.execute(
            f"CREATE OR REPLACE TEMP {sort} {self.name} AS SELECT {columns} FROM ({select})", values
        )
