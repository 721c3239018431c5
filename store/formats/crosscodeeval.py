"""CrossCodeEval: completion tasks with code of other files.

The fields are those of the published files (Ding et al., NeurIPS 2023, Appendix B). Lines count from 0
there, and stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from store.errors import ExportFailed
from store.formats.fields import recognized_by
from store.formats.protocol import JSON, Entity, Export, FileContext, Format, WriteResult, bare_name
from store.formats.record_reader import RecordReader, put_back
from store.kinds.completion import COMPLETION, KEEP
from store.measures.completion import LANGUAGES

_ENDINGS = {
    ".py": "python",
    ".pyi": "python",
    ".cs": "csharp",
    ".java": "java",
    ".ts": "typescript",
    ".tsx": "typescript",
}
_SLASHES = ("csharp", "java", "typescript")
_TEXT = "crossfile_context.text"
"""The extra field of a first chunk that holds the text of all, where that is none that can be made again."""

_SETTING = "line_completion"
"""The prefix of CrossCodeEval's own file names; the rest says how context was retrieved."""


def parse_stem(stem: str) -> tuple[str, str]:
    """Return the model and the setting in a file's name.

    `python.StarCoder-1B.line_completion_rg1_bm25` has the model StarCoder-1B and the setting
    line_completion_rg1_bm25; any other name is the model's as a whole.
    """
    *before, last = stem.split(".")
    if not last.startswith(_SETTING):
        return stem, ""
    if len(before) > 1 and before[0] in LANGUAGES:
        before = before[1:]
    return ".".join(before) or stem, last


def language(task_id: str, path: str | None) -> str | None:
    """Return the language in a task's id (`project_cc_python/62`), else its file's ending."""
    for name in LANGUAGES:
        if task_id.startswith(f"project_cc_{name}/"):
            return name
    return _ENDINGS.get(PurePosixPath(path or "").suffix.lower())


