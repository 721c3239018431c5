"""The report of the demo's run: counts, and how far the agents agree with the sample's raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import select

from store.json_fields import json_fields
from store.kinds.counting import in_order
from store.kinds.pair import MATCH
from store.measures.agreement import Agreement, krippendorff_alpha, majority, raw_agreement
from store.policy.scope import RunRef, Scope
from store.queries.current import current_verdicts, first_values
from store.queries.queue import items_by_kind
from store.tables.columns import table_of
from store.tables.people import Rater
from workbench.sample import NOTICE, sample_raters

if TYPE_CHECKING:
    from agents.jobs.report import JobReport
    from store.workspace.duckdb import Workspace


@dataclass(frozen=True, slots=True)
class MajorityAgreement:
    """How often the agents and the majority of the sample's raters say the same.

    Attributes:
        n: Items with a label of the agents and a majority of the raters.
        agreed: Those of them where both are the same.
        ties: Items with a label of the agents whose raters are evenly split.
        raters: The raters' names.
    """

    JSON: ClassVar = ("n", "agreed", "share", "ties", "raters")

    n: int
    agreed: int
    ties: int
    raters: tuple[str, ...]

    @property
    def share(self) -> float | None:
        """The share of items on which both agree; None without items."""
        return self.agreed / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class DemoReport:
    """The report of the demo's run.

    Attributes:
        workspace: The workspace file.
        items: How many items of each kind the workspace holds.
        annotation: The report of the agents' job over the pairs.
        judged: That of the judge's job over the comparisons.
        written: That of the job that writes questions from issues.
        with_majority: The agents against the majority of the sample's raters.
        among_raters: The observed agreement among the sample's raters.
        alpha: Their Krippendorff's alpha, nominal.
    """

    workspace: Path
    items: Mapping[str, int]
    annotation: JobReport
    judged: JobReport
    written: JobReport
    with_majority: MajorityAgreement
    among_raters: Agreement
    alpha: Agreement

    def to_dict(self, *, blind: bool = False) -> dict[str, Any]:
        """Return it as JSON-able fields; a blind review leaves out figures that disclose labels."""
        fields = {
            "workspace": str(self.workspace),
            "notice": NOTICE,
            "items_by_kind": dict(self.items),
            **self.annotation.to_dict(blind=blind),
            "judged": self.judged.to_dict(blind=blind),
            "written": self.written.to_dict(blind=blind),
        }
        if blind:
            return fields
        return {
            **fields,
            "agreement_with_majority": json_fields(self.with_majority),
            "agreement_among_raters": json_fields(self.among_raters),
            "krippendorff_alpha_of_raters": json_fields(self.alpha),
        }


def demo_report(
    workspace: Workspace, annotation: JobReport, judged: JobReport, written: JobReport
) -> DemoReport:
    """Put together what the demo prints, from the records.

    Args:
        workspace: The demo's workspace.
        annotation: The report of the agents' job over the pairs.
        judged: That of the judge's job over the comparisons.
        written: That of the job that writes questions from issues.
    """
    labels, verdicts, rater = (
        first_values(questions=[MATCH.name]),
        current_verdicts(Scope(run=RunRef(annotation.run_id, annotation.run_name))),
        table_of(Rater),
    )
    with workspace.reading() as connection:
        given = connection.execute(
            select(rater.c.name, labels.c.item_id, labels.c.value)
            .join(rater, rater.c.id == labels.c.rater_id)
            .where(rater.c.name.in_(sample_raters()))
            .order_by(rater.c.name)
        ).all()
        ruled = connection.execute(select(verdicts.c.item_id, verdicts.c.value))
        agents: dict[int, float] = {row.item_id: row.value for row in ruled}
    items = items_by_kind(workspace)
    raters = tuple(dict.fromkeys(row.name for row in given))
    by_item: dict[int, dict[str, float]] = defaultdict(dict)
    for row in given:
        by_item[row.item_id][row.name] = row.value
    units = {number: [values.get(name) for name in raters] for number, values in sorted(by_item.items())}
    majorities = {number: majority(values) for number, values in units.items() if number in agents}
    agreed = sum(value == agents[number] for number, value in majorities.items() if value is not None)
    ties = sum(value is None for value in majorities.values())
    return DemoReport(
        workspace=workspace.path,
        items={kind: items[kind] for kind in in_order(items)},
        annotation=annotation,
        judged=judged,
        written=written,
        with_majority=MajorityAgreement(len(majorities) - ties, agreed, ties, raters),
        among_raters=raw_agreement(units.values()),
        alpha=krippendorff_alpha(
            [[values[place] for values in units.values()] for place in range(len(raters))]
        ),
    )
