"""Stages: the named tables of an import between the staged and the published rows.

Each stage declares its columns and the other stages that it is made from, beside tables of the workspace and
staged records; a statement that names others, or lacks a column, fails. Stages of shared texts depend on the
installed kinds, and are declared in `resolve_items`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import duckdb

_WORD = re.compile(r"[a-z0-9_]+")
_NAMES: set[str] = set()


@dataclass(frozen=True, slots=True)
class Stage:
    """A temporary table or view of one import.

    Attributes:
        columns: Its columns, in order.
        inputs: The stages that it is made from, beside tables of the workspace and staged records.
    """

    name: str
    columns: tuple[str, ...]
    inputs: tuple[Stage, ...] = ()
    view: bool = False

    def __post_init__(self) -> None:
        """Note the name, so that other stages have to declare it."""
        _NAMES.add(self.name)

    def fill(
        self,
        cursor: duckdb.DuckDBPyConnection,
        select: str,
        values: dict[str, Any] | None = None,
        further: Iterable[Stage] = (),
    ) -> None:
        """Make the stage.

        The rows may have further columns. Further inputs depend on the installed kinds.

        Raises:
            ValueError: The SELECT names a stage that is none of the inputs.
        """
        declared = {self.name, *(stage.name for stage in (*self.inputs, *further))}
        if strange := (_NAMES & set(_WORD.findall(select))) - declared:
            raise ValueError(f"the stage {self.name} is made from {', '.join(sorted(strange))}, undeclared")
        created = f"CREATE OR REPLACE TEMP {'VIEW' if self.view else 'TABLE'} {self.name}"
        cursor.execute(f"{created} AS SELECT {', '.join(self.columns)} FROM ({select})", values)


_ITEM = (
    *("kind", "position", "file", "number", "line", "external_id", "extra", "label", "relevance"),
    *("group_id", "content_hash", "known", "known_hash", "known_extra"),
)
_RESPONSE = ("item_id", "model", "setting", "trial")

REFERRED_TEXT = Stage("referred_text", ("key", "text", "torn"))
"""The text that is known by a reference, and whether it was given twice, differently."""

NEW_ITEM = Stage("new_item", _ITEM)
"""Every staged item, with the key of the group that it belongs to, and the item that has its id already."""

REPEATED_ITEM = Stage("repeated_item", ("kind", "external_id", "first", "content_hash"), (NEW_ITEM,))
"""Ids that occur several times in the import, with the first place of each."""

FRESH_ITEM = Stage("fresh_item", ("id", *_ITEM), (NEW_ITEM, REPEATED_ITEM), view=True)
"""Items that are published, each once."""

STAGED_KEY = Stage("staged_key", ("item_id", *_ITEM), (NEW_ITEM, REPEATED_ITEM), view=True)
"""Every staged item with its key."""

ITEM_KEY = Stage("item_key", ("kind", "external_id", "id", "content_hash"), (FRESH_ITEM,), view=True)
"""Every item of the import and of the workspace."""

JOIN_CANDIDATE = Stage("join_candidate", ("kind", "key", "within", "ends", "item_id"), (FRESH_ITEM,))
"""The items that a response without an item's name could mean."""

JOIN_KEY = Stage("join_key", ("kind", "key", "within", "ends", "item_id"), (JOIN_CANDIDATE,))
"""Those of them that it can only mean."""

NEW_RESPONSE = Stage(
    "new_response",
    (
        *("file", "position", "number", "line", "kind", "external_id", "joined_by", "within", "whose"),
        *(*_RESPONSE, "text", "extra", "known", "known_text", "nth"),
    ),
    (ITEM_KEY, JOIN_KEY),
)
"""Every staged response, with its item where that is here, and the response of the same name."""

FRESH_RESPONSE = Stage("fresh_response", NEW_RESPONSE.columns, (NEW_RESPONSE,))
"""Responses that are published."""

FRESH_PENDING = Stage("fresh_pending", NEW_RESPONSE.columns, (NEW_RESPONSE, JOIN_CANDIDATE))
"""Responses that are stored until their item is imported."""

NEW_SCORE = Stage(
    "new_score",
    (
        *("file", "position", "number", "line", "kind", "external_id", "joined_by", "within", "whose"),
        *(*_RESPONSE, "id", "judge", "measure", "value", "raw", "reason", "extra", "sequence"),
        *("answered", "known_id", "nth"),
    ),
    (ITEM_KEY, JOIN_KEY, FRESH_RESPONSE),
)
"""Every staged score, whether its response is here, and the same score of the workspace."""

NEW_CHUNK = Stage(
    "new_chunk",
    (
        *("file", "position", "number", "line", "item_id", "setting", "rank", "path", "text", "score"),
        *("extra", "digest", "first_digest", "stored_digest", "fresh"),
    ),
    (ITEM_KEY,),
)
"""Every staged piece of context whose item is known, and the pieces of its item under the setting."""

_PENDING = (*_RESPONSE, "pending_id", "source_id", "external_id", "text", "extra", "scores")
MATCHED = Stage("matched", _PENDING, (ITEM_KEY, JOIN_KEY))
"""Pending responses whose item is here now."""

ATTACHED = Stage("attached", _PENDING, (MATCHED, FRESH_RESPONSE))
"""Those of them that become responses of their item: it has none of their name."""

