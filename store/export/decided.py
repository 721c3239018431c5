"""The label of each pair, who decided it, and how the agents came to theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import duckdb

from store.export.labels import CURRENT_LABEL, create_current_labels, whole_numbers
from store.kinds.spec import QuestionSpec
from store.measures.truth import POLICIES
from store.policy.scope import ADJUDICATE, FIRST_PHASES
from store.sql import quoted

DECIDED: dict[str, str] = {
    "label": "DOUBLE",
    "decided_by": "VARCHAR",
    "raters": "BIGINT",
    "agreement": "DOUBLE",
    "saw_agents": "BIGINT",
    "agents_label": "DOUBLE",
    "agents_path": "VARCHAR",
    "agents_reason": "VARCHAR",
    "part": "VARCHAR",
    "comments": "VARCHAR",
}
"""The columns of a decision, in order, with their types.

- `decided_by`: `adjudicated`, `majority`, `expert` (one person), `undecided` (a tie), `agents`, the policy
  that was asked for, `unanimous` where `adjudicated` was and nobody ruled, or `imported`; empty where nobody
  decided.
- `raters`: People with a current label; `agreement`: the share of them that gave `label`; `saw_agents`: how
  many of them had a label of agents on the screen.
- `agents_path`: how the agents came to their label, as in `verdict.path`.
- `part`: the part of the split.
- `comments`: People's comments, with ` | ` between them.
"""

_OF_ONE = ("label", "decided_by")
_OF_AGENTS = ("agents_path", "agents_reason")


@dataclass(frozen=True, slots=True)
class Deciding:
    """Whose labels are written.

    Attributes:
        rater_id: The rater, as for `create_current_labels`; None where people decide, then agents.
        word: What `decided_by` says of that rater's labels.
        run_id: The run whose labels are the agents'; None for none.
        parts: Whether the items are those of a split.
        comments: Whether people's comments are written.
    """

    asked: QuestionSpec
    rater_id: int | None = None
    word: str = ""
    run_id: UUID | None = None
    parts: bool = False
    comments: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of DECIDED that are written: of one rater nothing that others did."""
        found: tuple[str, ...]
        if self.word in ("expert", "imported"):
            found = _OF_ONE
        elif self.word == "agents":
            found = (*_OF_ONE, *_OF_AGENTS)
        else:
            found = tuple(name for name in DECIDED if name not in ("part", "comments"))
        return (*found, *["part"] * self.parts, *["comments"] * self.comments)


