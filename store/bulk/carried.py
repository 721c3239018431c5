"""Which tables a merge carries over from a copy of a workspace, and what is other in them here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OTHER = "other"
"""What the copy is called to the database."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A table whose rows are carried over.

    Attributes:
        table: Its name.
        key: What tells a row from every other; a row whose key is known stays as it is.
        replaced: Columns whose value is another one here, as SQL over the copy's row `c`.
        unless: SQL over `c` that is true of rows which have no place here beside their key.
    """

    table: str
    key: tuple[str, ...] = ("id",)
    replaced: Mapping[str, str] = field(default_factory=dict)
    unless: str = "false"

    @property
    def fresh(self) -> str:
        """The FROM clause of the rows that are carried over."""
        same = " AND ".join(f"w.{name} = c.{name}" for name in self.key)
        return (
            f"FROM {OTHER}.{self.table} c "
            f"WHERE NOT EXISTS (FROM {self.table} w WHERE {same}) AND NOT ({self.unless})"
        )

    @property
    def insert(self) -> str:
        """The statement that carries them over."""
        replaced = ", ".join(f"{sql} AS {name}" for name, sql in self.replaced.items())
        columns = f"c.* REPLACE ({replaced})" if replaced else "c.*"
        return f"INSERT INTO {self.table} BY NAME SELECT {columns} {self.fresh}"


_RUN = "(SELECT ours FROM merged_run WHERE theirs = c.run_id)"
RATER = "(SELECT ours FROM merged_rater WHERE theirs = c.rater_id)"
_ATTEMPT = (
    "c.attempt + coalesce((SELECT shift FROM merged_attempt a "
    "WHERE a.run_id = c.run_id AND a.item_id = c.item_id AND a.role = c.role), 0)"
)
RULED = f"EXISTS (FROM verdict v WHERE v.run_id = {_RUN} AND v.item_id = c.item_id)"
"""Of a verdict of the copy: whether the run has one on that item here. It has one word on an item."""

CARRIED = (
    Carried("step", replaced={"run_id": _RUN, "attempt": _ATTEMPT}),
    Carried("execution", replaced={"rater_id": RATER}),
    Carried("test_outcome", ("execution_id", "position")),
    Carried("verdict", replaced={"run_id": _RUN}, unless=RULED),
)
"""What agents record. A table whose rows name neither runs nor raters is one line more."""
