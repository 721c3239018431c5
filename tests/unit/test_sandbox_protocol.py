"""The values that sandboxes take and give."""

import dataclasses
import hashlib
from datetime import UTC, datetime
from typing import get_args

import pytest
from pydantic import ValidationError

from agents.sandbox.protocol import ExecutionReport, ExitReason, Limits, TestOutcome, TestProgram
from agents.sandbox.settings import SandboxSettings


def report(reason, error="", outcomes=()):
    return ExecutionReport(
        exit_reason=reason,
        exit_code=0,
        stdout="",
        stderr="",
        outcomes=tuple(outcomes),
        error=error,
        seconds=0.1,
        sandbox="process",
        environment="0" * 12,
        output_dropped=0,
        started_at=datetime.now(UTC),
    )


def test_the_digest_is_of_both_sources_with_a_nul_between_them():
    program = TestProgram("é = 1\n", "import candidate\n")

    assert program.digest == hashlib.sha256("é = 1\n\0import candidate\n".encode()).hexdigest()
    assert dataclasses.replace(program, edited=True).digest == program.digest


def test_a_byte_moved_from_candidate_to_test_changes_the_digest():
    assert TestProgram("a", "bc").digest != TestProgram("ab", "c").digest


def test_a_source_with_a_lone_surrogate_has_a_digest():
    assert len(TestProgram("x = '\ud800'", "").digest) == 64


def test_programs_limits_and_reports_cannot_be_changed():
    for value in (TestProgram("", ""), Limits(), TestOutcome("t", "passed", "", 0.0), report("ok")):
        with pytest.raises(AttributeError):
            setattr(value, dataclasses.fields(value)[0].name, "changed")


@pytest.mark.parametrize("reason", get_args(ExitReason))
def test_only_three_reasons_without_an_error_are_executable(reason):
    assert report(reason).executable == (reason in {"ok", "assertion", "error"})
    assert not report(reason, error="NameError: name 'x' is not defined").executable


def test_outcomes_are_counted_by_kind():
    kinds = ("passed", "passed", "failed", "error", "error", "error")
    counted = report("error", outcomes=[TestOutcome(f"t{n}", kind, "", 0.0) for n, kind in enumerate(kinds)])

    assert (counted.passed, counted.failed, counted.errors) == (2, 1, 3)


def test_the_settings_defaults_are_the_limits_defaults():
    assert SandboxSettings().limits == Limits()


def test_the_settings_hold_every_limit_and_describe_every_field():
    fields = SandboxSettings.model_fields

    assert {field.name for field in dataclasses.fields(Limits)} <= set(fields)
    assert all(field.description for field in fields.values())


@pytest.mark.parametrize(
    "wrong", [{"wall_seconds": 0}, {"memory_bytes": 1}, {"cpu_seconds": 0}, {"wall_second": 3}]
)
def test_settings_that_cannot_work_are_refused(wrong):
    with pytest.raises(ValidationError):
        SandboxSettings(**wrong)