def create_decided(cursor: duckdb.DuckDBPyConnection, deciding: Deciding) -> dict[str, str]:
    """Create the temporary table decided (item_id, and DECIDED), a row for each item of the export.

    Without a rater named a ruling of the adjudicators decides, then what most people say, then the agents;
    all current labels of people count, those given beside the agents' label, too.

    Args:
        cursor: A cursor of the workspace, with the views of `create_exported_records` and the table said.
        deciding: Whose labels.

    Returns:
        The columns that are written, with their types: labels that are whole numbers are integers.
    """
    question = f"(SELECT id FROM question WHERE name = {quoted(deciding.asked.name)})"
    about = f"question_id IN {question} AND response_ref_id IS NULL"
    create_current_labels(cursor, None)
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE person_label AS
        SELECT s.item_id, s.value, j.shown_verdict IS NOT NULL AS saw
        FROM {CURRENT_LABEL} s JOIN judgment j ON j.id = s.id
        JOIN exported_rater a ON a.id = s.rater_id AND a.kind = 'human'
        WHERE s.question_id IN {question} AND s.response_ref_id IS NULL AND j.origin <> 'ruling'
        """
    )
    given = "SELECT NULL::BIGINT AS item_id, NULL::DOUBLE AS value WHERE false"
    if deciding.rater_id is not None:
        create_current_labels(cursor, deciding.rater_id)
        given = f"SELECT item_id, value FROM {CURRENT_LABEL} WHERE {about}"
    run = "NULL" if deciding.run_id is None else f"{quoted(str(deciding.run_id))}::UUID"
    named = deciding.rater_id is not None
    by_name = f"if(g.value IS NULL, NULL, {quoted(deciding.word)})"
    if deciding.word in POLICIES:
        by_name = _by_policy(deciding.word)
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE decided AS
        WITH counted AS (
            SELECT item_id, value, count(*) AS number, count(*) FILTER (saw) AS saw
            FROM person_label GROUP BY item_id, value
        ), people AS (
            SELECT item_id, sum(number)::BIGINT AS raters, sum(saw)::BIGINT AS saw,
                arg_max(value, number) AS value,
                map_from_entries(list((value, number))) AS numbers,
                list(number ORDER BY number DESC) AS ordered
            FROM counted GROUP BY item_id
        ), ruling AS (
            SELECT item_id, min(value) AS value FROM (
                SELECT item_id, arg_max_null(value, id) AS value, arg_max(origin, id) AS origin, phase
                FROM exported_judgment
                WHERE {about} AND list_contains({[*FIRST_PHASES, ADJUDICATE]}, phase)
                GROUP BY item_id, rater_id, assignment_id, phase
            ) WHERE value IS NOT NULL AND (origin = 'ruling' OR phase = {quoted(ADJUDICATE)})
            GROUP BY item_id HAVING min(value) = max(value)
        ), given AS ({given}), agents AS (
            SELECT item_id, value, path, reason FROM exported_verdict WHERE run_id = {run} AND {about}
        ), together AS (
            SELECT item_id, string_agg(comment, ' | ' ORDER BY id) AS comments FROM said GROUP BY item_id
        ), chosen AS (
            SELECT e.id AS item_id, CASE WHEN {named} THEN g.value WHEN r.value IS NOT NULL THEN r.value
                    WHEN p.raters IS NULL THEN v.value
                    WHEN len(p.ordered) = 1 OR p.ordered[1] > p.ordered[2] THEN p.value END AS label,
                CASE WHEN {named} THEN {by_name}
                    WHEN r.value IS NOT NULL THEN 'adjudicated'
                    WHEN p.raters IS NULL THEN if(v.value IS NULL, NULL, 'agents')
                    WHEN p.raters = 1 THEN 'expert'
                    WHEN len(p.ordered) = 1 OR p.ordered[1] > p.ordered[2] THEN 'majority'
                    ELSE 'undecided' END AS decided_by,
                p.raters, p.numbers, p.saw AS saw_agents, v.value AS agents_label,
                nullif(v.path, '') AS agents_path, nullif(v.reason, '') AS agents_reason,
                e.part, c.comments
            FROM exported_item e LEFT JOIN given g ON g.item_id = e.id
            LEFT JOIN ruling r ON r.item_id = e.id LEFT JOIN people p ON p.item_id = e.id
            LEFT JOIN agents v ON v.item_id = e.id LEFT JOIN together c ON c.item_id = e.id
        )
        SELECT item_id, label, decided_by, raters,
            if(raters IS NULL OR label IS NULL, NULL, coalesce(numbers[label], 0) / raters) AS agreement,
            saw_agents, agents_label, agents_path, agents_reason, part, comments FROM chosen
        """
    )
    return _types(cursor, deciding.columns)


def _by_policy(policy: str) -> str:
    """Return who decided under a policy that was asked for, as SQL over `given g`, `ruling r`, `people p`."""
    unruled = "r.value IS NULL" if policy == "adjudicated" else "true"
    otherwise = "unanimous" if policy == "adjudicated" else policy
    return f"""CASE WHEN g.value IS NULL THEN if(len(p.ordered) > 1, 'undecided', NULL)
        WHEN p.raters = 1 AND {unruled} THEN 'expert' WHEN {unruled} THEN {quoted(otherwise)}
        ELSE {quoted(policy)} END"""


def _types(cursor: duckdb.DuckDBPyConnection, columns: Sequence[str]) -> dict[str, str]:
    """Return the columns of the table decided that are written, with their types."""
    found = {name: DECIDED[name] for name in columns}
    for name in ("label", "agents_label"):
        if name in found and whole_numbers(cursor, f"(SELECT {name} AS value FROM decided)"):
            found[name] = "BIGINT"
    return found


def own_names(columns: Sequence[str], added: Sequence[str]) -> tuple[str, ...]:
    """Return the names of added columns: one that the file has itself gets `workbench_` before it."""
    taken = {name.casefold() for name in columns}
    found = []
    for name in added:
        own, number = name, 1
        while own.casefold() in taken:
            own = f"workbench_{name}" + (f"_{number}" if number > 1 else "")
            number += 1
        found.append(own)
    return tuple(found)
