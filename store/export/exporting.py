"""Export: a workspace, its record or one rater's current labels, as a file that an import reads back."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
from sqlalchemy import Connection

from store.analysis.labels import named_question, question_of_items
from store.errors import ExportFailed, UnknownName
from store.events import ReportProgress, silent
from store.export.comments import create_said, refuse_names
from store.export.content import Counted, WorkspaceContent
from store.export.labels import create_exported_items
from store.export.studied import count_withdrawn, create_exported_records
from store.export.true_labels import TRUE_LABELS, TrueLabels, create_true_labels, true_labels
from store.formats.protocol import Choice, Corpus, Format, WriteResult, find_format, formats
from store.kinds.pair import PAIR
from store.measures.truth import POLICIES
from store.paths import is_folder, is_there
from store.policy.scope import Scope
from store.queries.runs import all_runs, named_run, rater_or_run, shown_by_kind
from store.queries.sampling import ItemSample
from store.queries.studies import find_study
from store.record.rater_ref import RaterRef
from store.splits.splits import SplitChanges
from store.workspace.duckdb import Workspace
from store.workspace.protected_paths import own_files, refuse_to_replace

_MEMORY = "1GB"
"""What the database holds at most during an export; the rest of a sort is put beside the workspace."""


@dataclass(frozen=True, slots=True)
class ViewItems:
    """The items of a saved view, for whoever exports them.

    Attributes:
        name: The name of the view; empty for the list of the queue.
    """

    name: str
    ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The result of an export.

    Attributes:
        destination: The file, or the folder of the formats that are several files.
        folder: Whether that is a folder of several files.
        rater: Whose current labels, a person's or a run's, without the name in the file; None for the full
            record.
        records: Judgments and marks, labelled items, labels, or what the format holds.
        left_out: Rows of its sort that are not in the file: items without a label of the rater, answers
            without a score, examples that the rater does not keep.
        others: Items of other kinds that have labels of the rater, by kind; they are not in the file.
        setting: The only setting that was written; None for all.
        sampled: Items of the sample that was written; None for all items.
        strata: The strata of the sample, each with its items and those sampled; None without strata.
        study: The only study whose records were written; None for all.
        pseudonyms: Whether raters have pseudonyms in place of names.
        withdrawn: Records of raters who withdrew from a study, which were left out.
        split: The split whose items were written; None for all items.
        parts: The parts of it that were written.
        digest: The digest of the split's labels.
        changes: How the labels of now differ from those of the split, where labels of now were asked for.
        names_left: Where names of people are found although they were replaced: rows by table and column.
        view: The saved view whose items were written, empty for the list of the queue; None for all items.
        dry_run: Whether nothing was to be written.
        estimated: Whether `records` is an estimate, in a dry run.
        panel: The raters of the policy whose labels were written; none where these are one rater's.
        labelled: How many of the items have a label, where there is a row for each; None otherwise.
        unread: Rows of an imported file that were left out, since they cannot be read.
        file: The imported file that was given back; empty for none.
        added: The columns that it has beside its own; none where the rows are estimated.
        why: How many of those left out there are by why, where the format tells.
    """

    destination: str
    format: str
    folder: bool
    rater: str | None
    records: int
    left_out: int
    others: Mapping[str, int] = field(default_factory=dict)
    setting: str | None = None
    sampled: int | None = None
    strata: Sequence[Mapping[str, Any]] | None = None
    study: str | None = None
    pseudonyms: bool = False
    withdrawn: int = 0
    split: str | None = None
    parts: Sequence[str] = ()
    digest: str | None = None
    changes: SplitChanges | None = None
    names_left: Mapping[str, int] = field(default_factory=dict)
    view: str | None = None
    dry_run: bool = False
    estimated: bool = False
    panel: Sequence[str] = ()
    labelled: int | None = None
    unread: int = 0
    file: str = ""
    added: Sequence[str] = ()
    why: Mapping[str, int] = field(default_factory=dict)


