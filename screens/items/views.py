"""The screen part of a task kind: how an item of that kind is read for review, as texts in panes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import Connection

from screens.widgets.text.document import TextKind
from screens.widgets.text.overlay import Span
from store.kinds.comparison import BOTH_BAD, BOTH_BAD_WORD, SAME
from store.kinds.spec import GROUP, QuestionSpec
from store.policy.scope import REVIEW, RunRef, Scope
from store.queries.executions import OutcomeView
from store.queries.item import OwnLabel, OwnState, ShownTests
from store.record.evidence import Citation, ItemPart
from store.tables.record import QuestionTarget

if TYPE_CHECKING:
    from screens.widgets.text.view import TextPane


GUIDELINE = "guideline"
"""The id of the pane that shows the guideline."""

ASKED_AGAIN = "asked-again"
"""The id of the pane that says why an item is asked again."""


@dataclass(frozen=True, slots=True)
class Link:
    """A stretch of a text that refers to cited lines.

    Attributes:
        first: Its first line, from 1.
        last: Its last line.
    """

    first: int
    last: int
    citation: Citation


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a file of a repository, as a part of a longer text.

    Attributes:
        line: Its first line in that text, from 1, which says where it is from.
        repository: The repository, as the item names it; empty where it names none.
        revision: The item's commit; empty where that is not known.
        path: The file in the repository; empty where that is not known.
        language: The Pygments name of its language; None where it is not known.
    """

    line: int
    repository: str
    revision: str
    path: str
    text: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class PaneText:
    """A text with how it is shown.

    Attributes:
        id: The pane that shows it.
        title: The word on its tab or border.
        text: The text, exactly.
        language: The Pygments name of its language; none is guessed.
        kind: Its type: code, a test, a log, words, or Markdown.
        empty: The sentence shown when there is no text; `{app.jobs}`, a command's id, is replaced by its key.
        landmarks: Lines worth jumping to, from 1.
        part: The name under which its lines are cited; None where they cannot be cited.
        execution: The execution whose test or log it is.
        cited: Lines that the rater cites, from 1.
        recorded: Whether a judgment of the rater cites just these.
        links: Stretches of it that refer to cited lines, which can be followed.
        heading: The text of its border in place of the title.
        above: Words shown over it; its lines are counted without them.
        spans: Stretches of the text that are marked; in Markdown those of its source.
        gutter: Glyphs or a few letters before lines, by the line's number, from 1.
        start: The line, from 1, that is in view when the item is first shown; None for the first.
        places: The line, from 1, at which the part on a response begins, by the pane of that response.
        run: The name of the agents' run that it is of, in its border while two runs are compared.
        cover: What is shown in its place while the reference is covered; None for the text itself.
        pieces: The pieces of a repository's files that it consists of, in order.
        side: The word for its place in a comparison, left or right; empty for a text that is in none.
        differing: Stretches, and glyphs of lines, that mark what the other side does not have.
        as_source: Whether Markdown is shown as it stands, since what is marked are its lines.
        compared: Whether it is compared with the text beside it, so that both are shown alike.
    """

    id: str
    title: str
    text: str
    language: str | None = None
    kind: TextKind = "reply"
    empty: str = ""
    landmarks: tuple[int, ...] = ()
    part: ItemPart | None = None
    execution: UUID | None = None
    cited: frozenset[int] = frozenset()
    recorded: bool = True
    links: tuple[Link, ...] = ()
    heading: str = ""
    above: str = ""
    spans: tuple[Span, ...] = ()
    gutter: Mapping[int, str] = field(default_factory=dict, hash=False)
    start: int | None = None
    places: Mapping[str, int] = field(default_factory=dict, hash=False)
    run: str = ""
    cover: PaneText | None = None
    pieces: tuple[Piece, ...] = ()
    side: str = ""
    differing: tuple[tuple[Span, ...], Mapping[int, str]] = field(default=((), {}), hash=False)
    as_source: bool = False
    compared: bool = False

    @property
    def border(self) -> str:
        """The text of its border."""
        return f"{self.heading or self.title}{' · ' if self.run else ''}{self.run}"

    def load_into(self, pane: TextPane, *, title: str, empty: str) -> None:
        """Show the text in a pane, under a title; an empty one as a sentence."""
        pane.load(
            self.text,
            language=self.language,
            kind=self.kind,
            title=title,
            empty=empty,
            landmarks=self.landmarks,
            spans=self.spans,
            gutter=self.gutter,
            start=self.start,
            tells_rest=bool(self.side),
            as_source=self.as_source,
            compared=self.compared,
        )


