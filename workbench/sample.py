"""The sample data: its path, the programs that may run without isolation, and whether a workspace has it."""

from __future__ import annotations

import csv
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import WorkbenchError

if TYPE_CHECKING:
    from store.ingest.report import ImportReport
    from store.workspace.duckdb import Workspace

NOTICE = (
    "The agents' replies, the completions, the answers and the scores in the sample were written by hand and "
    "are not a model's output; its models, its judge and its raters are fictional. Test programs are really "
    "executed."
)
IMPORTED = (
    *("pairs.jsonl", "labels.csv"),
    *("completions.jsonl", "predictions.jsonl"),
    *("questions.jsonl", "answers.jsonl"),
    *("comparisons.jsonl", "comparison-labels.csv"),
)
"""The files that are imported: items of every kind, labels of raters, responses of models."""

CORPUS = "corpus.jsonl"
"""The codes of the pairs and more, which `workbench candidates` searches for the queries of the pairs."""

ISSUES = "issues.json"
"""Issues in GitHub's form, of which `workbench collect issues` takes those that can become questions."""

FILES = (
    *(*IMPORTED, CORPUS, ISSUES),
    *("study.json", "study-labels.csv", "practice.json"),
    *("replies.jsonl", "search-replies.jsonl", "question-replies.jsonl"),
    "manifest.json",
)

SEARCH = "write a text in latin letters"
"""The query of a code search for which there are scripted replies."""

WHEELS = "wheels"
"""The folder of the two packages that candidates of the sample lack."""


@cache
def sample_folder() -> Path:
    """Return the folder of the sample data: inside the installed package, or beside it in a checkout.

    Raises:
        WorkbenchError: It is in neither place, or not whole.
    """
    here = Path(__file__).resolve().parent
    for folder in (here / "sample_data", here.parent / "sample_data"):
        if all((folder / name).is_file() for name in FILES):
            return folder
    raise WorkbenchError(
        "No sample data", f"The installation in {here} lacks its sample data.", "Install workbench again."
    )


@cache
def allowed_programs() -> frozenset[str]:
    """Return the digests of the shipped test programs, which alone may run without isolation unasked."""
    try:
        manifest = json.loads((sample_folder() / "manifest.json").read_text(encoding="utf-8"))
        return frozenset(manifest["programs"])
    except (WorkbenchError, OSError, ValueError, KeyError):
        # Without a readable manifest nothing is known to be harmless.
        return frozenset()


@cache
def sample_raters() -> tuple[str, ...]:
    """Return the names of the invented raters."""
    with (sample_folder() / "labels.csv").open(encoding="utf-8", newline="") as file:
        return tuple(sorted({row["rater"] for row in csv.DictReader(file)}))


def scripted_model() -> str:
    """Return the name of the model that answers with the sample's replies."""
    return f"scripted:{sample_folder() / 'replies.jsonl'}"


def searching_model() -> str:
    """Return the name of the model that answers in the sample's code search."""
    return f"scripted:{sample_folder() / 'search-replies.jsonl'}"


def writing_model() -> str:
    """Return the name of the model that writes questions from the sample's issues."""
    return f"scripted:{sample_folder() / 'question-replies.jsonl'}"


def import_sample(workspace: Workspace) -> ImportReport:
    """Import the sample's items, labels, responses and codes, collect its issues, and make its study.

    Nothing is added twice.

    Args:
        workspace: The open workspace.

    Returns:
        What was imported, the codes left out.
    """
    from store.ingest.importing import import_files
    from store.record.raters import register_kinds
    from workbench.sample_study import load_sample_study

    folder = sample_folder()
    report = import_files(workspace, [folder / name for name in IMPORTED])
    import_files(workspace, [folder / CORPUS])
    register_kinds(workspace)
    load_sample_study(workspace, folder)
    _collect_issues(workspace, folder / ISSUES)
    return report


def _collect_issues(workspace: Workspace, file: Path) -> None:
    """Collect the sample's issues, unless that was done before."""
    from agents.collection.issues import IssueCollection, IssueRequest
    from agents.jobs.runner import run_work
    from agents.jobs.work import WorkSettings
    from agents.llm.settings import ModelSettings
    from agents.retrieval.settings import RetrievalSettings
    from store.kinds.answer import COLLECTION
    from store.queries.works import listed_works

    with workspace.reading() as connection:
        if any(work.state == "done" for work in listed_works(connection, COLLECTION)):
            return
    settings = WorkSettings(ModelSettings(), RetrievalSettings())
    work = IssueCollection(IssueRequest((str(file),)), settings)
    job = run_work(workspace, work, lambda _: None)
    if job.error is not None:
        raise job.error


def holds_sample(workspace: Workspace) -> bool:
    """Return whether a workspace holds the sample's pairs."""
    from store.queries.sources import has_file

    digest = hashlib.sha256((sample_folder() / "pairs.jsonl").read_bytes()).hexdigest()
    with workspace.reading() as connection:
        return has_file(connection, digest)
