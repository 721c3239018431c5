"""The form of a new split; what it makes is what `workbench split` makes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Checkbox, Input, Select

from screens.commands import bindings
from screens.form import Fields, FormFoot, TickBox, choice, line, ticks
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.analysis.labels import question_of_items
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.kinds.spec import task_kinds
from store.policy.refusal import refuse
from store.policy.scope import Shows
from store.splits.allocation import parse_ratios
from store.splits.grouping import DISJOINT_WORDS
from store.splits.splits import SplitDetails, SplitPlan, check_name, default_disjoint, make_split, true_units
from store.studies.plan import people

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from screens.context import ScreenContext
    from screens.navigator import Navigator

HIDDEN = "A split uses"
"""The subject of the refusal in a sealed session and in a blind review."""

OF_ITEMS = ""
"""The choice that the items of the workspace make."""

DISJOINT = (
    ("queries; repositories where items have none", OF_ITEMS),
    ("queries, near-duplicates counted as one", "query"),
    ("queries and codes that match", "query,code"),
    ("repositories", "repository"),
)


class NewSplitScreen(WorkbenchScreen):
    """A form in which a split is planned, with its labels counted at the foot."""

    SCOPE = "new_split"
    CSS_PATH = "../studies/studies.tcss"
    BINDINGS = bindings("new_split")
    AUTO_FOCUS = "#name"

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        self.fields = Fields(self)
        self._foot = FormFoot(self._read_fields, self._preview, self._save, self._saved)

    def compose(self) -> ComposeResult:
        """Lay out the fields, what they come to, and the keys."""
        questions = [(spec.name, spec.name) for kind in task_kinds().values() for spec in kind.questions]
        yield TopLine("splits › new")
        with VerticalScroll(id="body", can_focus=False):
            yield line("Name", "name", "v1")
            yield line("Labels of", "against", "majority; a rater, a run, adjudicated", value="majority")
            yield line("Panel", "panel", "the raters of a policy: ana,ben,chi; people by default")
            yield choice("Question", "question", [("that of the items", OF_ITEMS), *questions], OF_ITEMS)
            yield line("Ratios", "ratios", "8:1:1, or train=8,test=2", value="8:1:1")
            yield choice("Parts share no", "disjoint", DISJOINT, OF_ITEMS)
            yield line("Study", "study", "all labels; a name: only those of this study")
            yield line("Seed", "seed", value="0")
            yield ticks(
                "Options",
                TickBox("stratified by label", id="stratified", compact=True),
                TickBox("with revealed labels", id="with_revealed", compact=True),
            )
        yield self._foot
        yield KeyLine()

    def on_mount(self) -> None:
        """Say what is missing."""
        self._foot.count_soon()

    # -- the plan -------------------------------------------------------------------------------------

    def _read_fields(self) -> tuple[str, SplitPlan]:
        """Return the name and the plan; what the items choose is empty in it.

        Raises:
            WorkbenchError: A field cannot be read, or is missing.
        """
        name, against = self.fields.text("name"), self.fields.text("against")
        parts = parse_ratios(self.fields.text("ratios"))
        if not name:
            raise WorkbenchError("No name", "A split needs a name.")
        if not against:
            raise WorkbenchError("Whose labels?", "Name a policy, such as majority, or a rater or run.")
        return name, SplitPlan(
            question=self.fields.chosen("question"),
            against=against,
            parts=parts,
            disjoint=self.fields.chosen("disjoint"),
            seed=self.fields.number("seed") or 0,
            stratified=self.fields.ticked("stratified"),
            panel=tuple(people(self.fields.text("panel"))) or None,
            study=self.fields.text("study") or None,
            with_revealed=self.fields.ticked("with_revealed"),
        )

    def _checked(self, connection: Connection, name: str, plan: SplitPlan) -> SplitPlan:
        """Return the plan with what the items of the workspace choose.

        Raises:
            WorkbenchError: The session may not see it, or the name is taken.
        """
        refuse(connection, self.context.scope, Shows.OTHERS, HIDDEN)
        check_name(connection, name)
        question = plan.question or question_of_items(connection)
        return replace(plan, question=question, disjoint=plan.disjoint or default_disjoint(question))

    @on(Input.Changed)
    @on(Checkbox.Changed)
    @on(Select.Changed)
    def _changed(self) -> None:
        self._foot.count_soon()

    def _preview(self, filled: tuple[str, SplitPlan]) -> list[str]:
        with self.context.workspace.reading() as connection:
            plan = self._checked(connection, *filled)
            found = true_units(connection, plan).panel.described(connection)
        true = f"{pluralize(found.units, 'true label')} of {plan.question}"
        undecided = f"; {found.undecided:,} undecided, in no part" if found.undecided else ""
        shares = ", ".join(f"{one_line(part.name, 24)} {100 * part.share:.1f} %" for part in plan.parts)
        return [
            f"{true}, from {one_line(', '.join(found.panel), 60)}{undecided}",
            f"{shares}; parts {DISJOINT_WORDS[plan.disjoint]}",
            *found.warnings,
        ]

    # -- keys -----------------------------------------------------------------------------------------

    def action_save(self) -> None:
        """Make the split, or say what is wrong with it."""
        self._foot.save("Making the split …")

    def _save(self, filled: tuple[str, SplitPlan]) -> SplitDetails:
        with self.context.workspace.reading() as connection:
            plan = self._checked(connection, *filled)
        return make_split(self.context.workspace, filled[0], plan)

    def _saved(self, split: SplitDetails) -> None:
        self.dismiss()
        parts = ", ".join(f"{one_line(part.part, 24)} {part.items:,}" for part in split.report.parts)
        self.context.notices.show("Split made", f"{one_line(split.name, 40)}: items {parts}.")
