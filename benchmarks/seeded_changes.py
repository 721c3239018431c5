"""Counts how many wrong changes of the product the tests catch.

    python benchmarks/seeded_changes.py [--revision REV] [--tier all] [NUMBER ...]

Each of these changes turns one operator, condition or call of the product into a wrong one. In a copy of the repository
one after the other is made and the test files that reach its line are run; a change is caught where one of them fails.
The copy is of what is committed: HEAD, or another revision, for a comparison of two suites.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Change:
    """A wrong change.

    Attributes:
        path: The file of the product.
        right: What is written there, once in the file.
        wrong: What is written in its place.
        tests: The test files that reach it.
    """

    path: str
    right: str
    wrong: str
    tests: tuple[str, ...]


RECORDING = ("tests/unit/test_recording.py", "tests/unit/test_merging.py")
JUDGING = ("tests/flows/test_review_judging.py", "tests/flows/test_judging_what_is_shown.py")
REVEALING = ("tests/flows/test_review_reveal.py", "tests/flows/test_review_citing.py")
SAFE = ("tests/flows/test_safe_keys.py", "tests/flows/test_review_judging.py")
ACCOUNT = ("tests/unit/test_account.py", "tests/unit/test_jobs.py")
JOBS = ("tests/unit/test_jobs.py", "tests/unit/test_faults.py", "tests/unit/test_annotation_pipeline.py")
VOTES = ("tests/unit/test_preference_formats.py", "tests/unit/test_measure_preference.py")
AGREEMENT = ("tests/unit/test_measure_agreement.py", "tests/unit/test_report_agreement.py")
PROGRESS = ("tests/unit/test_queries_progress.py", "tests/unit/test_report_counts.py")

CHANGES = (
    Change(
        "store/record/supersession.py",
        "return max((one.id for one in self._of_key(record) if one.id < record.id), default=None)",
        "return min((one.id for one in self._of_key(record) if one.id < record.id), default=None)",
        RECORDING,
    ),
    Change(
        "store/record/supersession.py",
        'if mark.kind == "cannot_decide" and mark.id > record.id:',
        'if mark.kind == "cannot_decide" and mark.id < record.id:',
        RECORDING,
    ),
    Change(
        "store/record/supersession.py",
        "return [judgment for judgment in judgments if judgment.value is not None]",
        "return [judgment for judgment in judgments if judgment.value]",
        RECORDING,
    ),
    Change(
        "store/record/supersession.py",
        'if record.origin in ("undo", "redo") or not newest:',
        'if record.origin in ("undo", "redo"):',
        RECORDING,
    ),
    Change(
        "store/queries/progress.py",
        "return self.items - self.judged - self.cannot_decide",
        "return self.items - self.judged",
        PROGRESS,
    ),
    Change(
        "screens/judging/judgment_builder.py",
        '"accept" if value == claim.value else "override"',
        '"accept" if value != claim.value else "override"',
        JUDGING,
    ),
    Change(
        "screens/judging/judgment_builder.py",
        "            blind=item.blind,\n            reason=reason,",
        "            blind=False,\n            reason=reason,",
        REVEALING,
    ),
    Change(
        "screens/judging/judgment_builder.py",
        "            shown_execution=execution,\n",
        "            shown_execution=None,\n",
        (*REVEALING, *JUDGING),
    ),
    Change(
        "screens/judging/order.py",
        "if self.ids and self.ids[-1] != item_id:",
        "if self.ids and self.ids[-1] == item_id:",
        JUDGING,
    ),
    Change(
        "screens/judging/controller.py",
        "        self._order.put_last(item.item_id)\n",
        "",
        JUDGING,
    ),
    Change(
        "screens/judging/controller.py",
        "elif guard.is_unsettled_at(pressed):",
        "elif pressed < 0:",
        SAFE,
    ),
    Change("agents/jobs/budget.py", "spent >= limit", "spent > limit", ACCOUNT),
    Change("agents/jobs/budget.py", "        self.pairs -= 1\n", "        self.pairs -= 0\n", ACCOUNT),
    Change(
        "agents/jobs/failure_policy.py", "self._in_a_row < self._most", "self._in_a_row <= self._most", JOBS
    ),
    Change("agents/jobs/reply_cache.py", "if model.knows_subjects:", "if not model.knows_subjects:", JOBS),
    Change(
        "store/ingest/votes.py",
        "if contents.setdefault(name, content) != content:",
        "if contents.setdefault(name, content) == content:",
        VOTES,
    ),
    Change(
        "store/ingest/votes.py",
        'listed_second_first(fields["file_order"], *names)',
        'not listed_second_first(fields["file_order"], *names)',
        (*VOTES, "tests/unit/test_report_preference.py"),
    ),
    Change(
        "store/measures/agreement.py",
        "ranked[0][1] == ranked[1][1]",
        "ranked[0][1] != ranked[1][1]",
        AGREEMENT,
    ),
    Change(
        "store/measures/significance.py",
        "most = max(most, min(1.0, (len(p_values) - rank) * p_values[place]))",
        "most = min(1.0, (len(p_values) - rank) * p_values[place])",
        ("tests/unit/test_measure_significance.py",),
    ),
    Change(
        "store/measures/ranking.py",
        "return 2.0**grades - 1",
        "return 2.0**grades",
        ("tests/unit/test_measure_ranking.py",),
    ),
)


def main() -> int:
    """Make each change and run its tests; return how many were missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--revision", default="HEAD")
    parser.add_argument("--tier", default="", help="the tier of tests, where the revision has tiers")
    parser.add_argument("numbers", nargs="*", type=int, help="which changes, from 1; all without")
    options = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        subprocess.run(["git", "clone", "-q", str(ROOT), str(copy)], check=True)
        subprocess.run(["git", "-C", str(copy), "checkout", "-q", options.revision], check=True)
        for number, change in enumerate(CHANGES, 1):
            if options.numbers and number not in options.numbers:
                continue
            began = time.monotonic()
            caught = is_caught(copy, change, options.tier)
            word = "caught" if caught else "MISSED"
            print(
                f"{number:2} {word} {change.path}: {change.wrong.strip()!r} ({time.monotonic() - began:.0f} s)",
                flush=True,
            )
            if not caught:
                missed.append(number)
    print(f"{len(options.numbers or CHANGES) - len(missed)} caught, {len(missed)} missed")
    return len(missed)


def is_caught(copy: Path, change: Change, tier: str) -> bool:
    """Make a change in a copy, run its tests, and take it back; return whether a test failed."""
    file = copy / change.path
    text = file.read_text(encoding="utf-8")
    assert text.count(change.right) == 1, f"{change.path} does not have once: {change.right}"
    file.write_text(text.replace(change.right, change.wrong), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", "-p", "no:cacheprovider"]
        command += ["--tier", tier] if tier else []
        # What is beside it is imported, not what is installed.
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        tests = [test for test in change.tests if (copy / test).exists()]
        done = subprocess.run([*command, *tests], cwd=copy, env=environment, capture_output=True, check=False)
        summary = done.stdout.decode().rstrip().rpartition("\n")[2]
        assert "passed" in summary or "failed" in summary, (
            done.stdout.decode()[-2000:] + done.stderr.decode()[-2000:]
        )
        return "failed" in summary
    finally:
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
