"""Copies of a workspace file, in which agents work elsewhere, and the merge of their work, all or nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from store.errors import WorkspaceError
from store.events import Progress, ReportProgress, silent
from store.formatting import pluralize
from store.policy.refusal import refuse_packet
from store.record.expert_runs import journal_line
from store.record.ids import AHEAD
from store.record.rater_ref import name_fault
from store.workspace.attaching import attached
from store.workspace.connecting import refusal
from store.workspace.differences import Comparison, RunGain
from store.workspace.duckdb import Workspace
from store.workspace.journal import Journal, journal_path
from store.workspace.protected_paths import own_files

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class MergeReport:
    """The result of a merge.

    Attributes:
        dry_run: Whether nothing was to be written.
        runs: The copy's runs, and the rows that each gains here.
        added: Rows that were new, by table.
        known: Rows that were here already, by table; skipped ones are not among them.
        verdicts_left: Verdicts that stay behind since the run has one on that item here.
        verdicts_differing: Those of them with another value.
        judgments_left: Judgments of the copy that are not here: a merge leaves them.
        marks_left: Marks likewise.
        imported_left: Responses, scores and pieces of context likewise, which come by importing their files.
        rankings_left: Methods whose ranking in the copy is new here or newer, and stays behind likewise.
        experts_runs: Tests that experts ran, among the executions added.
    """

    copy: str
    dry_run: bool
    runs: tuple[RunGain, ...]
    added: Mapping[str, int]
    known: Mapping[str, int]
    verdicts_left: int
    verdicts_differing: int
    judgments_left: int
    marks_left: int
    imported_left: int
    rankings_left: tuple[str, ...]
    experts_runs: int

    @property
    def adds(self) -> bool:
        """Whether anything is new."""
        return any(self.added.values())


def copy_workspace(path: Path | str, target: Path | str) -> int:
    """Copy a workspace file while nobody else has it open, with all that its log holds.

    The journal stays behind: it is what people did in the workspace, and the copy begins its own.

    Args:
        path: The workspace.
        target: Where the copy is made; nothing of a workspace may be there.

    Returns:
        The bytes of the copy.

    Raises:
        WorkspaceError: The workspace cannot be opened, or the copy not be written; nothing is left of it.
    """
    target = Path(target)
    check_target(target)
    with ExitStack() as stack:
        workspace = stack.enter_context(Workspace.open(path))
        source = workspace.path.open("rb")
        # In this order: closing a file gives up every lock that the process has on it.
        stack.callback(source.close)
        stack.callback(workspace.close)
        try:
            with workspace.native() as cursor:
                cursor.execute("CHECKPOINT")
        except duckdb.Error as error:
            raise refusal(workspace.path, error) from error
        unfinished = target.with_name(target.name + ".part")
        try:
            with unfinished.open("wb") as file:
                shutil.copyfileobj(source, file, 1024 * 1024)
                file.flush()
                os.fsync(file.fileno())
            unfinished.rename(target)
        except BaseException as error:
            with suppress(OSError):
                unfinished.unlink()
            if isinstance(error, OSError):
                raise WorkspaceError(
                    "Cannot copy workspace",
                    f"{target} could not be written: {error.strerror or error}.",
                    "Make room there, or choose another place. The workspace is as it was.",
                ) from error
            raise
        return target.stat().st_size


def check_target(target: Path) -> None:
    """Refuse a place where something of a workspace is: an old log would be taken for the copy's."""
    for path in own_files(target):
        if path.exists() or path.is_symlink():
            raise WorkspaceError(
                "Already there", f"{path} exists. Nothing was copied.", "Choose another name for the copy."
            )
    if not target.parent.is_dir():
        raise WorkspaceError(
            "No such folder", f"{target.parent} is not a folder.", "Make it first, or choose another place."
        )


def merge(
    workspace: Workspace, copy: Path | str, *, dry_run: bool = False, progress: ReportProgress | None = None
) -> MergeReport:
    """Copy the work of agents back from a copy: runs, steps, executions with their tests, verdicts.

    Everything keeps its id, so that merging again adds nothing. The copy is only read. Judgments, marks
    and imported rows of the copy are skipped: export and import transfer them.

    Args:
        workspace: The open workspace.
        copy: A copy of its file, in which agents have worked since.
        dry_run: Whether to do everything but write.
        progress: Receives the progress, in this thread; an exception from it ends the merge unwritten.

    Returns:
        The rows that were added, and those that were skipped.

    Raises:
        WorkspaceError: The file is no copy of this workspace, or cannot be read; nothing was merged.
        WorkspaceLocked: Another process holds the copy, or this one does.
        WorkspaceTooNew: A newer version of the program wrote the copy.
    """
    refuse_packet(workspace, "Copies are merged")
    path = Path(copy)
    path = path.resolve() if path.is_symlink() else path
    report = progress or silent
    cursor = workspace.native()
    try:
        with attached(workspace, cursor, path, "copy"), _transaction(cursor, path, write=not dry_run):
            return _merge(workspace, cursor, path, dry_run=dry_run, report=report)
    finally:
        cursor.close()


