"""Distinguishes errors of the environment from findings of a test, and names what could repair them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agents.pipelines.pair_annotation.distributions import distribution_of

if TYPE_CHECKING:
    from agents.sandbox.protocol import ExecutionReport

_MISSING = re.compile(r"(?:ModuleNotFoundError|ImportError): No module named '?([\w.]+)")
# No command of a terminal mends these: they are in the text of candidate or test, which stays as it is.
_OF_THE_TEXT = re.compile(
    r"NameError: |EndedEarly: |DamagedReport: |LookupError: none of the tests was defined"
    r"|\w+Error: .*\((?:test_)?candidate\.py, line \d+\)"
)


def may_be_repaired(report: ExecutionReport) -> bool:
    """Tell whether a repair could make a program executable.

    A program that is executable needs none, whatever its tests found. One that met a limit, or that a signal
    ended, is not mended by what is installed; nor is one that misses a name, is no valid Python, or ends
    itself.

    Args:
        report: Its execution.

    Returns:
        Whether something is missing outside the texts of candidate and test: a module, a library of the
        system, a file, a network.
    """
    return not report.executable and report.exit_reason == "error" and not _OF_THE_TEXT.match(report.error)


def missing_distribution(report: ExecutionReport) -> str:
    """Name the distribution whose module a program could not import; empty where it was not that."""
    found = _MISSING.match(report.error)
    return distribution_of(found[1]) if found else ""
