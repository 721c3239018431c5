"""A typist who presses keys at random, and a reader of the screen who says what each of them has to record.

`type_at_random` drives the app over a workspace of all four kinds: a rater who sees everything, one who is blind,
one of sealed studies, each beside a job and an import. What was on the screen at a key is read from the rows that the
terminal gets (`Seen`); what the key stands for there is in `expected` and the tables of keys below, which are
written by hand and share nothing with the app. All that is recorded is read from the tables by plain SQL.

The texts of an item name it: `markq2` is in each of the second question, `markq2b` in the answer of model b to it.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apps import context_of
from judging import Desk
from made_once import copied
from settling import settled
from small_workspace import labelled_by_agents
from study_app import rater_app
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from agents.jobs.job import JobRequest
from agents.settings import JobSettings
from screens.app import WorkbenchApp
from store.errors import WorkbenchError
from store.ingest.importing import import_files
from store.queries.studies import ChosenItem
from store.record.protocol import StudyProtocol
from store.record.raters import ensure_rater, register_kinds
from store.studies.studies import freeze_study, new_study
from store.workspace.duckdb import Workspace

# -- the workspace -----------------------------------------------------------------------------------------------

COUNTS = {"p": 6, "c": 3, "q": 3, "d": 5}
"""Items of each kind: pairs, completions, repository questions, comparisons."""
MODELS = "ab"
DIMENSIONS = ("accuracy", "completeness", "relevance", "clarity")
ADDED = "more.jsonl"
"""The file that is imported meanwhile; its name is among the texts that are typed."""


def _lines(words: str, mark: str, count: int = 6) -> str:
    return "".join(f"{words} {line} {mark}\n" for line in range(count))


def _numbers(kind: str) -> range:
    return range(1, COUNTS[kind] + 1)


def _records() -> dict[str, list[dict[str, Any]]]:
    judged = [{"judge": "judge", "measure": one, "score": 5, "reason": "so so"} for one in DIMENSIONS]
    responses = [(number, model) for number in _numbers("q") for model in MODELS]
    return {
        "pairs": [_pair(number) for number in _numbers("p")],
        "tasks": [
            {
                "prompt": f"{_lines('# before', f'markc{number}')}value = ",
                "groundtruth": f"total()  # markc{number}",
                "right_context": f"\n{_lines('# after', f'markc{number}', 2)}",
                "metadata": {"task_id": f"c{number}", "repository": "own", "file": "main.py"},
                "crossfile_context": {
                    "text": "",
                    "list": [{"retrieved_chunk": f"total = 1  # markc{number}", "filename": "lib.py", "score": 1.5}],
                },
            }
            for number in _numbers("c")
        ],
        "predictions": [
            {"task_id": f"c{number}", "pred": f"total()  # markc{number}{model}", "model": f"model-{model}"}
            for number in _numbers("c")
            for model in MODELS
        ],
        "questions": [
            {"id": f"q{number}", "question": f"How is it? markq{number}", "answer": f"So. markq{number}"}
            for number in _numbers("q")
        ],
        "answers": [
            {
                "question_id": f"q{number}",
                "model": f"model-{model}",
                "answer": _lines("It is so.\n\nAnd", f"markq{number}{model}"),
                **({"scores": judged} if number == 1 else {}),
            }
            for number, model in responses
        ],
        "comparisons": [
            {
                "id": f"d{number}", "prompt": f"do the thing markd{number}", "language": "python",
                "first": _lines("one()  #", f"markd{number}a"), "second": _lines("two()  #", f"markd{number}b"),
                "first_name": "alpha", "second_name": "omega", "seed": "1", "about": "codes",
            }
            for number in _numbers("d")
        ],
    }  # fmt: skip


def _pair(number: int) -> dict[str, Any]:
    mark = f"markp{number}"
    return {
        "id": f"p{number}",
        "query": f"query {(number + 1) // 2} {mark}",
        "code": _lines("step()  #", mark),
    }


def _write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def _make(folder: Path) -> Workspace:
    workspace = Workspace.create(folder / "typed.duckdb")
    register_kinds(workspace)
    import_files(workspace, [_write(folder / f"{name}.jsonl", of) for name, of in _records().items()])
    labelled_by_agents(workspace, [(1, 1.0, "screened"), (2, 0.0, "screened"), (3, 1.0, "screened")])
    for rater, value in (("ben", 1.0), ("chi", 0.0)):
        desk = Desk(workspace, rater)
        for item in (1, 2, 4):
            desk.judge(item, value)
    for kind, numbers in _items(workspace).items():
        conditions = ("blind", "own-test") if kind == "pair" else ("blind",)
        repeats = 2 if kind in ("pair", "comparison") else 0
        protocol = StudyProtocol(kind, coordinators=("dana",), conditions=conditions, repeats=repeats, seed=3)
        new_study(workspace, f"study-{kind}", protocol, [ChosenItem(one) for one in numbers], ("ana", "ben"))
        freeze_study(workspace, f"study-{kind}")
    return workspace


def _items(workspace: Workspace) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, kind in _rows(workspace, "SELECT id, kind FROM item ORDER BY id"):
        found.setdefault(kind, []).append(number)
    return found


def _rows(workspace: Workspace, query: str, *values: Any) -> list[tuple[Any, ...]]:
    cursor = workspace.native()
    try:
        return cursor.execute(query, values).fetchall()
    finally:
        cursor.close()


# -- what is on the screen ---------------------------------------------------------------------------------------

QUESTIONS = {
    "Does the reference use": ("completion.cross_file", "abc"),
    "Could you write the reference": ("completion.predictable", "abc"),
    "Keep this example": ("completion.keep", "abc"),
    "Accuracy:": ("answer.accuracy", "1234567890"),
    "Completeness:": ("answer.completeness", "1234567890"),
    "Relevance:": ("answer.relevance", "1234567890"),
    "Clarity:": ("answer.clarity", "1234567890"),
    "Which one satisfies": ("comparison.preference", "12345"),
}
"""By the words that stand above the item: the question, and its keys in the order of its values, from 1."""

ANSWERS = {"pair.match": "01", **dict(QUESTIONS.values())}
"""The keys of each question."""

PREFERENCES = {"1": 2.0, "2": 1.0, "3": 0.0, "4": -1.0, "5": -2.0}
"""What the keys of a comparison say of the candidate on the left."""


@dataclass(frozen=True)
class Seen:
    """What the rows of the terminal show.

    Attributes:
        screen: The name of the screen on top.
        rows: The rows.
        top: What stands above the item: question, claim and own label.
        message: The line that says what happened.
        keys: The line of keys.
        written: The text of the line that has the focus; None where none has.
        line: The name of that line.
    """

    screen: str
    rows: tuple[str, ...]
    top: str
    message: str
    keys: str
    written: str | None
    line: str

    @classmethod
    def now(cls, app: WorkbenchApp) -> Seen:
        """Read the screen."""
        rows = tuple(strip.text for strip in app.screen._compositor.render_strips(app.size))

        def part(*selectors: str) -> str:
            found = [one for selector in selectors for one in app.screen.query(selector) if one.display]
            regions = [one.region for one in found]
            return "\n".join(row for at in regions for row in rows[at.y : at.bottom])

        focus = app.screen.focused
        written = (
            focus.value if isinstance(focus, Input) else focus.text if isinstance(focus, TextArea) else None
        )
        screen = type(app.screen).__name__
        top = part("ClaimLine", "#raters")
        return cls(
            screen,
            rows,
            top,
            part("MessageLine").strip(),
            part("KeyLine"),
            written,
            getattr(focus, "id", None) or "",
        )

    @property
    def text(self) -> str:
        """All rows."""
        return "\n".join(self.rows)

    @property
    def item(self) -> str:
        """The item that the uppermost text names, as `q2`; empty for none."""
        found = re.search(r"mark([pcqd]\d+)", "\n".join(self.rows[1:-4]))
        return found[1] if found else ""

    @property
    def question(self) -> str:
        """The question that is asked."""
        if self.item.startswith("p"):
            return "pair.match"
        return next((name for words, (name, _) in QUESTIONS.items() if words in self.top), "")

    @property
    def about(self) -> str:
        """The response that the question is about: A of "answer A"; empty for none."""
        found = re.search(r"answer ([A-Z]) ·", self.top)
        return found[1] if found else ""

    @property
    def claim(self) -> float | None:
        """The label of the agents or of a judge; None where none is shown."""
        found = re.search(r"◆ (?:judge: )?([\d.]+)", self.top)
        return float(found[1]) if found else None

    @property
    def asked(self) -> str:
        """The question for a reason at the foot; empty for none."""
        return next(
            (one for one in ("why?", "Why another label", "Cannot decide, because") if one in self.message),
            "",
        )

    @property
    def codes(self) -> dict[str, str]:
        """The codes that are offered at the foot, with what they mean."""
        words = " · ".join(row.strip() for row in self.keys.splitlines())
        return {key: meaning for key, _, meaning in (one.partition(" ") for one in words.split(" · "))}

    def panes(self) -> dict[str, str]:
        """What the panes show by their titles: the candidate or response, as its letter."""
        found = {}
        for y, row in enumerate(self.rows):
            for title in re.finditer(r"╭─ (Left|Right|First|Second|Answer [A-Z])\b[^╮]*╮", row):
                left, right = title.span()
                below = self.rows[y + 1 :]
                height = next((n for n, one in enumerate(below) if one[left : left + 1] in "╰╭"), 0)
                letters = {
                    letter
                    for one in below[:height]
                    for letter in re.findall(r"mark[qd]\d+([ab])", one[left:right])
                }
                if len(letters) == 1:
                    found[title[1]] = letters.pop()
        return found


# -- what is recorded --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """A row of the record.

    Attributes:
        action: The action it belongs to.
        target: Of an undo and a redo: the action that is taken back or brought back.
        item: The item, as `q2`.
        unit: What it is about: the question and the model, or the kind of a mark; with the assignment, and the
            item under its own name, since the screen gives the candidates of a query one name.
        value: The value of a judgment; of a mark, whether it is set.
        text: The reason of a judgment, the text of a mark.
        comment: The comment of a judgment.
        origin: How it came about.
        phase: The phase.
    """

    action: Any
    target: Any
    item: str
    unit: tuple[str, str, Any, str]
    value: float | None
    text: str
    comment: str
    origin: str
    phase: str


class Tables:
    """Reads what a rater has recorded since it was read last.

    Attributes:
        firsts: The candidate of each comparison that is its first one, as a letter.
    """

    JUDGMENTS = """
        SELECT j.rowid, j.id, action, target_action, i.external_id, q.name, coalesce(f.model, ''), assignment_id, value,
            reason, comment, origin, phase
        FROM judgment j JOIN item i ON i.id = j.item_id JOIN question q ON q.id = question_id
        LEFT JOIN response_ref f ON f.id = response_ref_id WHERE j.rater_id = ? AND j.rowid > ?"""
    MARKS = """
        SELECT m.rowid, m.id, action, target_action, external_id, m.kind, '', assignment_id, active::DOUBLE, text, '',
            origin, phase
        FROM mark m JOIN item i ON i.id = item_id WHERE rater_id = ? AND m.rowid > ?"""

    def __init__(self, workspace: Workspace, rater: str) -> None:
        self._workspace = workspace
        self._rater = ensure_rater(workspace, rater).id
        self._last = {self.JUDGMENTS: -1, self.MARKS: -1}
        first = "SELECT external_id, first FROM comparison JOIN item ON item_id = id"
        # The item whose query a pair has that was made of it, by that pair's id.
        self._queries: dict[str, str] = {}
        self.firsts = {item: re.findall(r"markd\d+([ab])", text)[0] for item, text in _rows(workspace, first)}

    def sitting_of(self, assignment: Any) -> Any:
        """Return the study and the sitting of an assignment; None outside studies."""
        found = "SELECT study_id, sitting FROM assignment WHERE id = ?"
        return assignment and _rows(self._workspace, found, assignment)[0]

    def item_of(self, name: str) -> str:
        """Return the item as the screen names it: of a candidate, which has no mark of its own, that of its query."""
        if name.startswith("candidate-") and name not in self._queries:
            found = "SELECT q.text FROM pair JOIN query q ON q.id = query_id JOIN item i ON i.id = item_id WHERE external_id = ?"
            self._queries[name] = re.findall(r"mark(p\d+)", _rows(self._workspace, found, name)[0][0])[0]
        return self._queries.get(name, name)

    def has_candidates(self, item: str) -> bool:
        """Return whether the screen gives several pairs one name, that of their query."""
        found = "SELECT count(*) FROM pair JOIN query q ON q.id = query_id WHERE q.text LIKE '%mark' || ?"
        return _rows(self._workspace, found, item)[0][0] > 1

    def read(self) -> list[Record]:
        """Return what is new, in the order of its keys."""
        found = []
        for query, last in self._last.items():
            rows = _rows(self._workspace, query, self._rater, last)
            found += rows
            self._last[query] = max((row[0] for row in rows), default=last)
        return [
            Record(action, target, self.item_of(item), (name, model[-1:], assignment, item), *rest)
            for _, _, action, target, item, name, model, assignment, *rest in sorted(
                found, key=lambda row: row[1]
            )
        ]


# -- what a key has to record ------------------------------------------------------------------------------------

Wanted = dict[str, Any]
"""The fields that a record has to have, by name; `about` is the response that the screen names by a letter."""

SIGNED = (
    "●",
    "»",
    "? cannot",
    "⚑",
    "Flag removed",
    "Comment ",
    "Reason:",
    "Undone",
    "Redone",
    "Note recorded",
    "✎",
)
"""How a message begins that says that something is recorded."""

REFUSED = re.compile(
    "Not recorded|no item|not an answer|Press again|Press it again|goes against|Ignored|Torn key|Nothing to accept|agree"
)
"""What a screen says that refuses a key, or asks for it once more."""

UNDO = {"u": "undo", "U": "redo", "ctrl+r": "redo"}


def answer(key: str, seen: Seen, *, swapped: bool) -> Wanted | None:
    """What a key answers to the question on the screen; None where it is no answer.

    Args:
        key: The key.
        seen: The screen.
        swapped: Whether the first candidate of a comparison is on the right.
    """
    wanted: Wanted = {"item": seen.item, "question": seen.question, "about": seen.about}
    if seen.question == "pair.match":
        return wanted | {"value": float(key)} if key in ("0", "1") else None
    if seen.question == "comparison.preference":
        if key == "0":
            return wanted | {"value": 0.0, "text": "both-bad"}
        value = PREFERENCES.get(key)
        return None if value is None else wanted | {"value": -value if swapped else value}
    keys = ANSWERS.get(seen.question, "")
    return wanted | {"value": 1.0 + keys.index(key)} if len(key) == 1 and key in keys else None


def scores(seen: Seen) -> list[Wanted]:
    """What the line of all scores stands for; nothing where it does not have four."""
    words = re.split(r"[ ,]+", (seen.written or "").strip(" ,"))
    values = [int(word) or 10 for word in (words if len(words) > 1 else words[0]) if word.isdigit()]
    if len(values) != len(DIMENSIONS) or max(values) > 10:
        return []
    return [
        {"item": seen.item, "question": f"answer.{one}", "about": seen.about, "value": float(value)}
        for one, value in zip(DIMENSIONS, values, strict=True)
    ]


@dataclass(frozen=True)
class Finding:
    """A difference between what was on the screen at a key and what was recorded."""

    number: int
    keys: tuple[str, ...]
    why: str
    seen: Seen
    after: Seen
    records: tuple[Record, ...]

    def __str__(self) -> str:
        def shown(seen: Seen) -> str:
            return "\n".join(f"    |{row.rstrip()}" for row in seen.rows if row.strip(" │"))

        records = "\n".join(f"    {record}" for record in self.records)
        return (
            f"key {self.number} {' '.join(self.keys)!r}: {self.why}\n  on {self.seen.screen}\n{shown(self.seen)}\n"
            f"  recorded\n{records}\n  then on {self.after.screen}\n{shown(self.after)}"
        )


class Reader:
    """Compares what a rater's keys record with what was on the screen when each was pressed.

    Args:
        tables: What the rater has recorded.

    Attributes:
        blind: Whether the names of models are hidden in the session.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._done: dict[Any, list[Record]] = {}
        self._undone: list[Any] = []
        self._current: dict[tuple[str, Any], list[Record]] = {}
        self._of_item: dict[str, list[Record]] = {}
        # The candidate or response behind a name of the screen, by the item and whether it is asked again.
        self._behind: dict[tuple[str, tuple[bool, bool], str], str] = {}
        self.blind = False
        # What another reason was asked for, and the screen at its key.
        self._other: tuple[str, Seen] | None = None
        # The screen below a palette, or before a line for the reason of a ruling; its key.
        self._below: tuple[str, Seen] | None = None
        for record in tables.read():
            self._take([record])

    def look(self, seen: Seen) -> str:
        """Take note of which side is which; return what is wrong with it."""
        if seen.screen != "ReviewScreen" or not seen.item:
            return ""
        panes = seen.panes()
        if letter := panes.get("Right"):
            panes.setdefault("Left", MODELS.replace(letter, ""))
        for title, letter in panes.items():
            known = self._behind.setdefault((seen.item, self._again(seen), title), letter)
            if known != letter:
                return f"{title} of {seen.item} shows {letter}, and showed {known} before"
        return ""

    def _is_swapped(self, seen: Seen) -> bool:
        left = self._behind.get((seen.item, self._again(seen), "Left"))
        return left is not None and left != self.tables.firsts.get(seen.item)

    def _again(self, seen: Seen) -> tuple[bool, bool]:
        """Return what decides which side is which: whether the item comes again, and whether models are hidden."""
        return " again" in seen.rows[0], self.blind

    def compare(self, pressed: list[tuple[str, Seen]], after: Seen) -> tuple[str, tuple[Record, ...]]:
        """Return what is wrong with the records of the keys just pressed, and the records.

        Args:
            pressed: The keys, with what each of them saw.
            after: The screen when all is done.
        """
        records = self.tables.read()
        actions: list[list[Record]] = []
        for record in records:
            same = actions and actions[-1][0].action == record.action
            # A reason repeats the label that it explains, in the same action.
            if same and record.unit not in {one.unit for one in actions[-1]}:
                actions[-1].append(record)
            else:
                actions.append([record])
        for key, seen in pressed:
            if seen.written is None and seen.asked and seen.codes.get(key) == "other":
                self._other = seen.asked, seen
        wrong = ""
        rest = list(pressed)
        for action in actions:
            why = "no key was pressed"
            while rest:
                key, seen = rest.pop(0)
                why = self._differs(key, seen, action)
                if not why:
                    break
            wrong = wrong or why
            self._take(action)
        if not wrong:
            wrong = self._lost(pressed, actions, after) or self.look(after) or self._shown(after)
        (key, seen) = pressed[-1]
        if after.screen == "Palette" != seen.screen or (after.line == "note" and seen.line != "note"):
            self._below = key, seen
        return wrong, tuple(records)

    # -- one action -----------------------------------------------------------------------------------

    def _differs(self, key: str, seen: Seen, action: list[Record]) -> str:
        """Return in what an action differs from what a key stands for on a screen; empty for in nothing."""
        wants = self._wants(key, seen)
        if isinstance(wants, str):
            return self._differs_from_undo(wants, seen, action)
        if wants is None:
            return f"{key} records nothing here"
        undecided = any(wanted.get("question") == "cannot_decide" for wanted in wants)
        action = [one for one in action if not self._ends(one, undecided=undecided)]
        if len(wants) != len(action):
            return f"{key} stands for {len(wants)} records, not {len(action)}"
        for wanted, record in zip(wants, action, strict=True):
            for name, value in wanted.items():
                found = self._field(name, record, seen)
                if found != value and not (
                    name == "text" and str(value).endswith("…") and str(found).startswith(value[:-1])
                ):
                    return f"{key} stands for {name} {value!r}, not {found!r}"
        return ""

    def _ends(self, record: Record, *, undecided: bool) -> bool:
        """Return whether a record takes back what another one puts an end to: a mark, or answers if undecided."""
        before = self._current.get((record.item, record.unit))
        if not before or not (
            before[-1].value if "." not in record.unit[0] else before[-1].value is not None
        ):
            return False
        if "." in record.unit[0]:
            return undecided and record.value is None
        return record.unit[0] in ("skip", "cannot_decide") and not record.value

    def _field(self, name: str, record: Record, seen: Seen) -> Any:
        if name == "question":
            return record.unit[0]
        if name == "about":
            if not record.unit[1]:
                return ""
            # A letter whose response was not seen yet is learnt here, and compared from now on.
            title, letter = f"Answer {seen.about}", record.unit[1]
            known = self._behind.setdefault((record.item, self._again(seen), title), letter)
            return seen.about if known == letter else f"that of model {letter}"
        return getattr(record, name)

    def _wants(self, key: str, seen: Seen) -> list[Wanted] | str | None:
        """Return what a key stands for: records, an undo or redo, or nothing."""
        if seen.screen == "Palette" and self._below is not None and key == "enter":
            return self._of_palette(self._below[1])
        if seen.screen == "RevisionEditor" and key == "ctrl+s":
            return [{"text": seen.written}]
        if seen.screen not in JUDGED:
            return None
        if seen.written is not None:
            return self._of_line(key, seen)
        asked = seen.asked
        if asked and seen.codes.get(key) == "other":
            return None
        if asked and key in seen.codes:
            return self._of_reason(asked, seen, seen.codes[key])
        if asked.startswith("Cannot") and len(key) == 1:
            return None
        if key in UNDO:
            return UNDO[key]
        ruling = seen.screen == "AdjudicateScreen"
        given = answer(key, seen, swapped=not ruling and self._is_swapped(seen))
        if given is not None:
            origin = (
                "independent"
                if seen.claim is None
                else "accept"
                if seen.claim == given["value"]
                else "override"
            )
            return [given | {"origin": "ruling" if ruling else origin}]
        if ruling:
            return None
        if key == "a" and seen.claim is not None:
            return [
                {
                    "item": seen.item,
                    "question": seen.question,
                    "about": seen.about,
                    "value": seen.claim,
                    "origin": "accept",
                }
            ]
        if key == "s":
            return [{"item": seen.item, "question": "skip", "value": 1.0}]
        if key == "f":
            return [{"item": seen.item, "question": "flag", "value": float("⚑" not in seen.top)}]
        return None

    def _of_line(self, key: str, seen: Seen) -> list[Wanted] | None:
        text = (seen.written or "").strip()
        if key != "enter":
            return None
        if seen.line == "comment" and seen.message.startswith("Other reason") and self._other is not None:
            return self._of_reason(*self._other, f"other: {text}" if text else "other")
        if seen.line == "comment":
            named = re.search(r"Comment on ([pcqd]\d+):", seen.message)
            item = named[1] if named else seen.item
            return [{"item": item, "question": "comment", "value": float(bool(text)), "text": text}]
        if seen.line == "scores":
            return scores(seen) or None
        if seen.line == "note" and self._below is not None:
            before, on = self._below
            given = answer(before, on, swapped=False)
            if given is not None:
                return [given | {"comment": text}]
            return [{"item": seen.item, "question": seen.question, "about": seen.about, "comment": text}]
        return None

    def _of_reason(self, asked: str, seen: Seen, meaning: str) -> list[Wanted] | None:
        if asked.startswith("Cannot"):
            return [{"item": seen.item, "question": "cannot_decide", "value": 1.0, "text": meaning}]
        wanted: Wanted = {"text": meaning}
        if "Why another label than ◆?" in seen.message:
            return [wanted | {"item": seen.item, "question": seen.question, "about": seen.about}]
        named = re.search(r"([pcqd]\d+) · why\?|◆ for ([pcqd]\d+)\?", seen.message)
        if named:
            wanted["item"] = named[1] or named[2]
        overrides = [one[0].action for one in self._done.values() if one[0].origin == "override"]
        return [wanted | {"action": overrides[-1], "origin": "override"}] if overrides else None

    @staticmethod
    def _of_palette(seen: Seen) -> list[Wanted]:
        """Return what any command of the palette may record: something of the item below it."""
        return [{"item": seen.item}]

    # -- undoing --------------------------------------------------------------------------------------

    def _differs_from_undo(self, which: str, seen: Seen, action: list[Record]) -> str:
        ruling = seen.screen == "AdjudicateScreen"
        target = action[0].target
        if {record.origin for record in action} != {which}:
            return f"{which} is recorded as {action[0].origin}"
        if which == "undo":
            last = next((one for one in reversed(self._done) if self._area(one) == self._area(target)), None)
        else:
            last = next(
                (one for one in reversed(self._undone) if self._area(one) == self._area(target)), None
            )
        if target != last:
            return f"{which} is of {target}, and the last one is {last}"
        if self._area(target)[0] != ruling:
            return f"{which} is of {'a' if not ruling else 'no'} ruling"
        before = {(one.item, one.unit, one.phase): one for one in self._done_records(target)}
        for record in action:
            made = before.get((record.item, record.unit, record.phase))
            if made is None:
                return f"{which} records {record}, which that action did not"
            value = made.value if which == "redo" else self._before(made)
            if record.value != value:
                return f"{which} makes {record.unit} of {record.item} {record.value}, not {value}"
        return ""

    def _done_records(self, action: Any) -> list[Record]:
        return [
            one
            for records in self._current.values()
            for one in records
            if one.action == action and one.origin not in ("undo", "redo")
        ]

    def _area(self, action: Any) -> tuple[bool, Any]:
        made = self._done_records(action)
        return (
            (made[0].phase == "adjudicate", self.tables.sitting_of(made[0].unit[2]))
            if made
            else (False, None)
        )

    def _before(self, made: Record) -> float | None:
        """Return what was in force before an action."""
        of_unit = self._current[made.item, made.unit]
        first = next(place for place, one in enumerate(of_unit) if one.action == made.action)
        return of_unit[first - 1].value if first else 0.0 if "." not in made.unit[0] else None

    def _take(self, action: list[Record]) -> None:
        """Remember an action."""
        record = action[0]
        if record.origin == "undo":
            self._done.pop(record.target, None)
            self._undone.append(record.target)
        elif record.origin == "redo":
            if record.target in self._undone:
                self._undone.remove(record.target)
            self._done[record.target] = action
        else:
            self._done.setdefault(record.action, []).extend(action)
        for one in action:
            self._current.setdefault((one.item, one.unit), []).append(one)
            self._of_item.setdefault(one.item, []).append(one)
        if record.origin not in UNDO.values():
            # What was undone elsewhere, as in another sitting, can be brought back there.
            here = self._area(record.action)
            self._undone = [one for one in self._undone if self._area(one) != here]

    # -- the screen afterwards ------------------------------------------------------------------------

    def _lost(self, pressed: list[tuple[str, Seen]], actions: list[list[Record]], after: Seen) -> str:
        """Return which key the screen took, or says that it took, of which nothing is recorded."""
        key, seen = pressed[-1]
        if actions or after.screen not in JUDGED:
            return ""
        is_new = after.screen == seen.screen and not after.message.startswith(seen.message[:20] or "\n")
        if after.message.startswith(SIGNED) and not after.message.endswith(":") and is_new:
            return f"says {after.message!r}, and nothing is recorded"
        if after.message.startswith("…"):
            return f"is still saving: {after.message!r}"
        wants = self._wants(key, seen)
        is_answer = isinstance(wants, list) and "." in str(wants[0].get("question")) and seen.written is None
        if len(pressed) == 1 and is_answer and not REFUSED.search(after.message):
            return (
                f"{key} is an answer, nothing is recorded, and the screen does not say why: {after.message!r}"
            )
        return ""

    def _shown(self, after: Seen) -> str:
        """Return in what the rater's own label on the screen differs from the one that is recorded."""
        own = re.search(r"\[(?:○|●[^\]]*)\]", after.top) or re.search("● .*|○", after.top)
        if after.screen != "ReviewScreen" or own is None or not after.question:
            return ""
        if self.tables.has_candidates(after.item):
            return ""
        key = re.search(r"\d+|[ABC]", own[0].partition(":")[2] or own[0])
        shown: float | None = None
        if key is not None and after.question == "comparison.preference":
            shown = PREFERENCES[key[0]] * (-1 if self._is_swapped(after) else 1)
        elif key is not None:
            shown = float("_ABC".find(key[0])) if key[0] in "ABC" else float(key[0])
        elif "○" not in own[0]:
            return ""
        letter = self._behind.get((after.item, self._again(after), f"Answer {after.about}"))
        units = [record.unit for record in self._of_item.get(after.item, ())]
        # Which response a letter stands for is not known before a key or a pane told it.
        letters = {letter} if letter else {"", *(one[1] for one in units if one[0] == after.question)}
        recorded = set().union(*(self._in_force(after.item, after.question, one) for one in letters))
        return (
            ""
            if shown in recorded
            else f"shows {own[0]!r} for {after.question} of {after.item}, recorded is {recorded}"
        )

    def _in_force(self, item: str, question: str, letter: str) -> set[float | None]:
        """Return the labels of a question under each of its assignments."""
        labels: dict[Any, float | None] = {}
        hidden: dict[Any, float | None] = {}
        for record in self._of_item.get(item, ()):
            name, model, assignment, _ = record.unit
            if record.phase == "adjudicate":
                continue
            if (name, model) == (question, letter):
                labels[assignment] = record.value
            elif name == "cannot_decide" and record.value:
                hidden[assignment], labels[assignment] = labels.get(assignment), None
            elif name == "cannot_decide" and record.origin == "undo":
                labels[assignment] = hidden.get(assignment)
        # An item that is asked again has no label under its second assignment at first.
        return {*labels.values()} | ({None} if any(labels) or not labels else set())


