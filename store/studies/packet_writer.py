"""Writes the content of a packet: the rows of the workspace that a rater may see, under fresh ids."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow
from sqlalchemy import Connection, Row, select

from store.events import Progress, ReportProgress
from store.kinds.listing import texts as texts_of
from store.kinds.spec import TaskKind, task_kinds
from store.policy.packet_fact import FACT
from store.policy.scope import DISCUSS, Scope, Shows, Sitting
from store.policy.words import Condition
from store.queries.agent_case import WITHOUT_TESTS
from store.queries.current import label_questions, shown_runs
from store.queries.expert_runs import TEST_WRITER
from store.queries.sent_back import sent_back
from store.queries.shown_texts import shown_candidates
from store.queries.studies import StudyDetails, StudyMember
from store.record.ids import lowest_at, now
from store.record.protocol import StudyProtocol
from store.record.revisions import REVISION, changes_of
from store.sql import listed, quoted
from store.studies.packet_contents import digests
from store.studies.studies import digest, shown_guideline
from store.tables.columns import table_of
from store.tables.record import MarkRow
from store.tables.runs import Run
from store.workspace.schema import migrate, migrations

MOMENT = datetime(2000, 1, 1, tzinfo=UTC)
"""Stands in a packet for every moment in which something came to be."""
_BEFORE = datetime(1999, 12, 31, tzinfo=UTC)
"""Stands for those of judges' scores before the study was frozen, which say what is asked."""
RATER = 1
"""The key of the rater in a packet."""

