"""Which tables a merge carries over from a copy of a workspace, and what is other in them here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OTHER = "other"
"""What the copy is called to the database."""


RUNS = "JOIN merged_run r ON r.theirs = c.run_id"
RATERS = "LEFT JOIN merged_rater p ON p.theirs = c.rater_id"
_ATTEMPTS = "LEFT JOIN merged_attempt a ON (a.run_id, a.item_id, a.role) = (c.run_id, c.item_id, c.role)"
RULINGS = "JOIN verdict v ON v.run_id = r.ours AND v.item_id = c.item_id"
"""Joins the copy's verdicts, and their runs here, to what these have said here on the same items."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A table whose rows are carried over.

    Joins are written as such: DuckDB would keep all of the table for a subquery of a row's own.

    Attributes:
        table: Its name.
        key: What tells a row from every other; a row whose key is known stays as it is.
        replaced: Columns whose value is another one here, as SQL over the copy's row `c` and what is joined.
        joined: The joins that these need, and those that leave rows out.
    """

    table: str
    key: tuple[str, ...] = ("id",)
    replaced: Mapping[str, str] = field(default_factory=dict)
    joined: tuple[str, ...] = ()

    @property
    def fresh(self) -> str:
        """The FROM clause of the rows that are carried over."""
        same = " AND ".join(f"w.{name} = c.{name}" for name in self.key)
        joined = " ".join(self.joined)
        return f"FROM {OTHER}.{self.table} c {joined} ANTI JOIN {self.table} w ON {same}"

    @property
    def insert(self) -> str:
        """The statement that carries them over."""
        replaced = ", ".join(f"{sql} AS {name}" for name, sql in self.replaced.items())
        columns = f"c.* REPLACE ({replaced})" if replaced else "c.*"
        return f"INSERT INTO {self.table} BY NAME SELECT {columns} {self.fresh}"


CARRIED = (
    Carried(
        "step",
        replaced={"run_id": "r.ours", "attempt": "attempt + coalesce(shift, 0)"},
        joined=(RUNS, _ATTEMPTS),
    ),
    Carried("reply"),
    Carried("execution", replaced={"rater_id": "p.ours"}, joined=(RATERS,)),
    Carried("test_outcome", ("execution_id", "position")),
    # A run has one word on an item: what it has said here stands.
    Carried("verdict", replaced={"run_id": "r.ours"}, joined=(RUNS, f"ANTI {RULINGS}")),
)
"""What agents record. A table whose rows name neither runs nor raters is one line more."""
