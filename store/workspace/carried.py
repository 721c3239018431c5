"""Which tables a merge carries over from a copy of a workspace, and what is other in them here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OTHER = "other"
"""What the copy is called to the database."""


RUNS = "JOIN merged_run r ON r.theirs = c.run_id"
RATERS = "LEFT JOIN merged_rater p ON p.theirs = c.rater_id"
_ATTEMPTS = "LEFT JOIN merged_attempt a ON (a.run_id, a.item_id, a.role) = (c.run_id, c.item_id, c.role)"
QUESTIONS = """JOIN merged_question q ON q.theirs = c.question_id
LEFT JOIN merged_ref f ON f.theirs = c.response_ref_id"""
"""Joins the copy's verdicts to the questions and the references to responses that they name, here."""
RULINGS = (
    "JOIN verdict v ON v.run_id = r.ours AND v.item_id = c.item_id AND v.question_id = q.ours "
    "AND v.response_ref_id IS NOT DISTINCT FROM f.ours"
)
"""Joins the copy's verdicts, and their runs here, to what these have said here of the same."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A table whose rows are carried over.

    Joins are written as such: DuckDB would keep all of the table for a subquery of a row's own.

    Attributes:
        table: Its name.
        key: What tells a row from every other; a row whose key is known stays as it is.
        replaced: Columns whose value is another one here, as SQL over the copy's row `c` and what is joined.
        joined: The joins that these need, and those that leave rows out.
        of: The condition of the rows that a merge is about, where it is not about all.
    """

    table: str
    key: tuple[str, ...] = ("id",)
    replaced: Mapping[str, str] = field(default_factory=dict)
    joined: tuple[str, ...] = ()
    of: str = ""

    @property
    def fresh(self) -> str:
        """The FROM clause of the rows that are carried over."""
        same = " AND ".join(f"w.{name} = {self.replaced.get(name, f'c.{name}')}" for name in self.key)
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
    # A run has one verdict on a question of an item: the one here is kept.
    Carried(
        "verdict",
        replaced={"run_id": "r.ours", "question_id": "q.ours", "response_ref_id": "f.ours"},
        joined=(RUNS, QUESTIONS, f"ANTI {RULINGS}"),
    ),
    # Of responses and scores those that a run made: imported ones come by importing their files.
    Carried(
        "response",
        replaced={"id": "f.ours", "run_id": "r.ours"},
        joined=(RUNS, "JOIN merged_ref f ON f.theirs = c.id"),
        of="WHERE run_id IS NOT NULL",
    ),
    Carried(
        "score",
        replaced={"response_ref_id": "f.ours", "run_id": "r.ours"},
        joined=(RUNS, "JOIN merged_ref f ON f.theirs = c.response_ref_id"),
        of="WHERE run_id IS NOT NULL",
    ),
)
"""What agents record. A table whose rows name neither runs nor raters is one line more."""
