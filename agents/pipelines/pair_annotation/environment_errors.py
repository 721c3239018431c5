"""Tells what kept a test program from a result, and what could change that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agents.pipelines.pair_annotation.distributions import distribution_of

if TYPE_CHECKING:
    from agents.sandbox.protocol import ExecutionReport

_MISSING = re.compile(r"(?:ModuleNotFoundError|ImportError): No module named '?([\w.]+)")
# Nothing may change the text of the candidate, and no environment the end that a program gives itself.
_HOPELESS = re.compile(r"EndedEarly: |DamagedReport: |\w+Error: .*\(candidate\.py, line \d+\)")
_NOT_RUN = "NotRun: |SetUpFailed: "
_SLIP = re.compile(
    rf"NameError: |{_NOT_RUN}|SkipTest\b|\w+Error: .*\((?:test_candidate|scaffold)\.py, line \d+\)"
    r"|ImportError: (?:cannot import name .* from (?:partially initialized module )?'candidate'"
    r"|attempted relative import)|AttributeError: partially initialized module 'candidate' "
)
_IMPORT = re.compile(r"(?:ModuleNotFoundError|ImportError): (?!.*cannot open shared object file)")


def errors_of_environment(report: ExecutionReport) -> tuple[str, ...]:
    """Return the errors for which a program enters the loop of Algorithm 1, each once.

    They kept it, or some of its tests, from a result: a module, a name, a file, a library or a network is
    missing, a module is no valid Python, the program could not be loaded for another reason, or a test was
    skipped or could not be run. What a test found is none, nor is a limit, a signal, or the candidate's own
    syntax, which nothing may change.

    Returns:
        The lines that say what stood in its way; none where there is nothing to repair.
    """
    if report.outcomes:
        lines = [test.message for test in report.outcomes if test.obstacle in ("environment", "test")]
    else:
        lines = [report.error] if report.error and report.exit_reason == "error" else []
    return tuple(dict.fromkeys(line for line in lines if not _HOPELESS.match(line)))


def missing_distribution(error: str) -> str:
    """Name the distribution whose module could not be imported; empty where an error says something else."""
    found = _MISSING.match(error)
    return distribution_of(found[1]) if found else ""


def is_slip(error: str) -> bool:
    """Tell whether an error can be one of the test writer's that no environment mends.

    That is a name, an import from the candidate, invalid Python in tests or scaffold, a test that was skipped
    or could not be run, or a module that no installation can bring.
    """
    lost = _MISSING.match(error)
    return bool(_SLIP.match(error)) or (lost is not None and not distribution_of(lost[1]))


def is_not_run(error: str) -> bool:
    """Tell whether an error says that a test or its set-up cannot be run, which no command changes."""
    return re.match(_NOT_RUN, error) is not None


def is_import(error: str) -> bool:
    """Tell whether an error is one of an import, which is the test writer's where no repair helps."""
    return bool(_IMPORT.match(error))
