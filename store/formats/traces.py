"""Traces: what a run of the agents did with each item, from its texts to its label, a JSON object a line.

A trace holds rows of the workspace under the names of their columns, and an import makes the same rows of it:
the run, its steps with the replies they rest on and the executions they made, and its verdicts. What people
read first stands before them: label, path and reason.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

from sqlmodel import SQLModel

from store.cuts import cut_of_text
from store.errors import JudgmentRefused
from store.formats.fields import SHORT, FieldType, recognized_by
from store.formats.protocol import Entity, Export, FileContext, Format, WriteResult
from store.formats.record_reader import RecordReader
from store.formats.values import RULES, Refused, number, short, short_text
from store.kinds.spec import TaskKind, task_kinds
from store.record.ids import id_fault
from store.record.rater_ref import name_fault
from store.record.response_names import split_question
from store.tables.runs import (
    EXIT_REASONS,
    RUN_STATES,
    STEP_OUTCOMES,
    TEST_OUTCOMES,
    Execution,
    Reply,
    Run,
    Step,
    TestOutcomeRow,
    Verdict,
)

_TYPES: dict[Any, FieldType] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    UUID: "uuid",
    datetime: "moment",
}

TRACE_ROWS: dict[str, tuple[type[SQLModel], frozenset[str]]] = {
    "trace_run": (Run, frozenset({"rater_id"})),
    "trace_step": (Step, frozenset({"run_id", "item_id"})),
    "trace_reply": (Reply, frozenset()),
    "trace_execution": (
        Execution,
        frozenset({"item_id", "step_id", "rater_id", "assignment_id", "editing_ms"}),
    ),
    "trace_test": (TestOutcomeRow, frozenset({"execution_id", "position"})),
    "trace_verdict": (Verdict, frozenset({"run_id", "item_id", "question_id", "response_ref_id"})),
}
"""The tables of a trace, by the sort of record that an import stages, each with the columns that a trace does
not hold: the keys that other places of it give."""

_WORDS = {
    "run.state": RUN_STATES,
    "step.outcome": STEP_OUTCOMES,
    "execution.exit_reason": EXIT_REASONS,
    "test.outcome": TEST_OUTCOMES,
}
"""The columns that hold one of a few words."""

_SIGNED = ("execution.exit_code", "verdict.value")
_MOST_COUNTED = 10**12
"""Of tokens, seconds, dollars and everything else that reports add up."""

MOST_STEPS = 1_000
"""Steps of a trace, and tests of an execution."""


@cache
def row_types(sort: str) -> dict[str, FieldType]:
    """Return the columns that a trace holds of a table, with their types."""
    model, left_out = TRACE_ROWS[sort]
    found: dict[str, FieldType] = {}
    for name, field in model.model_fields.items():
        if name not in left_out:
            plain = [part for part in getattr(field.annotation, "__args__", ()) if part is not type(None)]
            found[name] = _TYPES[plain[0] if plain else field.annotation]
    return found


class Traces:
    """Makes items, and the rows of a run, of traces."""

    def __init__(self, known: FileContext) -> None:
        self.counts: dict[str, int] = {}

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the item of a trace, and the rows of its run.

        Raises:
            Refused: Something is missing, of the wrong type, or none of what a workspace can hold.
        """
        whole = RecordReader(record)
        name = whole.text("kind", required=True, filled=True)
        if name not in task_kinds():
            raise Refused(f"unknown kind {name!r}; known: {', '.join(task_kinds())}")
        kind = task_kinds()[name]
        external_id = whole.identity("item", required=True)
        of = {"kind": name, "item": external_id}
        run = _run(name, whole.there("run"))
        of_run = {**of, "run": run["id"]}
        made = [
            _item(kind, external_id, whole),
            Entity("trace_run", {**of, **run}, {}),
            *_steps(whole.there("steps"), of_run),
        ]
        executions = {one.fields["id"] for one in made if one.sort == "trace_execution"}
        for verdict in _objects(whole.there("verdicts"), "verdicts"):
            made.append(_verdict(kind, verdict, of_run, executions))
        return made


