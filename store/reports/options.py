"""The options of reports."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from store.formatting import in_list
from store.measures.intervals import Bootstrap
from store.policy.scope import FIRST_PHASES

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.policy.scope import RunRef, Scope


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a report; None, nothing or False stands for what it takes by default.

    Attributes:
        question: The question's name; `all` for every question of people.
        kind: The kind of the items.
        study: The study under whose assignments labels were given; all labels by default.
        phase: The only phase whose labels count.
        rater: A rater.
        raters: The raters that alone count.
        run: The agents' run that alone counts: its name, how that begins or ends, or its id.
        split: A split whose items alone count.
        part: The only part of it.
        policy: What makes one label of several; of accuracy also a rater, whose labels are true then.
        preset: How a benchmark measures.
        panel: The raters that the policy is of; people by default.
        with_revealed: Whether labels judged with those of agents or judges on the screen count as true.
        compare: Raters, or methods, of which every two are compared.
        population: What the sample of true labels was stratified by: `all`, `label`, `path`, `label,path`.
        bootstrap: Resamples of intervals; 1,000 by default.
        bootstrap_units: Whether single items are drawn, although they form groups.
        seed: The seed of the draws; 0 by default.
        by_item: Whether each item is given, too.
        blocks: Items of a block, for the mean of alpha over blocks.
        elo_k: How far a battle moves an Elo rating; 4 by default.
        prior: Ties that every two candidates are taken to have had, for a regularised fit.
        baseline: The candidate that the others are scored against.
        judges: Raters that are models, where the record does not show it.
        group_by: The field of comparisons by whose values rates are given.
        half_width: Of a plan: the wanted half-width of the 95 % interval, from 0.001 to below 1.
        per_query: Items of each query, 1 to 1,000.
        rater_count: The raters of each item, at least 2.
        alpha: The expected alpha, between 0 and 1.
        prevalence: The share of the second of the two answers, between 0 and 1.
        accuracy: The expected accuracy, between 0 and 1.
        correlation: The intraclass correlation within a query, from 0 to below 1.
        items: Items of two methods' comparison, 1 to 100,000.
        p10: The share of items that only the first method has right, 0 to 1.
        p01: The share of items that only the second one has right, 0 to 1.
        power: The wanted power, between 0 and 1.
        significance: The level of McNemar's test, between 0 and 1.
        own: The rater whose labels alone may be read, as in a blind review; None where those of all may be.
        blind: Whether the labels of others are hidden.
        scope: What the session of a rater sees; everything by default.
    """

    question: str | None = None
    kind: str | None = None
    study: str | None = None
    phase: str | None = None
    rater: str | None = None
    raters: tuple[str, ...] = ()
    run: str | None = None
    split: str | None = None
    part: str | None = None
    policy: str | None = None
    preset: str | None = None
    panel: tuple[str, ...] = ()
    with_revealed: bool = False
    compare: tuple[str, ...] = ()
    population: str | None = None
    bootstrap: int | None = None
    bootstrap_units: bool = False
    seed: int | None = None
    by_item: bool = False
    blocks: int | None = None
    elo_k: float | None = None
    prior: float | None = None
    baseline: str | None = None
    judges: tuple[str, ...] = ()
    group_by: str | None = None
    half_width: float | None = None
    per_query: int | None = None
    rater_count: int | None = None
    alpha: float | None = None
    prevalence: float | None = None
    accuracy: float | None = None
    correlation: float | None = None
    items: int | None = None
    p10: float | None = None
    p01: float | None = None
    power: float | None = None
    significance: float | None = None
    own: str | None = None
    blind: bool = False
    scope: Scope | None = None

    @property
    def resampling(self) -> Bootstrap:
        """The bootstrap of intervals."""
        resamples = 1000 if self.bootstrap is None else self.bootstrap
        return Bootstrap(resamples, self.seed or 0, self.bootstrap_units)

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases whose labels count: those in which labels are first given, or the one that is named."""
        return FIRST_PHASES if self.phase is None else (self.phase,)

    def run_of(self, connection: Connection) -> RunRef | None:
        """Return the run that is named; None where none is.

        Raises:
            UnknownName: No run, or more than one, is called so.
        """
        from store.policy.scope import RunRef
        from store.queries.runs import all_runs, named_run

        if self.run is None:
            return None
        found = named_run(all_runs(connection), self.run)
        return RunRef(found.id, found.name)

    def arguments(self, **taken: object) -> tuple[str, ...]:
        """Return the options of a command that say the same.

        Args:
            taken: What a report took by default, and says, too.
        """
        words: list[str] = []
        for name in NAMES:
            value = taken.get(name, getattr(self, name))
            option = f"--{name.replace('_', '-')}"
            if isinstance(value, tuple):
                value = in_list(value) or None
            if value is True:
                words.append(option)
            elif value is not None and value is not False:
                words += [option, f"{value:.15g}" if isinstance(value, float) else str(value)]
        return tuple(words)


NAMES = tuple(one.name for one in fields(Options) if one.name not in ("own", "blind", "scope"))
"""The options that a command can give."""


def command_line(workspace: str, arguments: tuple[str, ...]) -> str:
    """Return the command that prints a report; empty for none."""
    return f"workbench report {shlex.join([workspace, *arguments])}" if arguments else ""