# -- the typist --------------------------------------------------------------------------------------------------

NEVER = {"ctrl+q", "ctrl+c"}
"""Keys that are not pressed: they end the app, the second one when it is pressed twice."""
TEXTS = ("ok", "7 8 9 9", "7899", "0", "1", "markp1", "so [x] ", "", ADDED, "SELECT 1")
"""What is typed into lines."""
USUAL = (
    "enter",
    "escape",
    "tab",
    "up",
    "down",
    "left",
    "right",
    "question_mark",
    "pagedown",
    "n",
    "n",
    "p",
    "j",
    "t",
    "z",
)
BESIDE = "adsfmmuuUo"
"""Keys that record something, or ask what, beside the answers to a question."""
ROOMS = {
    "HomeScreen": (
        "enter",
        "enter",
        "enter",
        "tab",
        "tab",
        "a",
        "a",
        "i",
        "g",
        "f",
        "x",
        "s",
        "p",
        "r",
        "S",
        "J",
        "2",
        "t",
    ),
    "StudyHomeScreen": ("enter", "enter", "enter", "tab", "o", "c", "S"),
}
"""The keys of Home, by how often each is pressed there."""
JUDGED = ("ReviewScreen", "AdjudicateScreen")
"""The screens on which keys record something."""
STAY = 45
"""Keys after which one goes back to Home."""
MOST_BACK = 12
"""Keys that lead from any screen back to Home."""


