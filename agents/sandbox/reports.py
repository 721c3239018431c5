"""Builds an execution report from the exit of a child process and its supervisor's records.

`inside/supervisor.py` describes what the records can prove; messages in them are the program's own words,
and nothing is trusted to have the right form.
"""

from __future__ import annotations

import hashlib
import json
import signal
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from agents.sandbox.inside.supervisor import FIELDS, escape_unprintable
from agents.sandbox.protocol import ExecutionReport, Outcome, TestOutcome
from store.cuts import Cut

if TYPE_CHECKING:
    from agents.sandbox.output_capture import ProcessResult
    from agents.sandbox.protocol import ExitReason, Limits, Obstacle

# The fields of each record, as the supervisor writes them.
_FIELDS: dict[str, dict[str, type]] = {
    **{event: dict.fromkeys(names, str) for event, names in FIELDS.items() if event != "finished"},
    "begin": {"python": str, "platform": str},
    "outcome": {**dict.fromkeys(FIELDS["outcome"], str), "seconds": float},
    "forged": {},
    "flooded": {},
    "dropped": {"bytes": int},
    "oom": {},
    "exit": {"code": int},
    "end": {},
}
# What the harness says of an exception (`refusal`), in the order in which it decides the reason.
_CATEGORIES: tuple[Literal["memory", "processes", "disk"], ...] = ("memory", "processes", "disk")

# The same as what kept a test from a result.
_OBSTACLES: dict[str, Obstacle] = {
    "": "",
    "environment": "environment",
    "test": "test",
    **dict.fromkeys(_CATEGORIES, "limit"),
}


@dataclass(slots=True)
class _Records:
    """The harness's records, read."""

    began: bool = False
    ended: bool = False
    damaged: bool = False
    oom: bool = False
    flooded: bool = False
    dropped: int = 0
    code: int | None = None
    packages: str = ""
    trace: str = ""
    python: str = ""
    platform: str = ""
    running: str = ""
    outcomes: list[TestOutcome] = field(default_factory=list)
    troubles: list[tuple[Outcome, str, str]] = field(default_factory=list)  # outcome, category, message


def make_report(
    result: ProcessResult, *, sandbox: str, limits: Limits, image: str = "", snapshot: str = ""
) -> ExecutionReport:
    """Make the report of an execution from its process and the harness's records.

    Args:
        result: How its process ended, and the harness's records.
        sandbox: Name of the sandbox.
        limits: Its limits.
        image: Digest of the image it ran in, where there is one.
        snapshot: Name of the repaired environment it ran in, where it was one.

    Returns:
        The report.
    """
    records = _read(result.channel)
    reason, error = _reason(result, records, limits)
    if records.running:
        message = error or "the program ended inside this test"
        records.outcomes.append(TestOutcome(records.running, "error", message, 0.0, obstacle="limit"))
    if records.damaged:
        records.outcomes = [replace(test, obstacle="damaged") for test in records.outcomes]
    code = result.code if records.code is None else records.code
    stdout, stdout_cut = _output(result.stdout, result.stdout_cut)
    stderr, stderr_cut = _output(result.stderr, result.stderr_cut)
    return ExecutionReport(
        exit_reason=reason,
        exit_code=128 - code if code is not None and code < 0 else code,
        stdout=stdout,
        stderr=stderr,
        outcomes=tuple(records.outcomes),
        error=error,
        seconds=result.seconds,
        sandbox=sandbox,
        environment=_environment(records, sandbox, snapshot or image),
        output_dropped=sum(cut.bytes for cut in (stdout_cut, stderr_cut) if cut is not None),
        started_at=result.started_at,
        trace=records.trace,
        image=image if records.began else "",
        packages=tuple(records.packages.split("\n")) if records.packages else (),
        stdout_cut=stdout_cut,
        stderr_cut=stderr_cut,
        snapshot=snapshot,
    )


def _reason(result: ProcessResult, records: _Records, limits: Limits) -> tuple[ExitReason, str]:
    """Return the exit reason and the error line; the first that applies, from outside to inside."""
    if not records.began:
        return "infrastructure", _last_line(result) or "the sandbox ended before the program began"
    if result.stopped == "output" or result.dropped or records.flooded or records.dropped:
        return "output", f"OutputLimit: wrote more than {limits.output_bytes} bytes to stdout or stderr"
    if result.stopped == "timeout" and not records.ended:
        return "timeout", f"Timeout: not done after {limits.wall_seconds:g} s"
    if records.damaged:
        return "error", "DamagedReport: the program wrote into the report of its tests"
    if records.oom or result.out_of_memory:
        return "memory", f"OutOfMemory: used more than {limits.memory_bytes} bytes"
    number = _signal(result.code) if records.code is None else max(-records.code, 0)
    if number and not records.ended:
        return _signalled(number, result, limits)
    for category in _CATEGORIES:
        for _, found, message in records.troubles:
            if found == category:
                return category, message
    if not records.ended:
        if b"MemoryError" in result.stderr[-4096:]:
            return "memory", "MemoryError: no memory was left to report with"
        code = result.code if records.code is None else records.code
        return "error", f"EndedEarly: the program ended itself before its tests did (exit code {code})"
    for _, found, message in records.troubles:
        if found in ("environment", "test"):
            return "error", message
    if any(outcome == "error" for outcome, _, _ in records.troubles):
        return "error", ""
    return ("assertion" if records.troubles else "ok"), ""