def export(
    workspace: Workspace,
    destination: Path | str,
    format: str,
    *,
    rater: str | None = None,
    setting: str | None = None,
    only_kept: bool = False,
    sample: ItemSample | None = None,
    study: str | None = None,
    names: bool = False,
    with_withdrawn: bool = False,
    policy: str | None = None,
    question: str | None = None,
    split: str | None = None,
    part: str | None = None,
    now: bool = False,
    corpus: Corpus = "judged",
    pseudonyms: bool = False,
    without_replies: bool = False,
    view: ViewItems | None = None,
    comments: bool = False,
    file: str | None = None,
    blind: bool = False,
    progress: ReportProgress | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
) -> ExportReport:
    """Write the full record, labels, or items and responses of models, to a file: whole or not at all.

    Args:
        workspace: The open workspace.
        destination: The file; for a format of several files a folder.
        format: One that can be written.
        rater: Whose current labels to write: a rater's name, or what names one run of the agents
            (`store.queries.runs.named_run`). None for every judgment and mark with its provenance, for all
            people's labels, or for what is no label.
        setting: The only setting whose context, or responses, to write; None for all.
        only_kept: Whether to write only the examples that the rater, or the policy, keeps.
        sample: The only items to write; None for all.
        study: The only study whose records are written, under pseudonyms; None for all records.
        names: Whether raters of the study, or of a format to be published, keep their names, and comments
            with names are written.
        with_withdrawn: Whether the full record holds those of raters who withdrew from a study, too.
        policy: The policy whose labels to write, in place of a rater's.
        question: The question that the labels are of; that of the first kind by default.
        split: The split whose items to write, with its labels where no rater is named.
        part: The only part of it; None for all.
        now: Whether its labels are those of now.
        corpus: Which codes a retrieval benchmark holds, where the format is one.
        pseudonyms: Whether all people of a bundle have pseudonyms.
        without_replies: Whether a bundle leaves out the replies of models.
        view: The saved view whose items alone are written; None for all.
        comments: Whether people's comments are written, where the format is not the full record.
        file: The imported file that a table gives back; None for the only one.
        blind: Whether what others said is not to be shown in an error.
        progress: Receives the progress.
        overwrite: Whether what is at the destination is replaced.
        dry_run: Whether everything is checked and counted, and nothing written.

    Returns:
        How much was written and left out.

    Raises:
        ExportFailed: Something is at the destination, it cannot be written, or there is nothing to write.
        UnknownName: There is no such format, rater, run or study.
    """
    # What a link points to is written, so that the link stays one.
    target = Path(os.path.realpath(destination))
    form = _writable(format, rater or policy or split)
    chosen: dict[Choice, bool] = {
        "rater": rater is not None,
        "policy": policy is not None,
        "question": question is not None and policy is None,
        "split": split is not None,
        "corpus": corpus != "judged",
        "setting": setting is not None,
        "only_kept": only_kept,
        "sample": sample is not None,
        "study": study is not None,
        "withdrawn": with_withdrawn,
        "pseudonyms": pseudonyms,
        "without_replies": without_replies,
        "comments": comments,
        "file": file is not None,
    }
    _check_choices(form, chosen)
    if view is not None and form.whole_workspace:
        raise ExportFailed(
            "Not of this format", f"The format {form.name} holds the whole workspace.", "Leave --view out."
        )
    if view is not None and sample is not None:
        raise ExportFailed("View or sample", "A view says which items are written.", "Give one of them.")
    _check_split(rater, policy, split, part, sample, now=now)
    whose: RaterRef | None = None
    truth: TrueLabels | None = None
    asked = question or (form.kept if only_kept and policy is not None else None)
    with workspace.reading() as connection:
        if policy is not None or split is not None:
            truth = true_labels(
                connection,
                policy=policy,
                question=asked if split is not None else asked or question_of_items(connection),
                split=split,
                part=part,
                now=now,
                undecided=form.undecided,
            )
            study = study or (truth.split.plan.study if truth.split else None)
        if form.of_run:
            whose = _agents_of_run(connection, rater)
        elif rater is not None:
            whose = rater_or_run(connection, rater)
        study_id = None if study is None else find_study(connection, study).id
        run_id, decided_by = None, ""
        if "file" in form.choices:
            run_id, decided_by = _decided_by(connection, whose, truth)
    if names and study is None and not (form.published or comments):
        raise ExportFailed(
            "Names as they are", "Without --study raters have their names.", "Leave --names out."
        )
    rater_id, name = (None, None) if whose is None else (whose.id, whose.name)
    panel: tuple[str, ...] = ()
    of_truth = policy is not None or form.needs_rater or "file" in form.choices
    if whose is None and truth is not None and of_truth:
        rater_id, name = TRUE_LABELS, truth.name
        panel = truth.raters if truth.name in POLICIES else ()
    refuse_to_replace(target, own_files(workspace.path), ExportFailed)
    _check(target, form, overwrite=overwrite)
    partial, nowhere = target.with_name(f".{target.name}.{os.getpid()}.part"), ExitStack()
    if dry_run:
        # Writers may open files before they ask for what to write.
        partial = Path(nowhere.enter_context(tempfile.TemporaryDirectory())) / target.name
    cursor = workspace.native()
    try:
        if form.folder:
            partial.mkdir()
        # One snapshot, so that a judgment made meanwhile is in all of the file or in none.
        cursor.execute("BEGIN")
        if truth is not None:
            create_true_labels(cursor, truth)
        chosen_items = view.ids if view is not None else None if sample is None else sample.item_ids
        undecided = truth.undecided if truth is not None else {}
        create_exported_items(cursor, chosen_items, split=split is not None, undecided=undecided)
        create_exported_records(
            cursor,
            study_id,
            pseudonyms=not names and (study is not None or form.published),
            withdrawn=with_withdrawn,
            comments=comments,
            truth=truth,
        )
        if comments or "file" in form.choices:
            # What is published holds everybody's labels beside those that are named.
            of = rater_id if rater_id is not None and rater_id >= 0 and not form.published else None
            create_said(cursor, of, with_marks="file" in form.choices and comments)
            if comments and not names:
                refuse_names(cursor, shown=not blind)
        wanted = WorkspaceContent(
            cursor,
            partial,
            rater_id,
            progress or silent,
            target.name,
            setting,
            only_kept,
            truth,
            corpus,
            pseudonyms=pseudonyms,
            without_replies=without_replies,
            with_withdrawn=with_withdrawn,
            of_view=view is not None,
            dry_run=dry_run,
            question=None if question is None else named_question(question),
            decided_by=decided_by,
            shown_run=run_id,
            comments=comments,
            file=file,
            every_item=chosen_items is None and split is None,
        )
        with workspace.limited_memory(_MEMORY):
            written = _write(form, wanted)
        left = count_withdrawn(cursor) if form.choices & {"study", "withdrawn"} and not with_withdrawn else 0
        cursor.execute("COMMIT")
        if not dry_run:
            _put_in_place(partial, target)
    except OSError as error:
        raise ExportFailed(
            "Cannot write",
            f"{target}: {error.strerror or error}. Nothing was written.",
            "Make room there, or choose another place.",
        ) from error
    finally:
        cursor.close()
        _remove(partial)
        nowhere.close()
    return ExportReport(
        str(destination),
        form.name,
        form.folder,
        name,
        written.records,
        written.left_out,
        written.others,
        setting,
        None if sample is None else len(sample.item_ids),
        None if sample is None else sample.strata_as_json(),
        study,
        pseudonyms or (not names and (study is not None or form.published)),
        left,
        split,
        () if truth is None else truth.parts,
        None if truth is None or truth.split is None else truth.split.digest,
        None if truth is None else truth.changes,
        written.names_left,
        None if view is None else view.name,
        dry_run,
        written.estimated,
        panel,
        written.labelled,
        written.unread,
        written.file,
        written.added,
        written.why,
    )