DUPLICATE = Stage("duplicate", ("pending_id",), (MATCHED, ATTACHED, FRESH_RESPONSE))
"""Those that their item has already, and that carry no scores."""

PENDING_SCORE = Stage("pending_score", ("pending_id", *NEW_SCORE.columns), (NEW_SCORE,))
"""New scores of responses that are pending already."""

PRESENT_RESPONSE = Stage("present_response", _RESPONSE, (FRESH_RESPONSE, ATTACHED), view=True)
"""The responses of the workspace after this import."""

ASKED = Stage("asked", ("question", "kind", "allowed", "scale", "base", "model", "setting", "trial"))
"""The questions that staged labels and judgments answer, by readable name, with the values of their scale."""

FILE_RATER = Stage("file_rater", ("file", "rater"))
"""The rater of the labels in each file of items."""

LISTED_COMPARISON = Stage(
    "listed_comparison", ("item_id", "one", "other", "listed_second", "file_order"), (FRESH_ITEM,)
)
"""Every comparison of the import and of the workspace: the names of both candidates, and whether its file
lists the second one first."""

SINGLE_LABEL = Stage(
    "single_label",
    (
        *("position", "file", "number", "line", "external_id", "question", "rater", "value", "comment"),
        *("reason", "shown_as", "phase", "made_at", "item_id", "stated_kind", "given", "favoured"),
        *("candidates", "side_fault"),
    ),
    (ASKED, ITEM_KEY, LISTED_COMPARISON),
)
"""Every staged label that is a record of its own; the value of a comparison from the view of its first
candidate, `given` as the file has it, and in `side_fault` why its side is not known."""

NEW_LABEL = Stage(
    "new_label",
    (
        *(
            *SINGLE_LABEL.columns,
            "allowed",
            "scale",
            "asked_kind",
            "base",
            "model",
            "setting",
            "trial",
            "question_id",
        ),
        *("response_ref_id", "rater_id", "rater_kind"),
    ),
    (SINGLE_LABEL, STAGED_KEY, FILE_RATER, ASKED),
    view=True,
)
"""Every label, those in files of items among them, with the keys of its names."""

HELD_LABEL = Stage(
    "held_label",
    (
        *(
            "item_id",
            "question_id",
            "response_ref_id",
            "rater_id",
            "phase",
            "current_id",
            "current",
            "content",
        ),
        *("made_at", "imported"),
    ),
    (NEW_LABEL,),
)
"""The current label of each key in the workspace, with its time if it is imported, and every imported one."""

REPEATED_LABEL = Stage(
    "repeated_label",
    (
        *("position", "item_id", "question", "rater", "phase", "made_at", "turn", "before"),
        *("content_before", "first_value"),
    ),
    (NEW_LABEL,),
)
"""Labels of keys that have several in the import, in turn, each with the one before it."""

JUDGED_LABEL = Stage(
    "judged_label",
    (
        *(*NEW_LABEL.columns, "first_value", "turn", "held", "current", "current_id", "later", "known"),
        *("supersedes", "fresh"),
    ),
    (NEW_LABEL, HELD_LABEL, REPEATED_LABEL),
    view=True,
)
FRESH_LABEL = Stage("fresh_label", JUDGED_LABEL.columns, (JUDGED_LABEL,), view=True)
"""Labels that are published."""

_RECORD = (
    *("position", "file", "number", "line", "record", "id", "action", "kind", "external_id", "rater"),
    *("rater_kind", "origin", "created_at", "mark", "content_hash", "question", "assignment", "phase"),
    *("value", "supersedes", "target_action", "restores", "shown_verdict", "shown_execution", "guideline"),
    *("blind", "reason", "comment", "evidence", "elapsed_ms", "active_ms", "active", "shown_as"),
    *("allowed", "base", "model", "setting", "trial", "response_ref_id", "item_id", "item_hash"),
    *("question_id", "rater_id", "known_kind", "held", "study", "condition", "study_id"),
)
KEYED_RECORD = Stage("keyed_record", _RECORD, (ASKED, ITEM_KEY))
"""Every staged judgment and mark with the keys of its names, and whether the workspace has it."""

REPEATED_RECORD = Stage("repeated_record", ("id", "first", "differing"), (KEYED_RECORD,))
"""Records that occur several times in the import, the first place of each, and whether they differ."""

NEW_RECORD = Stage("new_record", (*_RECORD, "repeated"), (KEYED_RECORD, REPEATED_RECORD), view=True)
"""The same, and whether a record occurred before in the import."""

TRACED_RUN = Stage(
    "traced_run",
    (
        *("theirs", "ours", "fresh", "first", "torn", "kind", "name", "configuration", "model", "state"),
        *("total", "started_at", "ended_at", "fullness"),
    ),
)
"""Every run of the staged traces, with its key here and whether it is new."""

_TRACED = ("position", "file", "number", "line", "external_id", "id", "run_id", "item_id", "held", "differs")
NEW_STEP = Stage("new_step", (*_TRACED, "role", "attempt"), (TRACED_RUN, ITEM_KEY))
"""Every staged step with its keys, and whether the workspace has it."""

NEW_VERDICT = Stage(
    "new_verdict",
    (*_TRACED, "run", "question_id", "model", "setting", "trial", "value"),
    (TRACED_RUN, ITEM_KEY),
)
"""Every staged verdict, likewise."""