def _item(kind: TaskKind, external_id: str, whole: RecordReader) -> Entity:
    texts = whole.there("texts")
    if not isinstance(texts, dict):
        raise Refused("'texts' is no object of the item's columns")
    given, record = dict(texts), kind.record
    fields: dict[str, Any] = {"external_id": external_id}
    for name, type_ in record.columns.items():
        value = given.pop(name, None)
        if value is None and name in record.identity and record.flat:
            raise Refused(f"missing field 'texts.{name}'")
        rule = short_text if name in SHORT else RULES[type_]
        fields[name] = None if value is None else rule(value, f"texts.{name}")
    if record.ranked:
        scores = given.pop("similarity", None) or {}
        if not isinstance(scores, dict):
            raise Refused("'texts.similarity' is no object of numbers")
        fields["scores"] = {
            short_text(model, "texts.similarity"): number(score, f"texts.similarity.{model}")
            for model, score in scores.items()
        }
    extra = given.pop("extra", None) or {}
    if not isinstance(extra, dict):
        raise Refused("'texts.extra' is no object")
    return Entity(kind.name, fields, {**given, **extra})


def _run(kind: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not isinstance(given.get("configuration"), dict):
        raise Refused("'run' is no object with a configuration")
    text = json.dumps(given["configuration"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    run = _row("trace_run", {**given, "configuration": text})
    if run["kind"] != kind:
        raise Refused(f"'run.kind' is {run['kind']!r}, and the item is of the kind {kind!r}")
    if fault := name_fault(run["name"]):
        raise Refused(f"'run.name' is {run['name'][:40]!a}, which is no rater's name: it {fault}")
    return run


def _steps(given: Any, of: Mapping[str, Any]) -> Iterator[Entity]:
    for step in _objects(given, "steps"):
        reply, execution = step.pop("stored_reply", None), step.pop("execution", None)
        if isinstance(step.get("reply"), dict):
            _check_reply(step["reply"])
            step["reply"] = json.dumps(step["reply"], ensure_ascii=False)
        elif step.get("reply") and step.get("outcome") == "ok":
            raise Refused("'step.reply' is no JSON object, which that of a turn without an error is")
        row = _row("trace_step", step)
        yield Entity("trace_step", {**of, **row}, {})
        if reply is not None:
            yield Entity("trace_reply", {**of, **_row("trace_reply", reply, ordered=False)}, {})
        if execution is not None:
            yield from _execution(execution, {**of, "step_id": row["id"]})


def _execution(given: Any, of: Mapping[str, Any]) -> Iterator[Entity]:
    if not isinstance(given, dict):
        raise Refused("'execution' is no object")
    fields = dict(given)
    tests = _objects(fields.pop("tests", []), "tests")
    row = _row("trace_execution", fields)
    for cut in ("stdout_cut", "stderr_cut"):
        try:
            missing = cut_of_text(row[cut] or "")
            for name, count in ({} if missing is None else asdict(missing)).items():
                _check_count(count, f"{cut}.{name}")
        except (ValueError, TypeError) as error:
            raise Refused(f"{cut!r} does not say what is missing in the output") from error
    yield Entity("trace_execution", {**of, **row}, {})
    for position, test in enumerate(tests):
        place = {"execution_id": row["id"], "place": position}
        yield Entity("trace_test", {**of, **place, **_row("trace_test", test)}, {})


def _verdict(
    kind: TaskKind, given: dict[str, Any], of: Mapping[str, Any], executions: Collection[str]
) -> Entity:
    question = given.pop("question", None)
    given.pop("word", None)
    base, response = split_question(question) if isinstance(question, str) else ("", None)
    spec = kind.question(base)
    if spec is None:
        known = ", ".join(spec.name for spec in kind.questions)
        raise Refused(f"unknown question {question!r}; known: {known}")
    row = _row("trace_verdict", given)
    try:
        spec.scale.check(row["value"])
    except JudgmentRefused as refusal:
        raise Refused(f"{row['value']:g} is off the scale of {question}") from refusal
    if row["execution_id"] not in (None, *executions):
        raise Refused(f"'verdict.execution_id' is {row['execution_id']}: none of the trace's executions")
    about = {} if response is None else asdict(response)
    return Entity("trace_verdict", {**of, "question": base, **about, **row}, {})


def _check_reply(reply: Mapping[str, Any]) -> None:
    """Refuse numbers of tests that are none, since lists and reports add them up."""
    for name in ("passed", "failed", "errors"):
        if type(reply.get(name, 0)) is not int:
            raise Refused(f"'reply.{name}' is no whole number")


def _objects(given: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Refused(f"{name!r} is no list of objects")
    if len(given) > MOST_STEPS:
        raise Refused(f"{name!r} has {len(given):,} entries, where at most {MOST_STEPS:,} can be")
    return [dict(one) for one in given]


def _row(sort: str, given: Any, *, ordered: bool = True) -> dict[str, Any]:
    """Return a row as it is staged: defaults for what is missing, ids and times as text.

    Args:
        sort: The sort of record.
        given: The row's object.
        ordered: Whether its id tells in which order it was made.
    """
    word = sort.removeprefix("trace_")
    if not isinstance(given, dict):
        raise Refused(f"{word!r} is no object")
    left, row, model = dict(given), {}, TRACE_ROWS[sort][0]
    for name, type_ in row_types(sort).items():
        value, field = left.pop(name, None), model.model_fields[name]
        if value is not None:
            row[name] = _checked(value, type_, f"{word}.{name}")
        elif field.is_required():
            raise Refused(f"missing field '{word}.{name}'")
        else:
            row[name] = field.get_default()
    if left:
        strange = ", ".join(sorted(left)[:5])
        raise Refused(f"a {word} has fields that this version does not know: {strange}")
    if ordered and "id" in row and (fault := id_fault(UUID(row["id"]))):
        raise Refused(f"{row['id']} {fault}: ids tell in which order records were made")
    return row


def _checked(value: Any, type_: FieldType, name: str) -> Any:
    """Return the value of a column, in the form of its type; one of its words where it has a few."""
    found = RULES[type_](value, name)
    if name in _WORDS and found not in _WORDS[name]:
        raise Refused(f"{name!r} is {short(found)}, which is none of {', '.join(_WORDS[name])}")
    if type_ in ("integer", "number") and name not in _SIGNED:
        _check_count(found, name)
    return found


def _check_count(value: Any, name: str) -> None:
    """Refuse what cannot be added up with others of its kind."""
    if type(value) not in (int, float) or not 0 <= value <= _MOST_COUNTED:
        raise Refused(f"{name!r} is {short(value)}, and no number from 0 to {_MOST_COUNTED:,}")


def plain(sort: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a table as a trace holds it: without its keys, ids and times as text."""
    return {name: _plain(row[name]) for name in row_types(sort)}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return str(value) if isinstance(value, UUID) else value


def write_traces(export: Export) -> WriteResult:
    """Write the traces of a run."""
    return export.write_lines(export.traces(), "verdict", "The run has taken no step yet.")


TRACES = Format(
    name="traces",
    description="what a run of the agents did with each item: run, steps, executions, verdicts",
    containers=frozenset({"json lines"}),
    layouts=(
        recognized_by("trace_run", item="id", kind="text", run="object", steps="list", verdicts="list"),
    ),
    converter=Traces,
    write=write_traces,
    carries="All that a run of the agents did with each item: replies, tests, verdicts.",
    of_run=True,
    choices=frozenset({"rater", "sample"}),
    holds=("trace", "traces"),
)