_CHOICES: dict[Choice, tuple[str, str]] = {
    "rater": ("does not hold the labels of one rater", "Leave --rater out; such labels: --format labels"),
    "setting": ("knows no settings", "Leave --setting out."),
    "only_kept": ("does not choose by what a rater keeps", "Leave --only-kept out."),
    "sample": ("does not choose pairs", "Leave --sample-pairs out."),
    "policy": ("holds no labels of one rater or policy", "Leave --policy out."),
    "question": ("is not about one question", "Leave --question out, or name a --policy."),
    "split": ("holds no labelled items", "Leave --split out; a format that does: --format parquet"),
    "corpus": ("is no retrieval benchmark", "Leave --corpus out, or use --format beir"),
    "study": ("holds no labels of a study", "Leave --study out; labels of any kind: --format labels"),
    "withdrawn": (
        "does not hold the full record",
        "Leave --with-withdrawn out, or write the record: --format jsonl",
    ),
    "pseudonyms": (
        "does not hold the whole workspace",
        "Leave --pseudonyms out, and use --study; or write all of it: --format bundle",
    ),
    "without_replies": (
        "does not hold the whole workspace",
        "Leave --without-replies out, or write all of it: --format bundle",
    ),
    "comments": (
        "holds no comments, or as the full record all of them",
        "Leave --comments out; a format with comments: --format csv",
    ),
    "file": ("gives no imported file back", "Leave --file out, or use --format csv, parquet or xlsx."),
}


def _check_choices(form: Format, chosen: Mapping[Choice, bool]) -> None:
    for choice, given in chosen.items():
        if given and choice not in form.choices:
            said, hint = _CHOICES[choice]
            raise ExportFailed(
                "Not of this format", f"The format {form.name} {said}. Nothing was written.", hint
            )
    if chosen["withdrawn"] and chosen["rater"]:
        said, hint = _CHOICES["withdrawn"]
        raise ExportFailed("Not of this format", f"An export with --rater {said}. Nothing was written.", hint)
    if chosen["only_kept"] and not (chosen["rater"] or chosen["policy"]):
        raise ExportFailed(
            "Rater missing",
            "--only-kept needs the rater whose labels count, or a policy.",
            "Give one: --rater NAME, or --policy adjudicated",
        )


def _check_split(
    rater: str | None,
    policy: str | None,
    split: str | None,
    part: str | None,
    sample: ItemSample | None,
    *,
    now: bool,
) -> None:
    if rater is not None and policy is not None:
        raise ExportFailed(
            "Rater or policy", "--rater and --policy both say whose labels are written.", "Give one of them."
        )
    if split is None and (part is not None or now):
        raise ExportFailed("Which split?", "--part and --now belong to a split.", "Name it: --split NAME")
    if split is not None and sample is not None:
        raise ExportFailed("Split or sample", "A split says which items are written.", "Give one of them.")