def _signalled(number: int, result: ProcessResult, limits: Limits) -> tuple[ExitReason, str]:
    """Decide the reason of a process that a signal ended before its tests did."""
    if number == signal.SIGXCPU or (number == signal.SIGKILL and result.seconds >= limits.cpu_seconds):
        return "timeout", f"Timeout: used {limits.cpu_seconds} s of processor time"
    if number == signal.SIGXFSZ:
        return "disk", f"FileLimit: wrote a file of more than {limits.file_bytes} bytes"
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return "killed", f"Killed: ended by {name}"


def _signal(code: int | None) -> int:
    """Find the signal in an exit status: -N from a direct child, 128 + N through bubblewrap; 0 for none."""
    if code is None:
        return 0
    if code < 0:
        return -code
    return code - 128 if 128 < code < 128 + 65 else 0


def _read(channel: bytes) -> _Records:
    """Read the records; one that is not as the harness writes them marks the whole as damaged."""
    records = _Records()
    lines = channel.split(b"\n")
    for line in lines[:-1]:  # the rest after the last line end is nothing, or a record cut short
        try:
            _take(records, json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            records.damaged = True
            break
    return records


def _take(records: _Records, record: Any) -> None:
    """Add one record; raises ValueError, TypeError or KeyError when it is none."""
    event = record.pop("event")
    fields = _FIELDS[event]
    if records.ended or set(record) != set(fields):
        raise ValueError("no record of the supervisor's")
    if not all(type(value) is fields[name] for name, value in record.items()):
        raise TypeError("a value of another type")
    values: dict[str, Any] = {
        name: escape_unprintable(value) if isinstance(value, str) else value for name, value in record.items()
    }
    if event == "begin":
        records.python, records.platform = values["python"], values["platform"]
        records.began = True
    elif event == "packages":
        records.packages = values["names"]
    elif event == "start":
        records.running = values["name"]
    elif event == "outcome":
        outcome = _outcome(values["outcome"])
        test = TestOutcome(
            values["name"],
            outcome,
            values["message"],
            values["seconds"],
            trace=values["trace"],
            obstacle=_OBSTACLES[values["category"]],
        )
        if test.name != records.running:
            raise ValueError("the outcome of a test that did not run")
        records.running = ""
        records.outcomes.append(test)
        if outcome != "passed":
            records.troubles.append((outcome, values["category"], test.message))
    elif event == "unrun":
        test = TestOutcome(values["name"], "error", values["message"], 0.0, obstacle="test")
        records.outcomes.append(test)
        records.troubles.append(("error", "test", test.message))
    elif event == "program":
        records.troubles.append((_outcome(values["outcome"]), values["category"], values["message"]))
        records.trace = values["trace"]
    elif event == "forged":
        records.damaged = True
    elif event == "flooded":
        records.flooded = True
    elif event == "dropped":
        records.dropped = values["bytes"]
    elif event == "oom":
        records.oom = True
    elif event == "exit":
        records.code = values["code"]
    elif event == "end":
        records.ended = True


def _outcome(value: Outcome) -> Outcome:
    if value not in get_args(Outcome):
        raise ValueError("an unknown outcome")
    return value


def _text(output: bytes) -> str:
    return output.decode("utf-8", "backslashreplace")


def _output(written: bytes, cut: Cut | None) -> tuple[str, Cut | None]:
    """Read what was kept of an output; a character that the cut went through is missing as a whole."""
    if cut is None:
        return _text(written), None
    head, tail = written[: cut.at], written[cut.at :]
    broken = next((n for n in range(1, min(3, len(head)) + 1) if head[-n] >= 0xC0), 0)
    if broken and broken < (2 if head[-broken] < 0xE0 else 3 if head[-broken] < 0xF0 else 4):
        head = head[:-broken]
    whole = next((n for n in range(min(4, len(tail))) if tail[n] & 0xC0 != 0x80), 0)
    beginning = _text(head)
    missing = cut.bytes + cut.at - len(head) + whole
    return beginning + _text(tail[whole:]), Cut(len(beginning), missing, cut.lines)


def _last_line(result: ProcessResult) -> str:
    lines = _text(result.stderr).strip().splitlines()
    if lines:
        return lines[-1]
    return "the sandbox did not start in time" if result.stopped == "timeout" else ""


def _environment(records: _Records, sandbox: str, base: str) -> str:
    """Return the digest of an environment; equal environments have equal digests.

    A snapshot represents its image, whose own digest depends on the moment at which it was made.
    """
    if not records.began:
        return ""
    parts = (records.python, sandbox, records.platform, *(part for part in (base, records.packages) if part))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