def _merge(
    workspace: Workspace,
    cursor: duckdb.DuckDBPyConnection,
    path: Path,
    *,
    dry_run: bool,
    report: ReportProgress,
) -> MergeReport:
    report(Progress("comparing with the workspace", 0, None))
    comparison = Comparison(cursor)
    _check_items(workspace, comparison, path)
    _check_names(comparison.match(), path)
    _check_fresh(comparison, path)
    runs = tuple(comparison.gains())
    counts = comparison.counts()
    left, differing = comparison.skipped_verdicts()
    records = comparison.skipped_records()
    added = {"run": sum(run.fresh for run in runs), **{table: fresh for table, (fresh, _) in counts.items()}}
    known = {table: count - fresh for table, (fresh, count) in counts.items()}
    known["verdict"] -= left
    experts = comparison.count_expert_runs()
    if not dry_run and any(added.values()):
        # Refused where the file was moved away, as every other write.
        workspace.lane.submit(lambda _: None, urgent=True).result()
        highest = comparison.highest()
        _journal(workspace, comparison)
        added |= comparison.copy(runs, report)
        if highest is not None:
            workspace.ids.raise_floor(highest)
    return MergeReport(
        copy=str(path),
        dry_run=dry_run,
        runs=runs,
        added=added,
        known={"run": len(runs) - added["run"], **known},
        verdicts_left=left,
        verdicts_differing=differing,
        judgments_left=records["judgment"],
        marks_left=records["mark"],
        imported_left=records["imported"],
        rankings_left=tuple(comparison.skipped_rankings()),
        experts_runs=experts,
    )


def _journal(workspace: Workspace, comparison: Comparison) -> None:
    """Journal the tests that experts ran before they are in the workspace."""
    journal = Journal(journal_path(workspace.path))
    for part in comparison.expert_runs():
        lines = [journal_line(one.rater, one.item, one.execution, one.outcomes) for one in part]

        def write(_: object, lines: list[dict[str, Any]] = lines) -> None:
            journal.append(lines)

        workspace.lane.submit(write, urgent=True).result()


@contextmanager
def _transaction(cursor: duckdb.DuckDBPyConnection, path: Path, *, write: bool) -> Iterator[None]:
    """Do all of it or nothing."""
    try:
        cursor.execute("BEGIN")
        try:
            yield
            cursor.execute("COMMIT" if write else "ROLLBACK")
        except BaseException:
            with suppress(duckdb.Error):
                cursor.execute("ROLLBACK")
            raise
    except duckdb.Error as error:
        raise WorkspaceError(
            "Not merged",
            f"{path} could not be merged: {error}. Nothing was merged.",
            "Check the space on the disk, and that the copy is whole; then merge again.",
        ) from error


def _check_items(workspace: Workspace, comparison: Comparison, path: Path) -> None:
    count, first = comparison.unmatched_items(_SHOWN)
    if count:
        more = f" and {count - len(first):,} more" if count > len(first) else ""
        items = ", ".join(f"{name} ({fault})" for name, fault in first)
        raise WorkspaceError(
            "No copy of this workspace",
            f"{pluralize(count, 'item')} of {path} cannot be matched in {workspace.path.name}: "
            f"{items}{more}. Nothing was merged.",
            "Merge a copy into the workspace that it was made of. Files imported into the copy since then "
            "have to be imported into the workspace first, and pairs be added by the same command.",
        )


def _check_fresh(comparison: Comparison, path: Path) -> None:
    """Refuse what no program of ours would have written: times of the future, names and questions."""
    raters, questions = comparison.fresh_names()
    faults = [f"{name[:40]!a}, which is a rater, {fault}" for name in raters if (fault := name_fault(name))]
    faults += [
        f"{name[:40]!a}, which is a question, {fault}" for name in questions if (fault := name_fault(name))
    ]
    if table := comparison.ahead():
        faults.append(f"a {table} {AHEAD}")
    if faults:
        raise WorkspaceError(
            "Not a copy as it was made",
            f"{path} cannot be merged: {faults[0]}. Nothing was merged.",
            "Check the clocks of the machines, and the packages that are installed here.",
        )


def _check_names(taken: list[tuple[str, str, str]], path: Path) -> None:
    if taken:
        name, there, here = taken[0]
        raise WorkspaceError(
            "Name taken",
            f"{name!r} is a rater of kind {there} in {path} and of kind {here} here. Nothing was merged.",
            "The records of the two must be kept apart, so these files cannot be merged.",
        )
