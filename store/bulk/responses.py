"""From staged responses, scores and pieces of context to their items: what is there, what is new, what waits.

A response names its item, or is joined by what its kind says (`TaskKind.joined_by`). One whose item is not
here is kept aside, with its scores, and finds the item when it is imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import duckdb

from store.bulk.chunks import publish_chunks, resolve_chunks
from store.bulk.columns import entry_kinds
from store.bulk.pairs import any_row
from store.bulk.problems import Problem, problems_of
from store.kinds.protocol import task_kinds
from store.queries.current import REVIEW

_WHOSE = "coalesce(item_id::VARCHAR, 'item ' || external_id, 'text ' || within || ' ' || joined_by)"
"""What tells the item of a response or a score, also where it is not here."""

_JOIN = "j ON {0}.external_id IS NULL AND (j.kind, j.key, j.within) = ({0}.kind, {0}.joined_by, {1})"
"""How a response that names no item is joined: by its text, within the items that share the rest it says."""

_SAME_KEY = " AND ".join(
    (
        "b.kind = a.kind",
        "b.external_id IS NOT DISTINCT FROM a.external_id",
        "b.joined_by IS NOT DISTINCT FROM a.joined_by",
        "{within} = a.within",
        *(f"b.{name} = a.{name}" for name in ("model", "setting", "trial")),
    )
)


@dataclass(frozen=True, slots=True)
class ResponseCounts:
    """What one file adds beside items.

    Attributes:
        responses: New responses of items that are here.
        aside: New responses whose item is not here.
        scores: New scores of responses that are here.
        scores_aside: New scores of responses that had been kept aside before.
        chunks: New pieces of context.
        known: Responses, scores and pieces that were there already.
    """

    responses: int = 0
    aside: int = 0
    scores: int = 0
    scores_aside: int = 0
    chunks: int = 0
    known: int = 0


def resolve_responses(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Find the item of every staged response, piece and score: the tables new_response, new_chunk, new_score.

    Returns:
        Those that cannot be taken: another text under the same name, a score of no response.
    """
    _join_keys(cursor)
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE new_response AS
        SELECT n.*, r.id AS known, r.text AS known_text,
            row_number() OVER (PARTITION BY n.kind, n.whose, n.model, n.setting, n.trial
                ORDER BY n.position) AS nth
        FROM (SELECT *, {_WHOSE} AS whose FROM (
            SELECT s.file, s.position, s.number, s.line, s.kind, s.external_id, s.joined_by, s.model,
                coalesce(s.setting, '') AS setting, coalesce(s.trial, 0) AS trial,
                coalesce(s.text, '') AS text, s.extra, {_within("s")} AS within,
                coalesce(i.id, j.item_id) AS item_id
            FROM stage_response s
            LEFT JOIN item_key i ON i.kind = s.kind AND i.external_id = s.external_id
            LEFT JOIN join_key {_JOIN.format("s", _within("s"))}
        )) n
        LEFT JOIN response r
            ON (r.item_id, r.model, r.setting, r.trial) = (n.item_id, n.model, n.setting, n.trial)
        """
    )
    row = cursor.execute("SELECT coalesce(max(id), 0) FROM response").fetchone()
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE fresh_response AS
        SELECT {int(row[0]) if row else 0} + row_number() OVER (ORDER BY position, item_id) AS id, *
        FROM new_response WHERE item_id IS NOT NULL AND known IS NULL AND nth = 1
        """
    )
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE fresh_aside AS
        SELECT a.* FROM new_response a ANTI JOIN response_aside b ON {_same_key()} AND b.text = a.text
        ANTI JOIN (
            SELECT c.kind, c.key, c.within, r.model, r.setting, r.trial, r.text
            FROM join_candidate c JOIN response r ON r.item_id = c.item_id
        ) h ON a.external_id IS NULL AND (h.kind, h.key, h.within, h.model, h.setting, h.trial, h.text)
            = (a.kind, a.joined_by, a.within, a.model, a.setting, a.trial, a.text)
        WHERE a.item_id IS NULL AND a.nth = 1
        """
    )
    problems = _torn_responses(cursor) + _resolve_scores(cursor) + resolve_chunks(cursor)
    _find_homes(cursor)
    _scores_aside(cursor)
    return problems


def _within(table: str) -> str:
    """Return what the rows of a table that name no item say beside the text they are joined by, in SQL."""
    cases = "".join(
        f"WHEN {table}.kind = '{kind}' THEN "
        f"lower(coalesce(json_extract_string({table}.extra, '$.{known.joined_within}'), '')) "
        for kind, known in entry_kinds().items()
        if known.joined_within
    )
    return f"CASE WHEN {table}.external_id IS NOT NULL THEN '' {cases}ELSE '' END"


def _beside(table: str) -> str:
    """Return what a score says beside our fields, in SQL: the same text whatever the order of its fields."""
    extra = f"{table}.extra"
    pointer = "'/' || replace(replace(k, '~', '~0'), '/', '~1')"
    fields = f"list_transform(json_keys({extra}), lambda k: k || json_extract({extra}, {pointer}))"
    return f"if({extra} = '{{}}', '', list_sort({fields})::VARCHAR)"


def _same_key() -> str:
    return _SAME_KEY.format(within=_within("b"))


def _join_keys(cursor: duckdb.DuckDBPyConnection) -> None:
    """Put what responses without an item's name are joined by into join_key, where it means one item only.

    `within` is empty for a response that says nothing beside it: then it means one item of all. Those that
    it could mean stand in join_candidate: a response that came home before another item with the same text
    was imported stays where it is.
    """
    selects = []
    for kind, known in entry_kinds().items():
        if not known.joined_by:
            continue
        shared = known.joined_within or "''"
        columns = f"'{kind}' AS kind, {known.joined_by} AS key, lower(coalesce({shared}, '')) AS within"
        selects += [
            f"SELECT {columns}, item_id FROM {known.table}",
            f"SELECT {columns}, e.id AS item_id FROM fresh_entry e JOIN stage_{kind} s "
            f"ON s.position = e.position AND s.file = e.file WHERE e.kind = '{kind}'",
        ]
    none = "SELECT '' AS kind, '' AS key, '' AS within, 0::BIGINT AS item_id LIMIT 0"
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE join_candidate AS
        WITH every AS ({" UNION ALL ".join(selects) or none})
        FROM every WHERE within <> ''
        UNION ALL
        SELECT kind, key, '', item_id FROM every
        """
    )
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE join_key AS
        SELECT kind, key, within, min(item_id) AS item_id FROM join_candidate
        GROUP BY kind, key, within HAVING count(DISTINCT item_id) = 1
        """
    )


def _torn_responses(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    named = "concat_ws(' ', model, nullif(setting, ''), nullif(trial, 0))"
    item = "coalesce(external_id, 'the one with this reference')"
    return problems_of(
        cursor,
        f"""
        SELECT file, number, line, 'another text of ' || {named} || ' for item ' || {item} ||
            ' than the workspace has; number several of one setting: trial'
        FROM new_response WHERE known IS NOT NULL AND known_text <> text
        UNION ALL
        SELECT file, number, line, 'another text of ' || {named} || ' for item ' || {item} ||
            ' came before; number several of one setting: trial'
        FROM new_response n WHERE nth > 1 AND external_id IS NOT NULL AND text <> (
            SELECT arg_min(f.text, f.position) FROM new_response f
            WHERE (f.kind, f.whose, f.model, f.setting, f.trial)
                = (n.kind, n.whose, n.model, n.setting, n.trial) AND f.external_id IS NOT NULL)
        UNION ALL
        SELECT file, number, line, 'several texts of ' || {named} ||
            ' with this reference, which may be of several items; name the item, or number them: trial'
        FROM new_response n WHERE external_id IS NULL AND EXISTS (
            SELECT 1 FROM new_response f
            WHERE (f.kind, f.whose, f.model, f.setting, f.trial)
                = (n.kind, n.whose, n.model, n.setting, n.trial) AND f.text <> n.text)
        UNION ALL
        SELECT a.file, a.number, a.line,
            'another text of ' || concat_ws(' ', a.model, nullif(a.setting, ''), nullif(a.trial, 0)) ||
            ' for item ' ||
            coalesce(a.external_id, 'the one with this reference') ||
            ' than was kept aside before; number several of one setting: trial'
        FROM new_response a JOIN response_aside b ON {_same_key()} AND b.text <> a.text
        WHERE a.item_id IS NULL
        """,
    )


def _resolve_scores(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Find the response of every score; a judge who was asked several times has several of one response.

    Two are the same where all of them is, what the file says beside our fields included, such as the time.
    """
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE new_score AS
        SELECT n.*, w.id AS known_id,
            row_number() OVER (PARTITION BY n.kind, n.whose, n.model, n.setting, n.trial, n.judge, n.measure,
                n.value, n.raw, n.reason, {_beside("n")} ORDER BY n.position, n.sequence) AS nth
        FROM (SELECT *, {_WHOSE} AS whose FROM (
            SELECT s.file, s.position, s.number, s.line, s.kind, s.external_id, s.joined_by, s.model,
                coalesce(s.setting, '') AS setting, coalesce(s.trial, 0) AS trial, s.id, s.judge, s.measure,
                s.value, coalesce(s.raw, '') AS raw, coalesce(s.reason, '') AS reason, s.extra, s.sequence,
                {_within("s")} AS within, coalesce(i.id, j.item_id) AS item_id,
                coalesce(f.id, r.id) AS response_id
            FROM stage_score s
            LEFT JOIN item_key i ON i.kind = s.kind AND i.external_id = s.external_id
            LEFT JOIN join_key {_JOIN.format("s", _within("s"))}
            LEFT JOIN fresh_response f ON (f.item_id, f.model, f.setting, f.trial) =
                (coalesce(i.id, j.item_id), s.model, coalesce(s.setting, ''), coalesce(s.trial, 0))
            LEFT JOIN response r ON (r.item_id, r.model, r.setting, r.trial) =
                (coalesce(i.id, j.item_id), s.model, coalesce(s.setting, ''), coalesce(s.trial, 0))
        )) n
        LEFT JOIN score w ON (w.response_id, w.judge, w.measure, w.raw, w.reason, {_beside("w")})
            = (n.response_id, n.judge, n.measure, n.raw, n.reason, {_beside("n")})
            AND w.value IS NOT DISTINCT FROM n.value
        """
    )
    return problems_of(
        cursor,
        """
        SELECT file, number, line, 'a score of ' || model || ', which has no response for item '
            || external_id || ' here'
        FROM new_score WHERE item_id IS NOT NULL AND response_id IS NULL
        """,
    )


def _find_homes(cursor: duckdb.DuckDBPyConnection) -> None:
    """Put the responses that were kept aside and whose item is here now into the table come_home.

    Of several of one name the first that names the item comes; another text stays aside. Those that are
    here already, with nothing to bring, are put into at_home_already.
    """
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE homeward AS
        SELECT a.*, a.rowid AS place, coalesce(i.id, j.item_id) AS item_id
        FROM response_aside a
        LEFT JOIN item_key i ON i.kind = a.kind AND i.external_id = a.external_id
        LEFT JOIN join_key {_JOIN.format("a", _within("a"))}
        WHERE coalesce(i.id, j.item_id) IS NOT NULL
        """
    )
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE come_home AS
        SELECT * FROM homeward h
        ANTI JOIN fresh_response f
            ON (f.item_id, f.model, f.setting, f.trial) = (h.item_id, h.model, h.setting, h.trial)
        ANTI JOIN response r
            ON (r.item_id, r.model, r.setting, r.trial) = (h.item_id, h.model, h.setting, h.trial)
        QUALIFY row_number() OVER (PARTITION BY item_id, model, setting, trial
            ORDER BY external_id IS NULL, place) = 1
        """
    )
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE at_home_already AS
        SELECT h.place FROM homeward h JOIN (
            SELECT item_id, model, setting, trial, text FROM fresh_response
            UNION ALL SELECT item_id, model, setting, trial, text FROM response
            UNION ALL SELECT item_id, model, setting, trial, text FROM come_home
        ) t USING (item_id, model, setting, trial, text)
        WHERE h.scores = '[]' AND h.place NOT IN (SELECT place FROM come_home)
        """
    )