class Typist:
    """Presses random keys in an app and has a reader compare what each of them records.

    Args:
        pilot: Drives the app.
        reader: Knows what the rater has recorded.
        seed: The seed; what is pressed depends on it, on the number of the key and on the screen.
        number: The number of the first key.
        most: The number of the last one.
    """

    def __init__(self, pilot: Pilot[Any], reader: Reader, seed: int, number: int, most: int) -> None:
        self.number = number
        self.findings: list[Finding] = []
        self.screens: Counter[str] = Counter()
        self.recorded = 0
        self._app: WorkbenchApp = pilot.app  # type: ignore[assignment]
        self._pilot = pilot
        self._reader = reader
        self._seed = seed
        self._most = most
        self._text: list[str] = []

    @property
    def is_done(self) -> bool:
        """Whether all keys were pressed, or the app has ended."""
        return self.number >= self._most or not self._app.is_running or self._app._exit

    async def type(self) -> None:
        """Press keys until the app ends or there are enough."""
        while not self.is_done:
            for _ in range(STAY):
                if self.is_done:
                    return
                chance = random.Random(f"{self._seed} {self.number}")
                count = 1 if chance.random() < 0.9 else 2 + round(chance.random())
                await self.press([self._choose(chance) for _ in range(count)])
            await self.go_home()

    async def press(self, keys: list[str]) -> None:
        """Press keys, several as quickly as a hand does, and compare what they record."""
        pressed: list[tuple[str, Seen]] = []
        for key in keys:
            seen = Seen.now(self._app)
            wrong = self._reader.look(seen) if not pressed else ""
            if wrong:
                self._find(keys, wrong, seen, seen, ())
            self.number += 1
            self.screens[seen.screen] += 1
            pressed.append((key, seen))
            if len(keys) == 1:
                await self._pilot.press(key)
            else:
                event = events.Key(key, key if len(key) == 1 else None)
                event.set_sender(self._app)
                self._app.post_message(event)
                await self._pilot._wait_for_screen()
        await settled(self._app)
        after = Seen.now(self._app) if self._app.is_running else pressed[-1][1]
        wrong, records = self._reader.compare(pressed, after)
        self.recorded += len(records)
        if wrong:
            self._find(keys, wrong, pressed[0][1], after, records)

    def _find(self, keys: list[str], why: str, seen: Seen, after: Seen, records: tuple[Record, ...]) -> None:
        self.findings.append(Finding(self.number, tuple(keys), why, seen, after, records))

    def _choose(self, chance: random.Random) -> str:
        """Choose a key that people press where the app is."""
        screen = type(self._app.screen).__name__
        if screen == "ConfirmScreen":
            # Nothing is confirmed: it would end the studies that the sealed part takes place in.
            return chance.choice(("escape", "n", "down", "x"))
        if screen in ROOMS:
            return chance.choice(ROOMS[screen])
        if screen == "Palette" and chance.random() < 0.5:
            return chance.choice(("down", "up", "enter", "escape"))
        if isinstance(self._app.focused, Input | TextArea):
            if not self._text:
                end = "ctrl+s" if isinstance(self._app.focused, TextArea) else "enter"
                self._text = [*chance.choice(TEXTS), chance.choice((end, end, "escape"))]
            if chance.random() < 0.9:
                key = self._text.pop(0)
                return {
                    " ": "space",
                    "[": "left_square_bracket",
                    "]": "right_square_bracket",
                    ".": "full_stop",
                }.get(key, key)
        self._text = []
        bound = sorted(set(self._app.active_bindings) - NEVER)
        if screen not in JUDGED and chance.random() < (0.5 if screen == "KeysScreen" else 0.15):
            return "escape"
        usual, others = chance.choice(USUAL), chance.choice(bound)
        if screen not in JUDGED:
            return chance.choice((usual, others))
        seen = Seen.now(self._app)
        codes = [key for key in seen.codes if len(key) == 1] if seen.asked else []
        keys = codes or [*ANSWERS.get(seen.question, "1")]
        answer = keys[int(chance.random() * len(keys))]
        return chance.choice((usual, answer, answer, answer, chance.choice(BESIDE), others))

    async def go_home(self) -> None:
        """Go back to Home by the keys that every screen has for that."""
        for _ in range(MOST_BACK):
            seen = Seen.now(self._app)
            if seen.screen in ROOMS or not self._app.is_running:
                return
            await self.press(["escape"])
            after = Seen.now(self._app)
            if after.screen == seen.screen not in ROOMS and after.written is None:
                await self.press(["q"])
        seen = Seen.now(self._app)
        if seen.screen not in ROOMS:
            self._find(["escape", "q"], "no way back to Home", seen, seen, ())