def _writable(name: str, rater: str | None) -> Format:
    form = find_format(name)
    if form.write is None:
        able = ", ".join(sorted(known.name for known in formats().values() if known.write is not None))
        raise UnknownName(
            "Cannot be written", f"The format {name} can only be read.", f"Formats to write: {able}."
        )
    if form.needs_rater and rater is None:
        raise ExportFailed(
            "Rater missing",
            f"{name} holds one label an item, of one rater.",
            "Name the rater: --rater NAME; or write every judgment: --format jsonl",
        )
    return form


def _decided_by(
    connection: Connection, whose: RaterRef | None, truth: TrueLabels | None
) -> tuple[UUID | None, str]:
    """Return the run whose labels are the agents' in a table, and what it says of labels that were named."""
    shown = shown_by_kind(connection, Scope()).get(PAIR.name)
    run = None if shown is None else shown.id
    if whose is None and (truth is None or truth.name in POLICIES):
        return run, "" if truth is None else truth.name
    if whose is None:
        assert truth is not None
        whose = rater_or_run(connection, truth.name)
    if whose.kind == "agent":
        run = next((one.id for one in all_runs(connection) if one.rater_id == whose.id), None)
    return run, {"human": "expert", "agent": "agents"}.get(whose.kind, "imported")


def _agents_of_run(connection: Connection, name: str | None) -> RaterRef:
    """Return the rater of the named run, or of the one whose labels are shown where none is named.

    Raises:
        ExportFailed: There is no run, or one is shown of each of several kinds.
        UnknownName: There is none of that name.
    """
    runs = all_runs(connection)
    if not runs:
        raise ExportFailed(
            "Nothing to export", "No agents have worked here yet.", "Run them: workbench annotate WORKSPACE"
        )
    if name is None:
        shown = shown_by_kind(connection, Scope())
        if len(shown) > 1:
            names = ", ".join(f"{run.name} ({kind})" for kind, run in shown.items())
            raise ExportFailed("Which run", f"Several are shown: {names}.", "Name one: --run NAME")
        # Before its first label no run is shown.
        name = str(next(iter(shown.values())).id if shown else runs[0].id)
    run = named_run(runs, name)
    return RaterRef(run.rater_id, "agent", run.name)


def _check(target: Path, form: Format, *, overwrite: bool) -> None:
    try:
        str(target).encode()
    except UnicodeEncodeError as error:
        raise ExportFailed("Not a name", f"{target} is no UTF-8.", "Choose another name.") from error
    if not is_folder(target.parent):
        raise ExportFailed("No such folder", f"{target.parent} is not a folder.", "Make it first.")
    if not is_there(target):
        return
    if not overwrite:
        raise ExportFailed("Already there", f"{target} exists.", "Choose another name, or use --overwrite.")
    if not (target.is_file() or target.is_dir()):
        raise ExportFailed(
            "Not a file",
            f"{target} is neither a file nor a folder.",
            "Choose the name of a file, or a new name.",
        )
    if target.is_dir() != form.folder:
        what = "a folder" if form.folder else "a file"
        raise ExportFailed(
            "Already there", f"{form.name} writes {what}, which {target} is not.", "Choose another name."
        )


def _write(form: Format, wanted: WorkspaceContent) -> WriteResult:
    assert form.write is not None
    try:
        return form.write(wanted)
    except Counted as counted:
        return counted.result
    except duckdb.Error as error:
        raise ExportFailed(
            "Cannot write", f"{error}. Nothing was written.", "Make room there, or choose another place."
        ) from error


def _put_in_place(partial: Path, target: Path) -> None:
    """Move the written files to their destination; a folder only replaces one with files of these names.

    Raises:
        ExportFailed: The folder holds others, which would be lost.
    """
    if not partial.is_dir() or not target.exists():
        os.replace(partial, target)
        return
    written = {child.relative_to(partial) for child in partial.rglob("*")}
    there = {child.relative_to(target) for child in target.rglob("*")}
    if others := sorted(map(str, there - written)):
        raise ExportFailed(
            "Folder in use", f"{target} also holds {', '.join(others[:3])}.", "Choose an empty folder."
        )
    # By two renames, so that old and new files are never mixed, and both exist until all is in place.
    replaced = target.with_name(f".{target.name}.{os.getpid()}.old")
    os.replace(target, replaced)
    try:
        os.replace(partial, target)
    except OSError:
        os.replace(replaced, target)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


def _remove(partial: Path) -> None:
    # A name that is too long is no file's.
    with suppress(OSError):
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink()