_OUT = "outgoing"
"""The name of the packet in statements while it is made."""
_BLOCK_BYTES = 16_384
"""Small blocks: of the usual ones a packet of ten items has 10 MB."""
_RUNS_RATER = 2
_ASKING_RATER = 3
_ASKING = "inspection"
"""The name of a run that stands for those whose verdicts say which questions are asked."""
_WRITES_TEST = (TEST_WRITER, "test_correction")
_RUNS_TEST = "executor"


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a packet: its place in the list, and the assignment that it stands for."""

    place: int
    assignment: Row[Any]
    phase: str
    sitting: int

    def may(self, shows: Shows) -> bool:
        """Return whether its assignment shows something."""
        return bool(getattr(self.assignment, shows.value))


def as_text(manifest: Mapping[str, Any]) -> str:
    """Return a manifest as it is stored."""
    return json.dumps(manifest, ensure_ascii=False, sort_keys=True)


def study_digest(manifest: Mapping[str, Any]) -> str:
    """Return the digest of the manifest of a frozen study."""
    return digest([as_text(manifest)])


class PacketWriter:
    """The content of a packet, read from the workspace and written by statements over both files.

    Args:
        connection: A reading connection of the workspace.
        study: The study.
        member: The rater.
        entries: The items.
        seed: The seed of ids; None draws them from the system.
    """

    def __init__(
        self,
        connection: Connection,
        study: StudyDetails,
        member: StudyMember,
        entries: list[Entry],
        seed: int | None,
    ) -> None:
        self._study, self._member, self.entries = study, member, entries
        self._kind: TaskKind = task_kinds()[study.protocol.kind]
        self._random = random.SystemRandom() if seed is None else random.Random(seed)
        self._guideline = shown_guideline(connection, study.protocol, study.manifest)
        self._run = self._shown_run(connection)
        self._revised = self._revisions(connection)
        self._notes = sent_back(connection, study.id)
        self._changed = self._changed_texts(connection)

    def _shown_run(self, connection: Connection) -> Row[Any] | None:
        """Return the run whose work the rater's sittings show; None where they show none."""
        run = table_of(Run)
        for number in sorted({entry.assignment.sitting for entry in self.entries}):
            scope = Scope(self._member.rater, Sitting(self._study.id, number))
            of_kind = select(run).where(run.c.id.in_(shown_runs(scope)), run.c.kind == self._kind.name)
            found: Row[Any] | None = connection.execute(of_kind).first()
            if found is not None:
                return found
        return None

    def _revisions(self, connection: Connection) -> list[tuple[int, str, str]]:
        """Return (place, column, text) of texts that were rewritten before the study was frozen."""
        if not self._kind.editing.columns:
            return []
        mark = table_of(MarkRow)
        written = connection.execute(
            select(mark)
            .where(
                mark.c.kind.startswith(REVISION, autoescape=True), mark.c.created_at < self._study.frozen_at
            )
            .order_by(mark.c.item_id, mark.c.kind, mark.c.id)
        ).all()
        texts: dict[int, dict[str, str]] = {}
        for (item_id, kind), group in groupby(written, lambda row: (row.item_id, row.kind)):
            records = list(group)
            changes = changes_of(records)
            version = changes[-1][1] if changes else None
            if version is not None:
                text = next(row.text for row in records if row.id == version)
                texts.setdefault(item_id, {})[kind.removeprefix(REVISION)] = text
        return [
            (entry.place, part, text)
            for entry in self.entries
            for part, text in texts.get(entry.assignment.item_id, {}).items()
        ]

    def _changed_texts(self, connection: Connection) -> list[tuple[int, str, str]]:
        """Return (place, column, text) of texts that the study shows otherwise than they were imported."""
        if not self._kind.two_sided:
            return []
        scope = Scope(self._member.rater, Sitting(self._study.id, 1))
        items = [entry.assignment.item_id for entry in self.entries]
        texts = {
            row["item_id"]: dict(row) for row in connection.execute(texts_of(self._kind, items)).mappings()
        }
        shown = shown_candidates(connection, scope, texts)
        return [
            (entry.place, part, text)
            for entry in self.entries
            for part, text in shown.get(entry.assignment.item_id, ({}, ()))[0].items()
        ]

    def write(
        self, cursor: duckdb.DuckDBPyConnection, path: Path, report: ReportProgress
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Make a workspace file and fill it.

        Args:
            cursor: A cursor of the workspace.
            path: The file, which is not there.
            report: Receives the progress.

        Returns:
            The manifest of the packet, and the mapping of its ids to those of the workspace.
        """
        cursor.execute(f"ATTACH {quoted(str(path.absolute()))} AS {_OUT} (BLOCK_SIZE {_BLOCK_BYTES})")
        try:
            _make_tables(cursor, path)
            cursor.execute("BEGIN")
            mapping: dict[str, Any] = {"study_sha256": study_digest(self._study.manifest)}
            parts = (self._write_items, self._write_people, self._write_responses, self._write_agents)
            for done, part in enumerate(parts):
                report(Progress("making the packet", done, len(parts)))
                mapping |= part(cursor)
            manifest = {
                "id": str(self._uuid()),
                "study": self._study.name,
                "rater": self._member.rater.name,
                "pseudonym": self._member.pseudonym,
                "kind": self._kind.name,
                "items": len(self.entries),
                "schema": migrations()[-1][0],
                "made_at": now().isoformat(timespec="seconds"),
                "sha256": digests(cursor, _OUT, self._kind),
            }
            cursor.execute(f"INSERT INTO {_OUT}.workspace_fact VALUES (?, ?)", [FACT, as_text(manifest)])
            cursor.execute("COMMIT")
            cursor.execute(f"CHECKPOINT {_OUT}")
        except BaseException:
            with suppress(duckdb.Error):
                cursor.execute("ROLLBACK")
            raise
        finally:
            with suppress(duckdb.Error):
                cursor.execute(f"DETACH {_OUT}")
        report(Progress("making the packet", len(parts), len(parts)))
        return manifest, mapping

    # -- ids ------------------------------------------------------------------------------------------

    def _uuid(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)

    def _ordered_ids(self, number: int) -> Iterator[str]:
        """Yield random ids that rise, all of one moment before anything is recorded in the packet."""
        base = lowest_at(int(MOMENT.timestamp() * 1000)).int
        for bits in sorted(self._random.sample(range(1 << 62), number)):
            yield str(UUID(int=base | bits))

    def _names(self, letter: str, number: int) -> list[str]:
        """Return different random names."""
        return [f"{letter}-{one:06x}" for one in self._random.sample(range(1 << 24), number)]

    # -- parts ----------------------------------------------------------------------------------------

    def _write_people(self, cursor: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """Write the study, the rater, the questions, the guideline and the assignments."""
        study, member = self._study, self._member
        given = study.protocol
        protocol = StudyProtocol(
            kind=given.kind,
            questions=given.questions,
            guideline=self._guideline.version,
            consent=given.consent,
            idle_minutes=given.idle_minutes,
            scale=given.scale,
            texts=given.texts,
        )
        _insert(
            cursor,
            "study",
            id=1,
            name=study.name,
            protocol=protocol.to_json(),
            created_at=MOMENT,
            frozen_at=MOMENT,
            manifest="{}",
        )
        _insert(
            cursor, "rater", id=RATER, kind="human", name=member.rater.name, pseudonym="", created_at=MOMENT
        )
        _insert(
            cursor,
            "study_rater",
            study_id=1,
            rater_id=RATER,
            pseudonym=member.pseudonym,
            position=1,
            consent_version=member.consent_version,
            consented_at=member.consented_at,
            experience=member.experience,
        )
        _insert(
            cursor,
            "guideline",
            id=1,
            task_kind=self._kind.name,
            version=self._guideline.version,
            text=self._guideline.text,
        )
        names = [(spec.name, place) for place, spec in enumerate(self._kind.questions, 1)]
        _stage(cursor, "packed_question(name VARCHAR, fresh BIGINT)", names)
        cursor.execute(
            f"INSERT INTO {_OUT}.question BY NAME SELECT q.* REPLACE (p.fresh AS id) "
            "FROM packed_question p JOIN question q USING (name) ORDER BY p.fresh"
        )
        conditions = ", ".join(f"p.{column}" for column in Condition._fields)
        cursor.execute(
            f"INSERT INTO {_OUT}.assignment BY NAME SELECT p.assignment AS id, 1 AS study_id, "
            f"{RATER} AS rater_id, p.place AS item_id, p.phase, p.place AS position, {conditions}, "
            "0 AS seed, p.sitting FROM packed p ORDER BY p.place"
        )
        for entry in self.entries:
            if entry.phase == DISCUSS:
                _insert(
                    cursor,
                    "sent_back",
                    study_id=1,
                    item_id=entry.place,
                    rater_id=0,
                    note=self._notes.get(entry.assignment.item_id, ""),
                    sent_at=MOMENT,
                )
        return {}

    def _write_items(self, cursor: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """Write the items with their texts; rank and similarities only where the agents' work is shown."""
        record = self._kind.record
        keys = [str(self._uuid()) for _ in self.entries]
        names = self._names("i", len(self.entries))
        rows = [
            (
                *(entry.place, entry.assignment.item_id, name, key),
                *(entry.phase, entry.sitting),
                *(getattr(entry.assignment, column) for column in Condition._fields),
                entry.may(Shows.AGENTS),
                not entry.may(Shows.MODELS),
            )
            for entry, name, key in zip(self.entries, names, keys, strict=True)
        ]
        _stage(
            cursor,
            "packed(place BIGINT, real BIGINT, name VARCHAR, assignment UUID, phase VARCHAR, sitting BIGINT, "
            "mode VARCHAR, shows_tests BOOLEAN, hides_models BOOLEAN, swapped BOOLEAN, "
            "shown BOOLEAN, hides BOOLEAN)",
            rows,
        )
        replaced, joined = {"item_id": "p.place"}, ""
        for one in record.shared:
            # A text gets the number of the first item that has it.
            cursor.execute(
                f"CREATE TEMP TABLE packed_{one.table} AS SELECT t.{one.table}_id AS real, "
                f"min(p.place) AS fresh FROM packed p JOIN {record.table} t ON t.item_id = p.real "
                "GROUP BY ALL"
            )
            cursor.execute(
                f"INSERT INTO {_OUT}.{one.table} BY NAME SELECT s.* REPLACE (k.fresh AS id) "
                f"FROM packed_{one.table} k JOIN {one.table} s ON s.id = k.real ORDER BY k.fresh"
            )
            joined += f" JOIN packed_{one.table} k_{one.table} ON k_{one.table}.real = t.{one.table}_id"
            replaced[f"{one.table}_id"] = f"k_{one.table}.fresh"
        replaced |= {name: f"CASE WHEN p.hides THEN '' ELSE t.{name} END" for name in record.hidden}
        if record.ranked:
            replaced["rank"] = "CASE WHEN p.shown THEN t.rank END"
        # Joined here, not written over: what was replaced in a file can still be read in it.
        others = [*self._revised, *self._changed]
        _stage(cursor, "packed_text(place BIGINT, part VARCHAR, text VARCHAR)", others)
        for part in sorted({part for _, part, _ in others}):
            replaced[part] = f"coalesce(o_{part}.text, t.{part})"
            joined += (
                f" LEFT JOIN packed_text o_{part} ON o_{part}.place = p.place AND o_{part}.part = '{part}'"
            )
        cursor.execute(
            f"INSERT INTO {_OUT}.{record.table} BY NAME SELECT t.* REPLACE ({listed(replaced)}) "
            f"FROM packed p JOIN {record.table} t ON t.item_id = p.real{joined} ORDER BY p.place"
        )
        # Of the text before a change it would tell who has it; items are called by its digits.
        hashed = "md5(p.name)" if record.hidden else "i.content_hash"
        group = f"t.{record.group}_id" if record.group else "p.place"
        cursor.execute(
            f"INSERT INTO {_OUT}.item BY NAME SELECT i.* REPLACE (p.place AS id, p.name AS external_id, "
            f"{hashed} AS content_hash, {group} AS group_id, 1 AS source_id, '{{}}' AS extra) FROM packed p "
            f"JOIN item i ON i.id = p.real JOIN {_OUT}.{record.table} t ON t.item_id = p.place "
            "ORDER BY p.place"
        )
        _insert(
            cursor,
            "source",
            id=1,
            sha256="",
            name=self._study.name,
            format="packet",
            licence="",
            url="",
            records=len(self.entries),
            imported_at=MOMENT,
            rejected=0,
        )
        cursor.execute(
            f"INSERT INTO {_OUT}.similarity BY NAME SELECT s.* REPLACE (p.place AS item_id) "
            "FROM packed p JOIN similarity s ON s.item_id = p.real WHERE p.shown ORDER BY p.place, s.model"
        )
        cursor.execute(
            f"INSERT INTO {_OUT}.context_chunk BY NAME SELECT c.* REPLACE (p.place AS item_id, "
            "'{}' AS extra) FROM packed p JOIN context_chunk c ON c.item_id = p.real "
            "ORDER BY p.place, c.setting, c.rank"
        )
        return {
            "assignments": [[key, entry.assignment.id] for key, entry in zip(keys, self.entries, strict=True)]
        }

    def _write_responses(self, cursor: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """Write the responses, those to an item in random order; names and scores where they are shown."""
        found = cursor.execute(
            "SELECT p.place, r.id, r.model, r.setting, r.trial, p.hides FROM packed p "
            "JOIN response_ref r ON r.item_id = p.real JOIN response t ON t.id = r.id ORDER BY p.place, r.id"
        ).fetchall()
        rows = []
        for _, group in groupby(found, itemgetter(0)):
            of_item = list(group)
            self._random.shuffle(of_item)
            rows += of_item
        names = self._names("m", len(rows))
        _stage(
            cursor,
            "packed_response(fresh BIGINT, place BIGINT, real BIGINT, model VARCHAR, setting VARCHAR, "
            "trial BIGINT)",
            [
                (fresh, place, real, *((name, "", 0) if hides else named))
                for fresh, (name, (place, real, *named, hides)) in enumerate(zip(names, rows, strict=True), 1)
            ],
        )
        cursor.execute(
            f"INSERT INTO {_OUT}.response_ref BY NAME SELECT fresh AS id, place AS item_id, "
            "model, setting, trial FROM packed_response ORDER BY fresh"
        )
        cursor.execute(
            f"INSERT INTO {_OUT}.response BY NAME SELECT k.fresh AS id, r.text, '{{}}' AS extra "
            "FROM packed_response k JOIN response r ON r.id = k.real ORDER BY k.fresh"
        )
        scored = [spec.title for spec in self._kind.questions if spec.only_scored]
        # Where scores are hidden, that there is one still says which questions are asked.
        scores = cursor.execute(
            "SELECT k.fresh, s.id, s.judge, s.measure, s.sequence FROM packed_response k "
            "JOIN packed p USING (place) JOIN score s ON s.response_ref_id = k.real WHERE p.shown "
            "UNION ALL SELECT DISTINCT k.fresh, NULL::UUID, '', s.measure, 0 FROM packed_response k "
            "JOIN packed p USING (place) JOIN score s ON s.response_ref_id = k.real "
            "WHERE NOT p.shown AND list_contains($scored, s.measure) AND s.created_at < $frozen ORDER BY ALL",
            {"scored": scored, "frozen": self._study.frozen_at},
        ).fetchall()
        scores.sort(key=lambda row: (row[0], *row[2:]))
        _stage(
            cursor,
            "packed_score(fresh UUID, response BIGINT, real UUID, measure VARCHAR, sequence BIGINT)",
            [
                (key, response, None if real is None else str(real), measure, place)
                for place, (key, (response, real, _, measure, _)) in enumerate(
                    zip(self._ordered_ids(len(scores)), scores, strict=True)
                )
            ],
        )
        cursor.execute(
            f"INSERT INTO {_OUT}.score BY NAME SELECT k.fresh AS id, k.response AS response_ref_id, "
            "coalesce(s.judge, '') AS judge, coalesce(s.measure, k.measure) AS measure, s.value, "
            "coalesce(s.raw, '') AS raw, coalesce(s.reason, '') AS reason, '{}' AS extra, k.sequence, "
            "CASE WHEN s.created_at >= $frozen THEN $at ELSE $before END AS created_at "
            "FROM packed_score k LEFT JOIN score s ON s.id = k.real ORDER BY k.fresh",
            {"at": MOMENT, "before": _BEFORE, "frozen": self._study.frozen_at},
        )
        return {"responses": [[place, row[1]] for place, row in enumerate(rows, 1)]}

    def _write_asked(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Write that agents gave items a verdict on a question, which is asked only then; not which one."""
        asked = cursor.execute(
            "SELECT DISTINCT p.place, k.fresh FROM packed p JOIN verdict v ON v.item_id = p.real "
            "JOIN question q ON q.id = v.question_id JOIN packed_question k ON k.name = q.name "
            "WHERE list_contains($names, q.name) AND v.response_ref_id IS NULL AND v.created_at < $frozen "
            "ORDER BY ALL",
            {
                "names": [spec.name for spec in self._kind.questions if spec.only_claimed],
                "frozen": self._study.frozen_at,
            },
        ).fetchall()
        if not asked:
            return
        run_id = str(self._uuid())
        _insert(
            cursor, "rater", id=_ASKING_RATER, kind="agent", name=_ASKING, pseudonym="", created_at=MOMENT
        )
        _insert(
            cursor,
            "run",
            id=run_id,
            # Of no kind, so that its verdicts are nobody's claim.
            kind="",
            name=_ASKING,
            configuration="{}",
            model="",
            rater_id=_ASKING_RATER,
            state="done",
            total=len(asked),
            started_at=MOMENT,
            ended_at=MOMENT,
            fullness=0,
        )
        for key, (place, question) in zip(self._ordered_ids(len(asked)), asked, strict=True):
            _insert(
                cursor,
                "verdict",
                id=str(key),
                run_id=run_id,
                item_id=place,
                question_id=question,
                value=0.0,
                path="",
                reason="",
                created_at=_BEFORE,
            )

    def _write_agents(self, cursor: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """Write what the conditions show of the run whose labels are shown.

        Where the label is hidden but tests are shown, that is the program and its execution, under turns
        without a reply of their own; where the label is shown without tests, the turns before the test.
        """
        self._write_asked(cursor)
        if self._run is None:
            return {"executions": [], "verdicts": []}
        run, run_id = self._run, str(self._uuid())
        given = {"run": run.id}
        steps = self._steps(cursor, given)
        executions = self._executions(cursor, given)
        verdicts = cursor.execute(
            "SELECT p.place, v.id FROM packed p JOIN verdict v ON v.item_id = p.real "
            "WHERE v.run_id = $run AND p.shown ORDER BY p.place, v.id",
            given,
        ).fetchall()
        if not steps and not verdicts:
            return {"executions": [], "verdicts": []}
        shown = any(entry.may(Shows.AGENTS) for entry in self.entries)
        name, model = (run.name, run.model) if shown else ("agents", "")
        _insert(cursor, "rater", id=_RUNS_RATER, kind="agent", name=name, pseudonym="", created_at=MOMENT)
        _insert(
            cursor,
            "run",
            id=run_id,
            kind=self._kind.name,
            name=name,
            configuration="{}",
            model=model,
            rater_id=_RUNS_RATER,
            state="done",
            total=len({place for place, *_ in (*steps, *verdicts)}),
            started_at=MOMENT,
            ended_at=MOMENT,
            fullness=0,
        )
        cursor.execute(
            f"INSERT INTO {_OUT}.step BY NAME SELECT s.* REPLACE (k.fresh AS id, $run::UUID AS run_id, "
            "k.place AS item_id, '' AS request_hash, '' AS price, '' AS sdk, NULL AS reply_id, "
            "$at AS created_at) FROM packed_step k JOIN step s ON s.id = k.real WHERE k.role = '' "
            "UNION ALL BY NAME SELECT k.fresh AS id, $run::UUID AS run_id, k.place AS item_id, k.role, "
            "0 AS attempt, 'ok' AS outcome, '' AS request_hash, k.reply, '' AS error, '' AS model, "
            "0 AS tokens_in, 0 AS tokens_out, 0 AS tokens_cached, 0 AS requests, 0.0 AS seconds, "
            "$at AS created_at, 0 AS tokens_written, '' AS price, '' AS sdk, '' AS cause, "
            "false AS from_cache FROM packed_step k WHERE k.role <> '' ORDER BY id",
            {"run": run_id, "at": MOMENT},
        )
        cursor.execute(
            f"INSERT INTO {_OUT}.execution BY NAME SELECT e.* REPLACE (k.fresh AS id, "
            "k.place AS item_id, k.step AS step_id, $at AS created_at) "
            "FROM packed_execution k JOIN execution e ON e.id = k.real ORDER BY k.fresh",
            {"at": MOMENT},
        )
        cursor.execute(
            f"INSERT INTO {_OUT}.test_outcome BY NAME SELECT o.* REPLACE (k.fresh AS execution_id) "
            "FROM packed_execution k JOIN test_outcome o ON o.execution_id = k.real "
            "ORDER BY k.fresh, o.position"
        )
        fresh = list(self._ordered_ids(len(verdicts)))
        _stage(
            cursor,
            "packed_verdict(fresh UUID, place BIGINT, real UUID)",
            [(key, place, str(real)) for key, (place, real) in zip(fresh, verdicts, strict=True)],
        )
        tested = (
            "EXISTS (FROM step s WHERE s.run_id = v.run_id AND s.item_id = v.item_id AND s.role NOT IN "
            f"{WITHOUT_TESTS})"
        )
        cursor.execute(
            f"INSERT INTO {_OUT}.verdict BY NAME SELECT v.* REPLACE (k.fresh AS id, $run::UUID AS run_id, "
            "k.place AS item_id, q.fresh AS question_id, r.fresh AS response_ref_id, "
            "e.fresh AS execution_id, $at AS created_at, "
            f"CASE WHEN NOT p.shows_tests AND {tested} THEN '' ELSE v.reason END AS reason) "
            "FROM packed_verdict k JOIN packed p USING (place) JOIN verdict v ON v.id = k.real "
            "JOIN question asked ON asked.id = v.question_id JOIN packed_question q ON q.name = asked.name "
            "LEFT JOIN packed_response r ON r.real = v.response_ref_id AND r.place = k.place "
            "LEFT JOIN packed_execution e ON e.real = v.execution_id AND e.place = k.place "
            "WHERE v.response_ref_id IS NULL OR r.fresh IS NOT NULL ORDER BY k.fresh",
            {"run": run_id, "at": MOMENT},
        )
        return {
            "executions": executions,
            "verdicts": [[key, real] for key, (_, real) in zip(fresh, verdicts, strict=True)],
        }

    def _steps(
        self, cursor: duckdb.DuckDBPyConnection, given: Mapping[str, Any]
    ) -> list[tuple[int, UUID, str, str]]:
        """Stage the turns that are shown, as (place, key, role, reply); those shown whole have no role."""
        found = cursor.execute(
            "SELECT p.place, s.id, s.role, s.reply, p.shown FROM packed p JOIN step s ON s.item_id = p.real "
            "LEFT JOIN execution e ON e.step_id = s.id "
            f"WHERE s.run_id = $run AND CASE WHEN p.shown THEN p.shows_tests OR s.role IN {WITHOUT_TESTS} "
            f"ELSE p.shows_tests AND (s.role IN {_WRITES_TEST} AND s.outcome = 'ok' OR e.id IS NOT NULL) END "
            "GROUP BY ALL ORDER BY p.place, s.id",
            given,
        ).fetchall()
        steps: list[tuple[int, UUID, str, str]] = []
        for place, key, role, reply, shown in found:
            if shown:
                steps.append((place, key, "", ""))
            elif role not in _WRITES_TEST:
                steps.append((place, key, _RUNS_TEST, ""))
            elif program := _program_of(reply):
                steps.append((place, key, role, program))
        _stage(
            cursor,
            "packed_step(fresh UUID, place BIGINT, real UUID, role VARCHAR, reply VARCHAR)",
            [
                (fresh, place, str(key), role, reply)
                for fresh, (place, key, role, reply) in zip(self._ordered_ids(len(steps)), steps, strict=True)
            ],
        )
        return steps

    def _executions(
        self,
        cursor: duckdb.DuckDBPyConnection,
        given: Mapping[str, Any],
    ) -> list[list[Any]]:
        """Stage the executions that are shown: all of an item's, or that which its hidden label rests on."""
        found = cursor.execute(
            "WITH label AS (SELECT v.item_id, v.execution_id FROM verdict v "
            "JOIN question q ON q.id = v.question_id WHERE v.run_id = $run AND v.response_ref_id IS NULL "
            "AND list_contains($labels, q.name)), "
            "made AS (SELECT k.place, e.id, k.fresh, e.id = l.execution_id AS rests, p.shown "
            "FROM packed_step k JOIN packed p USING (place) JOIN execution e ON e.step_id = k.real "
            "LEFT JOIN label l ON l.item_id = p.real) "
            "SELECT place, id, fresh FROM made "
            "QUALIFY shown OR "
            "row_number() OVER (PARTITION BY place ORDER BY rests DESC NULLS LAST, id DESC) = 1 "
            "ORDER BY place, id",
            {**given, "labels": label_questions()},
        ).fetchall()
        keys = list(self._ordered_ids(len(found)))
        _stage(
            cursor,
            "packed_execution(fresh UUID, place BIGINT, real UUID, step UUID)",
            [
                (key, place, str(real), str(step))
                for key, (place, real, step) in zip(keys, found, strict=True)
            ],
        )
        # Of turns that stand for an execution only those whose execution is shown.
        cursor.execute(
            f"DELETE FROM packed_step WHERE role = '{_RUNS_TEST}' "
            "AND fresh NOT IN (SELECT step FROM packed_execution)"
        )
        return [[key, row[1]] for key, row in zip(keys, found, strict=True)]


def _make_tables(cursor: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Make the tables of a workspace in the packet."""
    ((home,),) = cursor.execute("SELECT current_database()").fetchall()
    cursor.execute(f"USE {_OUT}")
    try:
        migrate(cursor, path, 0)
        for kind in task_kinds().values():
            if kind.record.schema:
                cursor.execute(kind.record.schema)
    finally:
        cursor.execute(f'USE "{home}"')


def _program_of(reply: str) -> str:
    """Return, of the reply of an agent that writes tests, the program alone."""
    try:
        given = json.loads(reply)
    except ValueError:
        return ""
    program = given.get("test_program") if isinstance(given, dict) else None
    return "" if program is None else json.dumps({"test_program": program})


def _insert(cursor: duckdb.DuckDBPyConnection, table: str, **values: Any) -> None:
    """Insert a row into a table of the packet."""
    columns, places = ", ".join(values), ", ".join(f"${name}" for name in values)
    cursor.execute(f"INSERT INTO {_OUT}.{table} ({columns}) VALUES ({places})", values)


def _stage(cursor: duckdb.DuckDBPyConnection, declared: str, rows: Sequence[Sequence[Any]]) -> None:
    """Make a temporary table of some rows, declared as in SQL; UUIDs are given as text."""
    cursor.execute(f"CREATE TEMP TABLE {declared}")
    if rows:
        arrays = [pyarrow.array(list(column)) for column in zip(*rows, strict=True)]
        names = [f"column_{place}" for place in range(len(arrays))]
        cursor.register("arriving", pyarrow.Table.from_arrays(arrays, names))
        cursor.execute(f"INSERT INTO {declared.partition('(')[0]} SELECT * FROM arriving")
        cursor.unregister("arriving")