# -- beside what goes on meanwhile -------------------------------------------------------------------------------


@contextmanager
def importing(workspace: Workspace, folder: Path, number: int) -> Iterator[None]:
    """Import files, one after the other, until the end; an error of an import is raised then."""
    ended, errors = threading.Event(), list[Exception]()

    def work() -> None:
        try:
            for place in range(number * 1000, number * 1000 + 1000):
                predictions = [
                    {"task_id": f"c{one}", "pred": f"sum()  # markc{one}z", "model": f"m{number % 4}"}
                    for one in _numbers("c")
                ]
                pairs = [_pair(100 + place * 10 + one) for one in range(3)]
                import_files(workspace, [_write(folder / "pairs-more.jsonl", pairs)])
                if place == number * 1000:
                    import_files(workspace, [_write(folder / "predictions-more.jsonl", predictions)])
                if ended.wait(1.0):
                    return
        except Exception as error:  # noqa: BLE001 - raised at the end, whatever it is
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if errors:
        raise errors[0]


def annotation(folder: Path, number: int) -> JobSettings:
    """A job, another one for each number, that gives the pairs labels one after the other."""
    words = ("clear_match", "clear_nonmatch")
    replies = [
        {
            "role": "screener", "subject": f"p{one}", "delay_seconds": 2.0,
            "reply": {"assessment": words[(one + number) % 2], "justification": "as it reads"},
        }
        for one in _numbers("p")
    ]  # fmt: skip
    path = _write(folder / f"replies-{number}.jsonl", replies)
    return JobSettings(model=f"scripted:{path}", item_ids=_numbers("p"), concurrency=1, stop_seconds=0.0)