def _scores_aside(cursor: duckdb.DuckDBPyConnection) -> None:
    """Put the new scores of responses that are aside already into the table aside_score."""
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE aside_score AS
        WITH theirs AS (
            SELECT rowid AS place, unnest(scores::JSON::{_SCORES}) AS o FROM response_aside
        ), given AS (
            SELECT a.*, b.rowid AS place FROM new_score a JOIN response_aside b ON {_same_key()}
            WHERE a.response_id IS NULL AND a.item_id IS NULL AND a.nth = 1
        )
        SELECT g.* FROM given g ANTI JOIN theirs t
            ON (t.place, t.o.judge, t.o.measure, t.o.raw, t.o.reason, {_beside("t.o")})
                = (g.place, g.judge, g.measure, g.raw, g.reason, {_beside("g")})
            AND t.o."value" IS NOT DISTINCT FROM g.value
        """
    )


def response_counts(cursor: duckdb.DuckDBPyConnection, file: int) -> ResponseCounts:
    """Count what a file, by its number, adds beside items."""
    row = cursor.execute(
        """
        SELECT (SELECT count(*) FROM fresh_response WHERE file = $file),
            (SELECT count(*) FROM fresh_aside WHERE file = $file),
            (SELECT count(*) FROM new_score WHERE file = $file AND response_id IS NOT NULL
                AND known_id IS NULL AND nth = 1),
            (SELECT count(*) FROM aside_score WHERE file = $file),
            (SELECT count(*) FROM new_chunk WHERE file = $file AND fresh),
            (SELECT count(*) FROM new_response WHERE file = $file),
            (SELECT count(*) FROM new_score WHERE file = $file AND response_id IS NOT NULL),
            (SELECT count(*) FROM new_chunk WHERE file = $file)
        """,
        {"file": file},
    ).fetchone()
    responses, aside, scores, scores_aside, chunks, *staged = row or (0,) * 8
    known = sum(staged) - responses - aside - scores - chunks
    return ResponseCounts(responses, aside, scores, scores_aside, chunks, known)


def coming_home(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many responses that were kept aside find their item with this import."""
    row = cursor.execute("SELECT count(*) FROM come_home").fetchone()
    return int(row[0]) if row else 0


