"""The form of new comparisons with a study of them; what it stores is what `workbench compare new` stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Checkbox, Input, Select

from screens.commands import bindings
from screens.form import Fields, FormFoot, TickBox, choice, line, ticks
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.kinds.comparison import COMPARISON
from store.kinds.comparison_texts import CHANGES
from store.policy.refusal import refuse
from store.policy.scope import Shows
from store.queries.studies import ChosenItem, StudyDetails
from store.record.protocol import StudyProtocol
from store.studies.comparing import (
    ComparisonPlan,
    candidates,
    carry_out,
    files_of_pairs,
    models_with_responses,
)
from store.studies.plan import names, people
from store.studies.studies import make_design, sittings

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator

CODES, RESPONSES, SCORES = "codes", "responses", "scores"
COMPARED = (
    ("two sets of codes", CODES),
    ("models' responses", RESPONSES),
    ("responses that a judge scored", SCORES),
)
SCALES = (
    ("one is better, or the same", "tie"),
    ("one is better", "forced"),
    ("five levels, from much better to much worse", "five"),
)


class NewComparisonsScreen(WorkbenchScreen):
    """A form in which comparisons are chosen and a study of them is planned."""

    SCOPE = "new_study"
    CSS_PATH = "studies.tcss"
    BINDINGS = bindings("new_study")
    AUTO_FOCUS = "#name"

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        self.fields = Fields(self)
        self._foot = FormFoot(self._read_fields, self._preview, self._save, self._saved)
        # Reading all texts takes its time, so they are counted again only if something else is compared.
        self._counted_of: tuple[ComparisonPlan, int] | None = None

    def compose(self) -> ComposeResult:
        """Lay out the fields, the plan in numbers, and the keys."""
        own = self.context.rater
        yield TopLine("studies › compare")
        with VerticalScroll(id="body", can_focus=False):
            yield line("Name", "name", "rq1")
            yield choice("Compare", "compared", COMPARED, CODES)
            yield line("Sets", "codes_from", "A:B, of imported files or FIELD=VALUE", only=CODES)
            yield line("Labels of", "labels", "majority; a rater, a run, adjudicated", only=CODES)
            yield line("Models", "models", "A,B", only=RESPONSES)
            yield line("Setting", "setting", "any", only=RESPONSES)
            yield line("Models", "scored_models", "all", only=SCORES)
            yield line("Judge", "judge", "all", only=SCORES)
            yield line("Comparisons", "most", "all; a number: so many at random")
            yield line("Raters", "raters", "ana,ben,chi")
            yield line("Raters of each", "overlap", "all of them")
            yield choice("Answers", "scale", SCALES, "tie")
            yield ticks("Texts", *(TickBox(words, id=name, compact=True) for name, words in CHANGES.items()))
            yield line("Repeats", "repeats", value="0")
            yield line("Gold file", "gold", "lines: item,value")
            yield line("Seed of the order", "seed", value="0")
            yield line("Coordinators", "coordinators", value=own.name if own else "")
        yield self._foot
        yield KeyLine()

    def on_mount(self) -> None:
        """Show the fields that apply, what is missing, and what there is to compare."""
        self._changed()
        # What is missing is said at the foot, also where this cannot be read.
        in_thread(self, self._read_names, self._show_names, lambda _: None, group="names")

    def _read_names(self) -> tuple[list[str], list[str]]:
        with self.context.workspace.reading() as connection:
            refuse(connection, self.context.scope, Shows.WHOLE, "A comparison uses")
            return files_of_pairs(connection), models_with_responses(connection)

    def _show_names(self, found: tuple[list[str], list[str]]) -> None:
        """Show as examples what can be named, and begin with responses where there are no codes."""
        sets, models = found
        if len(sets) > 1:
            self.query_one("#codes_from", Input).placeholder = f"{':'.join(sets[:2])}; or FIELD=VALUE"
        if len(models) > 1:
            self.query_one("#models", Input).placeholder = ",".join(models)
            if not sets:
                self.query_one("#compared", Select).value = RESPONSES

    # -- the plan -------------------------------------------------------------------------------------

    def _read_fields(self) -> ComparisonPlan:
        """Return the plan as it is filled in.

        Raises:
            WorkbenchError: A field cannot be read, or is missing.
        """
        compared = self.fields.chosen("compared")
        asked = {CODES: "codes_from", RESPONSES: "models"}.get(compared)
        if asked is not None and not self.fields.text(asked):
            sets = "Name two sets of codes, such as cosqa:cosqa-plus."
            raise WorkbenchError("Compare what?", sets if compared == CODES else "Name two models or more.")
        if not self.fields.text("name"):
            raise WorkbenchError("No name", "The comparisons and their study need a name.")
        raters = people(self.fields.text("raters"))
        if not raters:
            raise WorkbenchError("No raters", "A study needs raters: their names, with commas between them.")
        models = names(self.fields.text("models" if compared == RESPONSES else "scored_models"))
        protocol = StudyProtocol(
            COMPARISON.name,
            overlap=self.fields.number("overlap"),
            repeats=self.fields.number("repeats") or 0,
            seed=self.fields.number("seed") or 0,
            coordinators=tuple(people(self.fields.text("coordinators"))),
            scale=self.fields.chosen("scale"),
            texts=tuple(name for name in CHANGES if self.fields.ticked(name)),
        )
        return ComparisonPlan(
            self.fields.text("name"),
            protocol,
            codes_from=self.fields.text("codes_from") if compared == CODES else None,
            labels=self.fields.text("labels") or "majority",
            models=tuple(models) if models and compared != CODES else None,
            setting=(self.fields.text("setting") or None) if compared == RESPONSES else None,
            from_scores=compared == SCORES,
            judge=(self.fields.text("judge") or None) if compared == SCORES else None,
            most=self.fields.number("most") or None,
            raters=tuple(raters),
            gold=self.fields.file("gold"),
        )

    # -- the plan in numbers --------------------------------------------------------------------------

    @on(Input.Changed)
    @on(Checkbox.Changed)
    @on(Select.Changed)
    def _changed(self) -> None:
        self.fields.show_only(self.fields.chosen("compared"))
        self._foot.count_soon()

    def _preview(self, plan: ComparisonPlan) -> list[str]:
        protocol, raters = plan.protocol.checked(), plan.raters or ()
        compared = ComparisonPlan(
            "",
            StudyProtocol(COMPARISON.name, seed=protocol.seed),
            plan.codes_from,
            plan.labels,
            plan.models,
            plan.setting,
            plan.from_scores,
            plan.judge,
        )
        with self.context.workspace.reading() as connection:
            refuse(connection, self.context.scope, Shows.WHOLE, "A comparison uses")
            if self._counted_of is None or self._counted_of[0] != compared:
                self._counted_of = compared, len(candidates(connection, compared))
        number = min(self._counted_of[1], plan.most or self._counted_of[1])
        design = make_design(protocol, [ChosenItem(one) for one in range(number)], raters)
        lengths = [len(own) for own in design.values()]
        least, most = min(lengths), max(lengths)
        each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        parts = pluralize(max(max(sittings(own), default=0) for own in design.values()), "sitting")
        apart = "; gold ones are not counted" if plan.gold else ""
        return [
            f"{pluralize(number, 'comparison')}{apart}",
            f"{each} {'assignment' if most == 1 else 'assignments'} for each rater in {parts}; "
            "order and sides are drawn when it is frozen",
        ]

    # -- keys -----------------------------------------------------------------------------------------

    def action_save(self) -> None:
        """Store the comparisons and the draft of their study, or say what is wrong with them."""
        self._foot.save("Storing the comparisons …")

    def _save(self, plan: ComparisonPlan) -> StudyDetails:
        with self.context.workspace.reading() as connection:
            refuse(connection, self.context.scope, Shows.WHOLE, "A comparison uses")
        _, _, study = carry_out(self.context.workspace, plan)
        assert study is not None
        return study

    def _saved(self, study: StudyDetails) -> None:
        number = pluralize(study.items.get("item", 0), "comparison")
        self.dismiss()
        key = self.key_of("studies.freeze")
        self.context.notices.show(
            "Draft stored",
            f"{one_line(study.name, 40)} is a draft of {number}; {key} freezes it.",
        )
