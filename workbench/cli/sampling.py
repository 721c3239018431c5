"""The options --sample-pairs, --seed and --stratify, which several commands have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import HiddenData, WorkbenchError
from store.policy.scope import Shows

if TYPE_CHECKING:
    from store.policy.scope import RunRef, Scope
    from store.queries.sampling import ItemSample
    from store.workspace.duckdb import Workspace

SamplePairs = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Only N randomly sampled pairs, whatever their queries."),
]
Seed = Annotated[int | None, typer.Option(metavar="S", help="The seed of the sample; 0 by default.")]
Stratify = Annotated[
    str | None,
    typer.Option(
        metavar="BY",
        help="Sample in proportion from each label or path of the shown run, or from label:RATER.",
    ),
]


@dataclass(frozen=True, slots=True)
class SampleChoice:
    """The options of a random sample of items, as they were given.

    Attributes:
        number: The size; None for no sample.
        seed: The seed as it was given.
        stratify: The strata as they were given.
    """

    number: int | None
    seed: int | None
    stratify: str | None

    def check(self, viewer: Scope, queries: int | None = None) -> None:
        """Refuse options of a sample without one, and strata that tell of labels in a blind review.

        Args:
            viewer: Who asks.
            queries: The size of a sample of queries, which has a seed too.

        Raises:
            WorkbenchError: One of these.
        """
        if self.seed is not None and self.number is None and queries is None:
            raise WorkbenchError(
                "A seed without a sample",
                "--seed is the seed of a random sample.",
                "Say how many: --sample-pairs N; annotate also has --sample-queries N.",
            )
        if self.number is not None and queries is not None:
            raise WorkbenchError(
                "Two samples",
                "--sample-queries and --sample-pairs ask for two different samples.",
                "Give one of them.",
            )
        if self.stratify is not None and self.number is None:
            raise WorkbenchError(
                "Strata without a sample",
                "--stratify says how a random sample of pairs is taken.",
                "Say how many: --sample-pairs N.",
            )
        if self.stratify is not None and not viewer.may(Shows.OTHERS):
            raise WorkbenchError(
                "Blind review",
                "A stratified sample shows the distribution of labels, which a blind review hides.",
                "Leave --stratify out. After the review, set screens.blind = false.",
            )

    def refuse_in_sitting(self) -> None:
        """Refuse a sample in the session of a rater of an open study: it is one of all items.

        Raises:
            HiddenData: A sample is asked for.
        """
        if self.number is not None:
            raise HiddenData(
                "Sealed session",
                "A sample is taken of all items, and a rater of an open study sees those of the sitting.",
                "Leave --sample-pairs out.",
            )

    def take(self, opened: Workspace, kind: str, run: RunRef | None = None) -> ItemSample | None:
        """Return the sample of the items of a kind; None where none is asked for.

        Args:
            opened: The open workspace.
            kind: The task kind of the items.
            run: The run that the command names; None where it names none.

        Raises:
            WorkbenchError: There are fewer items, or nothing to stratify by.
        """
        from store.queries.sampling import Stratification, sample_single_items

        if self.number is None:
            return None
        by = None if self.stratify is None else Stratification.parse(self.stratify)
        with opened.reading() as connection:
            return sample_single_items(connection, kind, self.number, self.seed or 0, by, run=run)


def print_strata(sample: ItemSample | None) -> None:
    """Print how many items were taken from each stratum; nothing for a sample without strata."""
    from workbench.output import print_table, say

    if sample is not None and sample.strata:
        print_table(
            ("stratum", "items", "sampled"), [(one.stratum, one.items, one.sampled) for one in sample.strata]
        )
        say("")
