"""The form of a new study; what it stores is what `workbench study new` stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Checkbox, Collapsible, Input, Select

from screens.commands import bindings
from screens.form import Fields, FormFoot, TickBox, choice, line, ticks
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.kinds.counting import in_order
from store.kinds.spec import task_kinds
from store.policy.refusal import refuse
from store.policy.scope import Shows
from store.policy.words import BLIND, HIDDEN_MODELS
from store.queries.queue import items_by_kind
from store.queries.studies import StudyDetails, list_studies
from store.record.protocol import FAST_SECONDS, IDLE_MINUTES, StudyProtocol
from store.studies.choosing import ItemChoice
from store.studies.dashboard_text import plan_words
from store.studies.plan import StudyPlan, names, numbers, people, preview_plan, save_plan

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator

CONDITIONS = (BLIND, "blind tests", "own-test", "revealed", "revealed tests")
"""The conditions that can be chosen; a choice of its own adds `hidden-models` to those that show answers."""

REVEALS = (("no", ""), ("revealed", "revealed"), ("revealed and tests", "revealed tests"))

ALL, QUERY, FILE, SAMPLE = "all", "query", "file", "sample"
ITEMS = (
    ("all of the kind", ALL),
    ("those of one query", QUERY),
    ("those that a file names", FILE),
    ("a random sample", SAMPLE),
)


class NewStudyScreen(WorkbenchScreen):
    """A form in which a study is planned, with the plan in numbers at its foot."""

    SCOPE = "new_study"
    CSS_PATH = "studies.tcss"
    BINDINGS = bindings("new_study")
    AUTO_FOCUS = "#name"

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        self.fields = Fields(self)
        self._foot = FormFoot(self._read_fields, self._preview, self._save, self._saved)

    def compose(self) -> ComposeResult:
        """Lay out the fields, the plan in numbers, and the keys."""
        kinds = [(kind.plural, name) for name, kind in task_kinds().items()]
        own = self.context.rater
        yield TopLine("studies › new")
        with VerticalScroll(id="body", can_focus=False):
            yield line("Name", "name", "rq2")
            yield line("Raters", "raters", "ana,ben,chi")
            yield choice("Kind", "kind", kinds, kinds[0][1])
            yield choice("Items", "items", ITEMS, ALL)
            yield line("Query", "query", "the text of the query", only=QUERY)
            yield line("Items file", "items_file", "lines: the id of an item", only=FILE)
            yield line("Sample size", "sample", "400", only=SAMPLE)
            yield line("Stratified by", "stratify", "label, path or label:RATER; empty: not", only=SAMPLE)
            yield line("Raters of an item", "overlap", "all of them")
            conditions = [
                TickBox(name.replace(" ", " + "), name == BLIND, id=f"condition-{place}", compact=True)
                for place, name in enumerate(CONDITIONS)
            ]
            hidden = TickBox("hide models' names", id="hidden", compact=True)
            yield ticks("Conditions", *conditions, hidden)
            yield line("Repeats", "repeats", value="0")
            yield choice("Revealed at last", "reveal", REVEALS, "")
            yield line("Gold file", "gold", "lines: item,value")
            yield line("Training file", "training", "lines: item,value")
            yield line("Guide file", "guideline", "the kind's own")
            yield line("Consent file", "consent", "no consent is asked")
            yield line("Stop at ±", "half_width", "0.1; empty: when all is judged")
            yield line("Looks at", "looks", "labels: 300,600")
            with Collapsible(title="More: coordinators, seed, questions, blocks, times"):
                yield line("Coordinators", "coordinators", own.name if own else "names with commas")
                yield line("Seed", "seed", value="0")
                yield line("Questions", "questions")
                yield line("Items of a block", "block", "one of each condition")
                away = f"{IDLE_MINUTES:g}: a longer time without a key is time away"
                yield line("Idle minutes", "idle_minutes", away)
                yield line(
                    "Fast seconds", "fast_seconds", f"{FAST_SECONDS:g}: a decision in less is too fast"
                )
        yield self._foot
        yield KeyLine()

    def on_mount(self) -> None:
        """Show the fields that apply, and what is missing; begin with a kind of which there are items."""
        self._show_fields()
        self._foot.count_soon()
        in_thread(self, self._kinds_here, self._choose_kind, group="kinds")

    def _kinds_here(self) -> dict[str, int]:
        return items_by_kind(self.context.workspace, self.context.scope)

    def _choose_kind(self, here: dict[str, int]) -> None:
        box = self.query_one("#kind", Select)
        if here and box.value not in here:
            box.value = in_order(here)[0]

    # -- the plan -------------------------------------------------------------------------------------

    def _read_fields(self) -> StudyPlan:
        """Return the plan as it is filled in.

        Raises:
            WorkbenchError: A field cannot be read.
        """
        fields = self.fields
        items, kind, seed = fields.chosen("items"), fields.chosen("kind"), fields.number("seed") or 0
        sample = fields.number("sample") if items == SAMPLE else None
        if items == SAMPLE and not sample:
            raise WorkbenchError("No size", "A random sample needs its size.")
        if items == QUERY and not fields.text("query"):
            raise WorkbenchError("No query", "Type the text of the query.")
        if items == FILE and not fields.text("items_file"):
            raise WorkbenchError("No file", "Name the file with the ids of the items.")
        raters = people(fields.text("raters"))
        if not raters:
            raise WorkbenchError("No raters", "A study needs raters: their names, with commas between them.")
        idle, fast = fields.decimal("idle_minutes"), fields.decimal("fast_seconds")
        own = self.context.rater
        items_chosen = ItemChoice(
            kind,
            query=fields.text("query") if items == QUERY else None,
            sample=sample,
            stratify=(fields.text("stratify") or None) if items == SAMPLE else None,
            seed=seed,
        )
        protocol = StudyProtocol(
            kind=kind,
            questions=tuple(names(fields.text("questions"))),
            overlap=fields.number("overlap"),
            conditions=tuple(self._conditions()),
            block_size=fields.number("block"),
            repeats=fields.number("repeats") or 0,
            reveal=fields.chosen("reveal") or None,
            seed=seed,
            coordinators=tuple(people(fields.text("coordinators")) or ([own.name] if own else [])),
            half_width=fields.decimal("half_width"),
            looks=numbers(fields.text("looks")),
            idle_minutes=IDLE_MINUTES if idle is None else idle,
            fast_seconds=FAST_SECONDS if fast is None else fast,
        )
        return StudyPlan(
            fields.text("name"),
            tuple(raters),
            items_chosen,
            protocol,
            fields.file("items_file") if items == FILE else None,
            *(fields.file(name) for name in ("gold", "training", "guideline", "consent")),
        )

    def _conditions(self) -> list[str]:
        hidden = f" {HIDDEN_MODELS}" if self.query_one("#hidden", Checkbox).value else ""
        return [
            condition + (hidden if condition.startswith("revealed") else "")
            for place, condition in enumerate(CONDITIONS)
            if self.query_one(f"#condition-{place}", Checkbox).value
        ]

    # -- the plan in numbers --------------------------------------------------------------------------

    @on(Input.Changed)
    @on(Checkbox.Changed)
    @on(Select.Changed)
    def _changed(self) -> None:
        self._show_fields()
        self._foot.count_soon()

    def _show_fields(self) -> None:
        self.fields.show_only(self.fields.chosen("items"))
        kind = self.fields.chosen("kind")
        questions = ",".join(one.name.removeprefix(f"{kind}.") for one in task_kinds()[kind].questions)
        self.query_one("#questions", Input).placeholder = f"all: {questions}"

    def _preview(self, plan: StudyPlan) -> list[str]:
        with self.context.workspace.reading() as connection:
            refuse(connection, self.context.scope, Shows.WHOLE, "Making a study uses")
            found = preview_plan(connection, plan)
        items = f"{pluralize(found.items, 'item')}: {found.sample}"
        return [one_line(items, self.size.width - 2), *plan_words(found)]

    # -- keys -----------------------------------------------------------------------------------------

    def action_save(self) -> None:
        """Store the study as a draft, or say what is wrong with it."""
        self._foot.save()

    def _save(self, plan: StudyPlan) -> tuple[StudyDetails, bool]:
        with self.context.workspace.reading() as connection:
            refuse(connection, self.context.scope, Shows.WHOLE, "Making a study uses")
            replaced = any(one.name == plan.name for one in list_studies(connection))
        return save_plan(self.context.workspace, plan), replaced

    def _saved(self, saved: tuple[StudyDetails, bool]) -> None:
        study, replaced = saved
        name = one_line(study.name, 40)
        key = self.key_of("studies.freeze")
        self.dismiss()
        title = "Draft replaced" if replaced else "Draft stored"
        self.context.notices.show(title, f"{name} is a draft; {key} freezes it.")