@dataclass(frozen=True, slots=True)
class TestRunView:
    """A run of an item's test, as it is shown.

    Attributes:
        execution: Its key; None where the test was never run.
        panes: The test and its log.
        summary: What it showed, in one line; empty where the claim of the agents says that.
        tests: What each test showed, in the order in which they ran.
    """

    execution: UUID | None
    panes: tuple[PaneText, ...]
    summary: str = ""
    tests: tuple[OutcomeView, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """The agents' label that is shown; an acceptance binds to it."""

    verdict_id: UUID
    execution_id: UUID | None
    value: float
    summary: str


@dataclass(frozen=True, slots=True)
class QuestionPrompt:
    """A question that an item is asked, as it is shown.

    Attributes:
        target: The keys of the question and of the response that it is about.
        about: The name of the response on the screen, such as "answer A"; empty for the item itself.
        claim: The claim of the agents or a judge; None without one, or when the review is blind.
        pane: The pane that is shown while it is asked; empty where that is left to the reader.
        unclaimed: Why there is no claim, in a few words; empty for the reason of the kind.
        nothing: Why there is nothing to judge yet, in a few words; empty where there is.
        both_bad: Whether both candidates of a comparison may be called bad.
        reasons: Reasons of an override by their codes, in place of those of the kind.
    """

    spec: QuestionSpec
    target: QuestionTarget
    about: str = ""
    claim: Claim | None = None
    pane: str = ""
    unclaimed: str = ""
    nothing: str = ""
    both_bad: bool = False
    reasons: Mapping[str, str] = field(default_factory=dict, hash=False)

    def word(self, value: float, reason: str = "") -> str:
        """Return an answer as people read it: "1 match"; "both bad" where that is its reason."""
        is_both_bad = self.both_bad and (value, reason) == (SAME, BOTH_BAD)
        return BOTH_BAD_WORD if is_both_bad else self.spec.scale.word(value)

    def is_same_as(self, other: QuestionPrompt) -> bool:
        """Return whether it is the same question of the same response."""
        return self.target == other.target

    @property
    def title(self) -> str:
        """The question in a few words: "accuracy of answer A"."""
        return f"{self.spec.title} of {self.about}" if self.about else self.spec.title


@dataclass(frozen=True, slots=True)
class Editable:
    """A text of an item that an expert may rewrite.

    Attributes:
        part: The column of the kind that holds it.
        title: Its name on the screen: "reference answer".
        revised: Who rewrote it, in words: "revised by dana"; empty for the imported text.
        changes: The records after which another text stood, in order, each with that text.
    """

    part: str
    title: str
    text: str
    imported: str
    revised: str = ""
    changes: tuple[tuple[UUID, str], ...] = ()

    def differed_at(self, moment: UUID) -> bool:
        """Return whether another text stood when a record was made."""
        before = [text for number, text in self.changes if number < moment]
        return (before[-1] if before else self.imported) != self.text


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item as the review shows it.

    Attributes:
        prompt: The text that asks: a query, a question.
        subject: The judged text.
        case: The grounds of a label: verdict, test, log, steps, history; or the guideline in a blind review.
            At least one part.
        asks: The questions that it is asked, in order; at least one.
        prompt_word: A word for the prompt; the kind's name by default.
        prompt_start: The line of the prompt, from 1, that is in view at first; None for the first.
        subject_word: A word for the subject where only one pane is shown.
        swapped: The part of the case in the place of the subject; empty for none.
        own: The rater's current labels and marks.
        at: Which of the questions is asked now.
        tests: Which test programs are shown: the agents', those that the rater writes, or none.
        runs: The runs of its test, the agents' first; none where no tests are shown.
        run: Which of them is shown in the case.
        reading: How the agents' test reads what is asked for; empty where that is not known.
        first_test: The template of a rater's own test, where no other one is shown; empty where no test
            can be run.
        editable: The texts of it that an expert may rewrite.
        blind: Whether the agents' and other raters' work is hidden.
        answered_blind: The questions that were answered before their item was revealed; another answer to
            them is recorded in the phase of the reveal, and replaces none.
        assignment_id: The assignment under which the rater judges it; None outside a study.
        phase: The phase of the rater's judgments of it.
        others: Other runs of the agents that have a label of it, the one begun last first; none in a blind
            review.
        replaced: The subject with its word, while another run's part stands in its place; else None.
        prompt_cover: The sentence in place of the prompt while the reference is covered; empty where there is
            none to cover. `{review.cover}`, a command's id, is replaced by its key.
        cover_chosen: Whether the rater wants references covered.
        shown_as: The words of `Judgment.shown_as` for how it is shown; empty for a kind without any.
        changes: How the texts of a comparison are shown otherwise than they were imported.
        marks_differences: Whether the rater wants the differences between two sides marked.
    """

    item_id: int
    external_id: str
    kind: str
    prompt: str
    subject: PaneText
    case: tuple[PaneText, ...]
    questions: tuple[QuestionPrompt, ...]
    own: OwnState
    at: int = 0
    tests: ShownTests = "agents"
    runs: tuple[TestRunView, ...] = ()
    run: int = 0
    reading: str = ""
    first_test: str = ""
    prompt_word: str = ""
    prompt_start: int | None = None
    subject_word: str = "Code"
    editable: tuple[Editable, ...] = ()
    swapped: str = ""
    blind: bool = False
    answered_blind: frozenset[QuestionTarget] = frozenset()
    assignment_id: UUID | None = None
    phase: str = REVIEW
    others: tuple[RunRef, ...] = ()
    replaced: tuple[PaneText, str] | None = None
    prompt_cover: str = ""
    cover_chosen: bool = False
    shown_as: str = ""
    changes: tuple[str, ...] = ()
    marks_differences: bool = False

    @property
    def has_sides(self) -> bool:
        """Whether two texts stand side by side, to be compared."""
        return bool(self.subject.side)

    @property
    def current(self) -> QuestionPrompt:
        """The question that is asked now."""
        return self.questions[self.at]

    @property
    def has_several(self) -> bool:
        """Whether it is asked more than one question."""
        return len(self.questions) > 1

    @property
    def question(self) -> QuestionSpec:
        """The question that the label keys answer."""
        return self.current.spec

    @property
    def claim(self) -> Claim | None:
        """The claim of the agents or a judge on the question that is asked now."""
        return self.current.claim

    @property
    def has_acceptable_claim(self) -> bool:
        """Whether there is a claim, and its value is on the scale of the question."""
        return self.claim is not None and self.claim.value in self.question.scale.allowed

    @property
    def label(self) -> OwnLabel | None:
        """The rater's own label for the question that is asked now."""
        return self.label_of(self.current)

    def label_of(self, question: QuestionPrompt) -> OwnLabel | None:
        """Return the rater's own label for a question."""
        return self.own.labels.get(question.target)

    @property
    def last_answer(self) -> QuestionPrompt | None:
        """The question whose answer is such that nothing more is asked of the item."""
        return next(
            (
                question
                for question in self.questions
                if question.spec.last_value is not None
                and (label := self.label_of(question)) is not None
                and label.value == question.spec.last_value
            ),
            None,
        )

    @property
    def is_answered(self) -> bool:
        """Whether all of its questions have the rater's answer, or the rater cannot decide."""
        return self.own.cannot_decide is not None or self.next_open(-1) is None

    def place_of(self, target: QuestionTarget | None) -> int | None:
        """Return which of the questions is the one of some keys; None where none is."""
        targets = [question.target for question in self.questions]
        return targets.index(target) if target in targets else None

    def next_open(self, after: int) -> int | None:
        """Return the next question without a label after one, from the first on after the last.

        None follows an answer after which nothing more is asked.

        Args:
            after: Which one; -1 to begin with the first.
        """
        if self.last_answer is not None:
            return None
        number = len(self.questions)
        places = ((after + step) % number for step in range(1, number + 1))
        return next((place for place in places if self.label_of(self.questions[place]) is None), None)

    def with_own(self, own: OwnState) -> ItemView:
        """Return the item with other labels and marks of the rater."""
        return replace(self, own=own)

    def at_question(self, place: int) -> ItemView:
        """Return the item with another of its questions asked."""
        return replace(self, at=place)

    @property
    def execution(self) -> UUID | None:
        """The execution that is shown."""
        return self.runs[self.run].execution if self.runs else None

    @property
    def outcomes(self) -> tuple[OutcomeView, ...]:
        """The results of the tests of the run that is shown."""
        return self.runs[self.run].tests if self.runs else ()

    @property
    def has_test(self) -> bool:
        """Whether there is a test to be run."""
        return bool(self.runs) and any(pane.part == "test" and pane.text for pane in self.runs[0].panes)

    @property
    def lacks_own_test(self) -> bool:
        """Whether the rater is to write a test, and has not run one yet."""
        return self.tests == "own" and bool(self.first_test) and self.execution is None

    @property
    def is_covered(self) -> bool:
        """Whether the reference is covered: the rater wants that, and has not answered or given up yet."""
        is_answered = bool(self.own.labels) or self.own.cannot_decide is not None
        return self.cover_chosen and bool(self.prompt_cover) and not is_answered

    def as_shown(self, part: PaneText) -> PaneText:
        """Return a part as its pane shows it: its cover while the reference is covered, its differences."""
        if self.marks_differences and part.side:
            spans, gutter = part.differing
            return replace(part, spans=spans, gutter=gutter, as_source=True)
        if part.cover is None or not self.is_covered:
            return part
        return replace(part.cover, cited=part.cited, recorded=part.recorded)

    def with_swapped(self, pane_id: str) -> ItemView:
        """Return the item with a part of the case in the subject's place, and the subject in its place.

        Args:
            pane_id: Which part; an empty one, or one that it has not, brings the subject back.
        """
        if self.swapped:
            return self._swap(self.swapped, "").with_swapped(pane_id) if pane_id != self.swapped else self
        return self._swap(pane_id, pane_id) if any(each.id == pane_id for each in self.case) else self

    def _swap(self, pane_id: str, swapped: str) -> ItemView:
        part = next(each for each in self.case if each.id == pane_id)
        moved = replace(
            self.subject,
            id=pane_id,
            title=self.subject_word,
            heading=self.subject.heading or self.subject.title,
        )
        return replace(
            self,
            subject=replace(part, heading=part.heading or part.title),
            subject_word=part.title,
            case=tuple(moved if each.id == pane_id else each for each in self.case),
            swapped=swapped,
        )

    def with_beside(self, part: PaneText | None, runs: Mapping[str, str] | None = None) -> ItemView:
        """Return the item with a part of another run in the subject's place; with None, with its subject.

        Args:
            runs: The name of the run that is shown, by the id of each part that is of it.
        """
        subject, word = self.replaced or (self.subject, self.subject_word)
        named = [(own, (runs or {}).get(own.id, "")) for own in self.case]
        case = tuple(
            own if own.run == run else replace(own, run=run, compared=bool(run)) for own, run in named
        )
        if part is None:
            return replace(self, subject=subject, subject_word=word, replaced=None, case=case)
        beside = replace(part, compared=True)
        return replace(self, subject=beside, subject_word=part.title, replaced=(subject, word), case=case)

    def with_first_test(self, text: str, heading: str) -> ItemView:
        """Return the item with another beginning of a test of one's own in its pane."""
        changed = (
            replace(pane, text=text, heading=heading) if pane.id == "test" else pane for pane in self.case
        )
        return replace(self, case=tuple(changed))

    def with_run(self, number: int) -> ItemView:
        """Return the item with one of its runs shown."""
        shown = {pane.id: pane for pane in self.runs[number].panes}
        return replace(self, run=number, case=tuple(shown.get(pane.id, pane) for pane in self.case))


@dataclass(frozen=True, slots=True)
class ReviewPart:
    """The screen part of a task kind.

    Attributes:
        load: Reads an item as a scope shows it (connection, scope, item id).
        reasons: Reasons of an override by their codes, in place of those of the settings as they come.
        undecided: Reasons for "cannot decide", likewise.
    """

    kind: str
    load: Callable[[Connection, Scope, int], ItemView]
    reasons: Mapping[str, str] = field(default_factory=dict)
    undecided: Mapping[str, str] = field(default_factory=dict)


@cache
def review_part(kind: str) -> ReviewPart | None:
    """Return the screen part of a task kind; None where none is registered.

    Those of other kinds are not imported, which the first item would wait for.
    """
    found: ReviewPart | None = next(
        (entry.load() for entry in entry_points(group=GROUP, name=f"{kind}.screen")), None
    )
    return found
