"""Counts of the tests of a run by outcome, and their wording on all screens and in all commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from store.formatting import pluralize

ON_A_STUB = "passes on a stub"
"""The words beside a single test that does not discriminate."""


class Outcome(Protocol):
    """One test of a run, as `OutcomeView` and `TestOutcome` have it."""

    @property
    def outcome(self) -> str:
        """`passed`, `failed` or `error`."""

    @property
    def discriminates(self) -> bool | None:
        """False when it passes against a stub of the code as well; None when that is not known."""

    @property
    def flaky(self) -> bool | None:
        """Whether it came out otherwise under another hash seed; None when that is not known."""


def passes_on_stub(test: Outcome) -> bool:
    """Return whether a test passed, but passes on a stub of the code as well: it does not discriminate."""
    return test.outcome == "passed" and test.discriminates is False


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """Counts of the tests of a run by outcome.

    Attributes:
        passed: Those that passed, whether they discriminate or not.
        not_discriminating: Those of them that pass on a stub of the code as well.
        flaky: Those that are known to come out otherwise under another hash seed, whatever they showed.
    """

    passed: int = 0
    failed: int = 0
    errors: int = 0
    not_discriminating: int = 0
    flaky: int = 0

    @classmethod
    def of(cls, tests: Iterable[Outcome]) -> OutcomeCounts:
        """Count the tests of a run."""
        tests = tuple(tests)
        came_out = [test.outcome for test in tests]
        return cls(
            came_out.count("passed"),
            came_out.count("failed"),
            came_out.count("error"),
            sum(map(passes_on_stub, tests)),
            sum(test.flaky is True for test in tests),
        )

    @classmethod
    def of_reply(cls, reply: Mapping[str, Any]) -> OutcomeCounts:
        """Return the counts in the reply of the agents' step that ran the tests."""
        return cls(*(int(reply.get(name) or 0) for name in cls.__dataclass_fields__))

    @property
    def total(self) -> int:
        """How many tests there are."""
        return self.passed + self.failed + self.errors

    def words(self) -> dict[str, str]:
        """Say each count in a few words, by its name, in this order; nothing of those that are 0.

        How many passed is always said: `{"passed": "2 of 3 passed", "failed": "1 failed"}`; without tests
        nothing is.
        """
        if not self.total:
            return {}
        does = "does" if self.not_discriminating == 1 else "do"
        every = {
            "failed": f"{self.failed:,} failed",
            "errors": pluralize(self.errors, "error"),
            "not_discriminating": f"{self.not_discriminating:,} {does} not discriminate",
            "flaky": f"{self.flaky:,} flaky",
        }
        said = {name: words for name, words in every.items() if getattr(self, name)}
        return {"passed": f"{self.passed:,} of {self.total:,} passed", **said}
