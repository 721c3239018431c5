"""Completions straight from files, each joined with its task, without a workspace."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from store.errors import ImportFailed
from store.formats.crosscodeeval import CROSSCODEEVAL
from store.formats.crosscodeeval import language as language_of_task
from store.formats.predictions import PREDICTIONS, WITHIN
from store.formats.protocol import Entity
from store.ingest.plain_files import plain_files

NO_TASK = "whose task is not among the tasks"
NO_PROMPT = "whose prompt is not known"
SEVERAL = "whose reference several tasks with different prompts have"
OTHER_LANGUAGE = "in another language"


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """A completion of a file that can be scored.

    Attributes:
        number: Its place in the file, from 0.
        task: The same for completions of one task in several files: its id, or its reference where that is
            not known, and which of the completions of the task in its file it is, from 0: by the ends of
            their prompts, before which context may stand, then by their trials.
        prompt: What was completed; empty where it is not known and not needed.
    """

    number: int
    task: tuple[str, int]
    prompt: str
    reference: str
    text: str


@dataclass(slots=True)
class PredictionFile:
    """The completions of one model in one setting, of a file.

    Attributes:
        name: That of the file; of several in it with model and setting.
        model: The model, as rows or the file's name say it; `setting` likewise.
        left_out: How many rows cannot be scored, by why.
        missing: How many tasks of the language have no completion in the file.
    """

    name: str
    model: str = ""
    setting: str = ""
    rows: list[PredictionRow] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    missing: int = 0


@dataclass(frozen=True, slots=True)
class _Task:
    name: str
    prompt: str
    reference: str


class _Tasks:
    """Tasks by their ids, and by their references and prompts."""

    def __init__(self) -> None:
        self._by_id: dict[str, _Task] = {}
        self._by_reference: dict[str, dict[str, _Task]] = {}

    def add(self, task: _Task) -> None:
        self._by_id.setdefault(task.name, task)
        self._by_reference.setdefault(task.reference, {}).setdefault(task.prompt, task)

    def without(self, names: Collection[str], references: Collection[object]) -> int:
        """Return how many tasks have neither one of these ids nor one of these references."""
        return sum(
            name not in names and task.reference not in references for name, task in self._by_id.items()
        )

    def task_of(self, response: Entity, language: str) -> _Task | str:
        """Return the task of a completion, or why there is none with which it can be scored."""
        name, extra = response.fields["item"], response.extra
        if name is not None and name in self._by_id:
            return self._by_id[name]
        prompt, reference = extra.get("prompt"), response.fields["reference"] or extra.get("groundtruth")
        if not isinstance(reference, str):
            return NO_TASK
        found = self._by_reference.get(reference, {})
        if isinstance(prompt, str):
            return found.get(prompt) or _Task(name or reference, prompt, reference)
        # A row that names a task is of no other one, however equal their references.
        if name is None and len(found) == 1:
            return next(iter(found.values()))
        # Only in Python the end of the first statement depends on what is before it.
        if language != "python":
            return _Task(name or reference, "", reference)
        if name is not None:
            return NO_TASK
        return SEVERAL if found else NO_PROMPT


def read_completions(paths: Sequence[Path], language: str) -> list[PredictionFile]:
    """Read files of completions, and of their tasks among them.

    A completion is joined with its task by the task's id, otherwise by the reference.

    Args:
        paths: The files, of tasks (CrossCodeEval) or of completions; which of the two their content shows.
        language: The language of the completions; tasks of other languages are not looked at.

    Returns:
        The files of completions, in order.

    Raises:
        ImportFailed: A file or a record cannot be read, or no file holds completions.
    """
    tasks = _Tasks()
    responses: dict[str, list[tuple[int, Entity]]] = {}
    if len({Path(path).resolve() for path in paths}) < len(paths):
        raise ImportFailed("Given twice", "One of the files is given twice.", "Name each file once.")
    with plain_files(paths) as files:
        for given in files.inputs:
            if given.format is PREDICTIONS:
                responses[str(given.file.path)] = []
            elif given.format is not CROSSCODEEVAL:
                raise ImportFailed(
                    "No completions",
                    f"{given.file.name} is of the format {given.format.name}, which holds no completions.",
                    "Give files of completions (groundtruth, prediction; or task_id, pred), and their tasks.",
                )
        for given, raw, made in files:
            for one in made:
                if one.sort == "response":
                    responses[str(given.file.path)].append((raw.number - 1, one))
                elif one.sort == "completion" and (one.fields["language"] or language).lower() == language:
                    tasks.add(_Task(*(one.fields[part] for part in ("external_id", "prompt", "reference"))))
    if not responses:
        raise ImportFailed(
            "No completions",
            "The files hold tasks, and no completions of them.",
            "Give files of completions, too: workbench measure completion TASKS PREDICTIONS --language L",
        )
    names = {path: Path(path).name for path in responses}
    if len(set(names.values())) < len(names):
        names = {path: path for path in names}
    parts = []
    for path, rows in responses.items():
        of_file = defaultdict[tuple[str, str], list[tuple[int, Entity]]](list)
        for number, one in rows:
            of_file[one.fields["model"], one.fields["setting"] or ""].append((number, one))
        for (model, setting), own in of_file.items():
            name = names[path]
            if len(of_file) > 1:
                name = " · ".join(filter(None, (name, model, setting)))
            parts.append(_joined(PredictionFile(name, model, setting), own, tasks, language))
    return parts


def _joined(
    found: PredictionFile, rows: list[tuple[int, Entity]], tasks: _Tasks, language: str
) -> PredictionFile:
    by_task = defaultdict[str, list[tuple[_Task, int, Entity]]](list)
    references = set()
    for number, response in rows:
        task = OTHER_LANGUAGE if _is_other(response, language) else tasks.task_of(response, language)
        if isinstance(task, str):
            found.left_out[task] += 1
            continue
        by_task[task.name].append((task, number, response))
        if response.fields["item"] is None:
            references.add(response.fields["reference"])
    for name, own in by_task.items():
        own.sort(key=lambda one: (one[0].prompt[::-1], one[2].fields["trial"] or 0, one[1]))
        for which, (task, number, response) in enumerate(own):
            text = response.fields["text"]
            found.rows.append(PredictionRow(number, (name, which), task.prompt, task.reference, text))
    found.rows.sort(key=lambda row: row.number)
    found.missing = tasks.without(by_task, references)
    return found


def _is_other(response: Entity, language: str) -> bool:
    """Return whether a completion says that it is in another language: itself, or by the id of its task."""
    told = response.extra.get(WITHIN)
    if not isinstance(told, str) or not told:
        told = language_of_task(response.fields["item"] or "", None)
    return told is not None and told.lower() != language