def staying_aside(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many kept aside cannot come to their item, which has another text of the same name."""
    if not any_row(cursor, "homeward"):
        return 0
    row = cursor.execute(
        """
        SELECT count(*) FROM homeward h JOIN (
            SELECT item_id, model, setting, trial, text FROM fresh_response
            UNION ALL SELECT item_id, model, setting, trial, text FROM response
            UNION ALL SELECT item_id, model, setting, trial, text FROM come_home
        ) t USING (item_id, model, setting, trial) WHERE t.text <> h.text
        """
    ).fetchone()
    return int(row[0]) if row else 0


def asked_anew(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many items get their first responses with this import after something else was judged.

    What was said of a reference answer stays in the record, and does not count for its item any more.
    """
    first = (
        "SELECT item_id FROM (SELECT item_id FROM fresh_response UNION SELECT item_id FROM come_home) "
        "ANTI JOIN response USING (item_id)"
    )
    if cursor.execute(f"{first} LIMIT 1").fetchone() is None:
        return 0
    names = [spec.name for kind in task_kinds().values() for spec in kind.questions if spec.of_responses]
    row = cursor.execute(
        f"""
        SELECT count(DISTINCT item_id) FROM (
            SELECT item_id, arg_max_null(value, id) AS value FROM judgment
            WHERE phase = $phase AND item_id IN ({first})
                AND question_id IN (SELECT id FROM question WHERE name IN (SELECT unnest($names::VARCHAR[])))
            GROUP BY item_id, question_id, rater_id, assignment_id
        ) WHERE value IS NOT NULL
        """,
        {"phase": REVIEW, "names": names},
    ).fetchone()
    return int(row[0]) if row else 0


def answered_by(cursor: duckdb.DuckDBPyConnection) -> Iterable[tuple[str, str, str, int]]:
    """Return (kind, model, setting, trial) of the responses that are published next."""
    return cursor.execute(
        "SELECT DISTINCT kind, model, setting, trial FROM fresh_response "
        "UNION SELECT DISTINCT kind, model, setting, trial FROM come_home ORDER BY ALL"
    ).fetchall()


def publish_responses(
    cursor: duckdb.DuckDBPyConnection, sources: dict[int, int], imported_at: datetime
) -> None:
    """Append new responses, scores and pieces, and what was aside; inside the publishing transaction.

    Args:
        cursor: The cursor that holds the staging tables.
        sources: File number to source id, for every file that adds something.
        imported_at: When.
    """
    given = {"sources": [sources.get(number, 0) for number in range(max(sources, default=0) + 1)]}
    cursor.execute(
        "INSERT INTO response SELECT id, item_id, model, setting, trial, text, extra, $sources[file + 1] "
        "FROM fresh_response ORDER BY id",
        given,
    )
    publish_chunks(cursor)
    cursor.execute(
        f"INSERT INTO score SELECT coalesce(s.id, {_SCORE_ID}), r.id, s.judge, s.measure, s.value, s.raw, "
        f"s.reason, s.extra, {_NEXT} + row_number() OVER (ORDER BY s.position, s.sequence), $now "
        "FROM new_score s JOIN response r ON r.id = s.response_id "
        "JOIN item i ON i.id = r.item_id WHERE s.known_id IS NULL AND s.nth = 1",
        {"now": imported_at},
    )
    if any_row(cursor, "fresh_aside"):
        _put_aside(cursor, given)
    if any_row(cursor, "aside_score"):
        cursor.execute(
            "UPDATE response_aside SET scores = "
            f"to_json(list_concat(scores::JSON::{_SCORES}, n.more))::VARCHAR "
            "FROM (SELECT place, list({'judge': judge, 'measure': measure, 'value': value, 'raw': raw, "
            "'reason': reason, 'extra': extra} ORDER BY position, sequence) AS more FROM aside_score "
            "GROUP BY place) n WHERE response_aside.rowid = n.place"
        )
    cursor.execute("DELETE FROM response_aside WHERE rowid IN (SELECT place FROM at_home_already)")
    if any_row(cursor, "come_home"):
        _bring_home(cursor, imported_at)


_NEXT = "(SELECT coalesce(max(sequence), 0) FROM score)"

_SCORE_ID = f"""md5(json_array(i.kind, i.external_id, r.model, r.setting, r.trial, s.judge, s.measure,
    s.value, s.raw, s.reason)::VARCHAR || {_beside("s")})::UUID"""
"""The id of a score that brings none: the same in every workspace, since judgments name the score seen."""

_SCORES = (
    'STRUCT(judge VARCHAR, measure VARCHAR, "value" DOUBLE, raw VARCHAR, reason VARCHAR, extra VARCHAR)[]'
)


def _put_aside(cursor: duckdb.DuckDBPyConnection, given: dict[str, list[int]]) -> None:
    cursor.execute(
        """
        INSERT INTO response_aside
        SELECT $sources[a.file + 1], a.line, a.kind, a.external_id, a.joined_by, a.model, a.setting, a.trial,
            a.text, a.extra, coalesce((
                SELECT to_json(list({'judge': judge, 'measure': measure, 'value': value, 'raw': raw,
                    'reason': reason, 'extra': extra}
                    ORDER BY position, sequence))::VARCHAR
                FROM new_score s WHERE s.response_id IS NULL AND s.nth = 1
                    AND (s.kind, s.whose, s.model, s.setting, s.trial)
                        = (a.kind, a.whose, a.model, a.setting, a.trial)), '[]')
        FROM fresh_aside a ORDER BY a.position
        """,
        given,
    )


def _bring_home(cursor: duckdb.DuckDBPyConnection, imported_at: datetime) -> None:
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE at_home AS
        SELECT (SELECT coalesce(max(id), 0) FROM response) + row_number() OVER (ORDER BY place) AS id, *
        FROM come_home
        """
    )
    cursor.execute(
        "INSERT INTO response SELECT id, item_id, model, setting, trial, text, extra, source_id "
        "FROM at_home ORDER BY id"
    )
    cursor.execute(
        f"INSERT INTO score SELECT {_SCORE_ID}, r.id, s.judge, s.measure, s.value, s.raw, s.reason, s.extra, "
        f"{_NEXT} + row_number() OVER (ORDER BY r.id, one.place), $now FROM ("
        "SELECT id, unnest(given) AS s, generate_subscripts(given, 1) AS place "
        f"FROM (SELECT id, scores::JSON::{_SCORES} AS given FROM at_home)) one "
        "JOIN response r ON r.id = one.id JOIN item i ON i.id = r.item_id",
        {"now": imported_at},
    )
    cursor.execute("DELETE FROM response_aside WHERE rowid IN (SELECT place FROM come_home)")
