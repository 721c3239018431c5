"""Why a test program was not executable, in a few words that are counted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.pipelines.pair_annotation.snippet import read_snippet

PYTHON_2, INVALID = "Python 2 code", "invalid code"
"""Reasons in the code itself: it is not Python 3, so that no program could have executed it."""

_LIMITS = ("timeout", "memory", "processes", "output", "disk", "killed")
_OF_CANDIDATE = re.compile(r"\w+Error: .*\(candidate\.py, line \d+\)")
_BY_ERROR = (
    ("invalid test program", re.compile(r"\w+Error: .*\((?:test_candidate|scaffold)\.py, line \d+\)")),
    ("missing module", re.compile(r"(?:ModuleNotFoundError|ImportError): No module named '?([\w.-]+)")),
    ("missing library", re.compile(r"(?:ImportError|OSError): ([\w.+-]+): cannot open shared object file")),
    ("failed import", re.compile(r"(?:ModuleNotFoundError|ImportError): (.*)")),
    ("missing name", re.compile(r"NameError: name '([^']*)'")),
    ("missing file", re.compile(r"FileNotFoundError: .*?('[^']*'|$)")),
    ("no network", re.compile(r"gaierror: |OSError: \[Errno 101\]")),
    ("tests not run", re.compile(r"NotRun: ")),
    # Of executions of earlier versions.
    ("no tests", re.compile(r"LookupError: none of the tests was defined")),
    ("skipped tests", re.compile(r"(?:SkipTest|Skipped)\b")),
    ("failed set-up", re.compile(r"SetUpFailed: ")),
    ("ended itself", re.compile(r"EndedEarly: ")),
    ("damaged report", re.compile(r"DamagedReport: ")),
    ("invalid module", re.compile(r"(?:SyntaxError|IndentationError|TabError): (.*)")),
)
_LONGEST = 80


@dataclass(frozen=True, slots=True, order=True)
class Reason:
    """A reason: its kind, and the module, name, file, limit or error where the kind has one."""

    kind: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def reason_of(exit_reason: str, error: str, code: str) -> Reason:
    """Say why a program was not executable.

    Args:
        exit_reason: Why its execution ended (`agents.sandbox.protocol.ExitReason`).
        error: The error line of its report.
        code: The code that it tests; needed only where the error is in `candidate.py`.

    Returns:
        The reason.
    """
    if exit_reason in _LIMITS:
        return Reason("limit", exit_reason)
    if _OF_CANDIDATE.match(error):
        return Reason(PYTHON_2 if read_snippet(code).python == "2" else INVALID)
    for kind, pattern in _BY_ERROR:
        if found := pattern.match(error):
            return Reason(kind, (found[1][:_LONGEST] if found.groups() else "").strip("'"))
    return Reason("other error", error.partition(":")[0][:_LONGEST])