class Tasks:
    """Makes completions and their chunks of CrossCodeEval's tasks."""

    def __init__(self, known: FileContext) -> None:
        self.counts: dict[str, int] = {}
        self._setting = known.setting or parse_stem(known.stem)[1]

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return a task and its chunks.

        Raises:
            Refused: A field is missing or of the wrong type.
        """
        whole = RecordReader(record)
        prompt = whole.text("prompt", required=True)
        reference = whole.text("groundtruth", required=True, filled=True)
        right_context = whole.text("right_context") or ""
        metadata = whole.object("metadata", required=True)
        task_id = metadata.identity("task_id", required=True) or ""
        path = metadata.text("file")
        fields: dict[str, Any] = {
            "external_id": task_id,
            "language": metadata.text("language", short=True) or language(task_id, path),
            "repository": metadata.text("repository", short=True),
            "path": path,
            "prompt": prompt,
            "reference": reference,
            "right_context": right_context,
            "prompt_line": metadata.whole("context_start_lineno"),
            "reference_line": metadata.whole("groundtruth_start_lineno"),
            "right_context_line": metadata.whole("right_context_start_lineno"),
        }
        retrieved = whole.object("crossfile_context")
        setting = retrieved.text("setting", short=True)
        chunks = [
            _made_chunk(rank, chunk, task_id, self._setting if setting is None else setting)
            for rank, chunk in enumerate(retrieved.objects("list"), start=1)
        ]
        if not chunks or _TEXT in chunks[0].extra:
            retrieved.kept("text")
        elif (text := retrieved.text("text")) not in (None, context(fields["language"], chunks)):
            chunks[0] = replace(chunks[0], extra={**chunks[0].extra, _TEXT: text})
        extra = whole.rest()
        if not chunks and isinstance(found := record.get("crossfile_context"), dict):
            # Nothing was retrieved, or nobody looked: which of the two only the field itself says.
            extra["crossfile_context"] = found
        return [Entity("completion", fields, extra), *chunks]


def _made_chunk(rank: int, chunk: RecordReader, task_id: str, setting: str) -> Entity:
    fields = {
        "kind": "completion",
        "item": task_id,
        "setting": setting,
        "rank": rank,
        "path": chunk.text("filename"),
        "text": chunk.text("retrieved_chunk", required=True),
        "score": chunk.number("score"),
    }
    return Entity("chunk", fields, chunk.take_rest())


def context(language: str | None, chunks: Sequence[Entity]) -> str:
    """Return the text of some chunks as the published files give it to models: comments of the language."""
    return context_text(language, [(chunk.fields["path"] or "", chunk.fields["text"]) for chunk in chunks])


def context_text(language: str | None, pieces: Sequence[tuple[str, str]]) -> str:
    """Return the text of some pieces, given as path and text; see `context`."""
    sign = "//" if language in _SLASHES else "#"
    parts = [f"{sign} Here are some relevant code fragments from other files of the repo:\n\n"]
    for path, text in pieces:
        lines = [path, *text.split("\n")]
        parts += [f"{sign} the below code fragment can be found in:\n"]
        parts += [f"{sign} {line}\n" for line in lines] + ["\n"]
    return "".join(parts)


def write_task(task: Entity, chunks: Sequence[Entity], stem: str = "") -> dict[str, Any]:
    """Return the CrossCodeEval record of a task.

    The chunks are of one setting, by rank. The stem is the file's name without endings, which may tell a
    setting.
    """
    fields = task.fields
    metadata = {
        "task_id": fields["external_id"],
        "repository": fields["repository"],
        "file": fields["path"],
        "context_start_lineno": fields["prompt_line"],
        "groundtruth_start_lineno": fields["reference_line"],
        "right_context_start_lineno": fields["right_context_line"],
    }
    if fields["language"] != language(fields["external_id"], fields["path"]):
        metadata["language"] = fields["language"]
    record: dict[str, Any] = {
        "prompt": fields["prompt"],
        "groundtruth": fields["reference"],
        "right_context": fields["right_context"],
        "metadata": {name: value for name, value in metadata.items() if value is not None},
    }
    if chunks:
        found = record["crossfile_context"] = {"list": [_chunk(chunk) for chunk in chunks]}
        # Said also where the file's name tells it, since files are renamed.
        if chunks[0].fields["setting"] or parse_stem(stem)[1]:
            found["setting"] = chunks[0].fields["setting"]
        of_task = task.extra.get("crossfile_context") or {}
        if not of_task.get("text"):
            found["text"] = chunks[0].extra.get(_TEXT, context(fields["language"], chunks))
    return put_back(record, task.extra)


def _chunk(chunk: Entity) -> dict[str, Any]:
    named = {"retrieved_chunk": "text", "filename": "path", "score": "score"}
    found = {ours: chunk.fields[name] for ours, name in named.items() if chunk.fields[name] is not None}
    return put_back(found, {name: value for name, value in chunk.extra.items() if name != _TEXT})


_KEPT = 1.0
"""The answer to `completion.keep` that an example stays in the dataset."""


def write_tasks(export: Export) -> WriteResult:
    """Write completion tasks as CrossCodeEval has them, each with the context of one setting.

    With a rater, each has that rater's answers under `annotation`: the sign of the value by what was asked.
    """
    settings = export.settings("completion")
    if export.setting is None and len(settings) > 1:
        named = ", ".join(repr(name) for name in settings)
        raise ExportFailed(
            "Which context?",
            f"A task holds the context of one setting, and there are {len(settings)}: {named}.",
            "Name one: --setting NAME",
        )
    kept = " that the rater keeps" if export.only_kept else ""
    return export.write_lines(_tasks(export), "completion", f"There are no completions{kept}.")


def _tasks(export: Export) -> Iterator[Mapping[str, Any] | None]:
    answers = export.answers("completion") if export.rater_id is not None else {}
    stem = bare_name(export.name)
    titles = {spec.name: (spec.name.rpartition(".")[2], spec.scale) for spec in COMPLETION.questions}
    for entry in export.items("completion", chunks=True):
        values = answers.get(entry.item_id, {})
        if export.only_kept and values.get(KEEP.name) != _KEPT:
            yield None
            continue
        task = write_task(entry.item, [*filter(export.wanted, entry.chunks)], stem)
        if export.rater_id is not None:
            signs = {
                word: next((each.sign for each in scale.values if each.value == values.get(name)), None)
                for name, (word, scale) in titles.items()
            }
            task["annotation"] = {word: sign for word, sign in signs.items() if sign is not None}
        yield task


CROSSCODEEVAL = Format(
    name="crosscodeeval",
    description="completion tasks: prompt, groundtruth, right_context, metadata, crossfile_context",
    containers=JSON,
    layouts=(recognized_by("completion", prompt="text", groundtruth="text", metadata="object"),),
    converter=Tasks,
    write=write_tasks,
    carries="Completion tasks with their context, as CrossCodeEval has them.",
    kept=KEEP.name,
    choices=frozenset({"rater", "policy", "setting", "only_kept", "split"}),
    holds=("completion", "completions"),
    leaves_out=("completion without the label to keep it", "completions without the label to keep them"),
)