def no_tests() -> Any:
    """Refuse to run the tests of experts: a sandbox is not what is tried here."""
    raise WorkbenchError("No sandbox", "Tests are not run here.", "")


SIZES = ((80, 24), (120, 40), (200, 50))
SESSION = 250
"""Keys of a session of the app, at most; the next one is another rater's, or at another size."""


@dataclass
class Typed:
    """What came of typing.

    Attributes:
        keys: How many keys were pressed.
        recorded: How many records there are.
        screens: How many keys were pressed on each screen.
        findings: The differences.
    """

    keys: int = 0
    recorded: int = 0
    screens: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


async def type_at_random(folder: Path, seed: int, keys: int, session: int = SESSION) -> Typed:
    """Press random keys in the app, and compare what they record with what was on the screen.

    Args:
        folder: Where the workspace is made; the current folder, so that what is typed names files in it.
        seed: The seed of all that is random.
        keys: How many keys.
        session: How many of them in one session of the app.
    """
    typed = Typed()
    _write(folder / ADDED, [_pair(number) for number in range(90, 96)])
    with copied(_make, folder / "typed.duckdb") as workspace:
        readers = {rater: Reader(Tables(workspace, rater)) for rater in ("dana", "ana")}
        number = 0
        while typed.keys < keys:
            rater, blind = (("dana", False), ("ana", False), ("dana", True), ("ana", False))[number % 4]
            changes: dict[str, Any] = {"make_expert_runs": no_tests}
            app = (
                rater_app(workspace, rater, **changes)
                if rater == "ana"
                else WorkbenchApp(context_of(workspace, rater, blind=blind, **changes))
            )
            readers[rater].blind = blind
            with importing(workspace, folder, number):
                async with app.run_test(size=SIZES[number % 3]) as pilot:
                    app.context.jobs.runner.start(JobRequest(annotation(folder, number)))
                    typist = Typist(pilot, readers[rater], seed, typed.keys, min(keys, typed.keys + session))
                    try:
                        await typist.type()
                    finally:
                        typed.keys = typist.number
                        typed.recorded += typist.recorded
                        typed.screens += typist.screens
                        typed.findings += typist.findings
            number += 1
    return typed
