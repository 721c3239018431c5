"""Dataclasses as JSON: the same as what was written out by hand, in the same order."""

import json
from dataclasses import asdict, dataclass, field

import numpy
import pytest

from agents.pipelines.pair_annotation.run_steps import PairSeconds, StageSeconds
from store.analysis.accuracy import RaterAccuracy
from store.analysis.times import TimeBin
from store.json_fields import NOT_IN_JSON, json_fields, json_name
from store.measures.accuracy import Accuracy
from store.measures.intervals import Interval
from store.queries.progress import KindProgress
from store.queries.run_figures import RoleFigures
from store.queries.run_items import FailureCause, FailureMessage
from store.studies.design import RaterBalance
from store.studies.pace import Pace
from store.studies.plan import PlanPreview, RaterPlan

FEW = Interval(None, None, 0.95, 3, 1000, 0)


def figures() -> Accuracy:
    found = dict.fromkeys(
        ("accuracy", "ci_low", "ci_high", "precision", "recall", "f1", "kappa", "coverage"), 0.5
    )
    return Accuracy(
        n=8, **found, given=9, accuracy_undecided_wrong=None, intervals={"accuracy": FEW}, classes=(0.0, 1.0)
    )


def accuracy_by_hand(found: Accuracy) -> dict:
    fields = asdict(found)
    for name, interval in found.intervals.items():
        fields["intervals"][name]["warning"] = interval.warning
    return fields


def rater() -> RaterAccuracy:
    return RaterAccuracy(
        *("ana", "human", figures(), False, 8, 0, 1, None, None, None, None),
        known=numpy.array([True]),
        wrong=numpy.array([False]),
    )


def rater_by_hand(found: RaterAccuracy) -> dict:
    fields = asdict(found)
    for name in ("figures", "known", "wrong"):
        del fields[name]
    return {
        "rater": fields.pop("name"),
        "kind": fields.pop("kind"),
        **accuracy_by_hand(found.figures),
        **fields,
    }


def without(found, name: str, **also) -> dict:
    fields = asdict(found)
    fields.pop(name, None)
    return fields | also


TIMES = TimeBin(0.0, None, 2.5, None, None, items=(7, 8))
KIND = KindProgress("pair", 5, 2, 1, 0, None, None)
ROLE = RoleFigures(
    "screener",
    3,
    2,
    1,
    1,
    1,
    lately=0,
    requests=4,
    tokens_in=90,
    tokens_out=7,
    money=None,
    unpriced=2,
    from_cache=1,
    seconds=10.00049,
)
CAUSE = FailureCause("rate_limited", 3, 2, (FailureMessage("Too many.", 2), FailureMessage("Later.", 1)))
BALANCE = RaterBalance("ana", 4, {"blind": 4}, 0, 1, 2)
PACE = Pace("own-test", again=False, seconds=240.0, timed=3, is_measured=False)
PLAN = PlanPreview("all", 4, (RaterPlan(BALANCE, 5, 1, 0.25),), None, (PACE,), "an item")


@pytest.mark.parametrize(
    ("found", "by_hand"),
    [
        (figures(), accuracy_by_hand(figures())),
        (rater(), rater_by_hand(rater())),
        (TIMES, without(TIMES, "items", n=2)),
        (KIND, without(KIND, "kind", left=KIND.left)),
        (StageSeconds(3, 2, 5.0), {"steps": 3, "pairs": 2, "total": 5.0, "mean": 2.5}),
        (StageSeconds(0, 0, 0.0), {"steps": 0, "pairs": 0, "total": 0.0, "mean": None}),
        (
            PairSeconds(2, 3.0, 1.0, 2.0, {"a": StageSeconds(1, 1, 4.0)}),
            {
                "pairs": 2,
                "total": 3.0,
                "mean": 1.5,
                "median": 1.0,
                "longest": 2.0,
                "stages": {"a": {"steps": 1, "pairs": 1, "total": 4.0, "mean": 4.0}},
            },
        ),
        (
            ROLE,
            {
                "role": "screener",
                "turns": 3,
                "items": 2,
                "failed": 1,
                "retries": 1,
                "retried_items": 1,
                "last_minute": 0,
                "requests": 4,
                "tokens_in": 90,
                "tokens_out": 7,
                "cost": None,
                "unpriced": 2,
                "from_cache": 1,
                "seconds": 10.0,
                "seconds_a_turn": 3.333,
            },
        ),
        (
            CAUSE,
            {
                "cause": "rate_limited",
                "items": 3,
                "different_messages": 2,
                "messages": [{"message": "Too many.", "items": 2}, {"message": "Later.", "items": 1}],
            },
        ),
        (
            PLAN,
            {
                "raters": [{**asdict(BALANCE), "assignments": 5, "sittings": 1, "hours": 0.25}],
                "shared": None,
                "paces": [
                    {
                        "condition": "own-test",
                        "again": False,
                        "question_seconds": 240.0,
                        "timed": 3,
                        "is_measured": False,
                    }
                ],
            },
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_json_by_fields_is_that_by_hand(found, by_hand):
    assert json.dumps(json_fields(found)) == json.dumps(by_hand)


def test_values_keep_their_type_and_a_method_of_its_own_is_asked():
    @dataclass
    class Inner:
        hidden: int

        def to_dict(self):
            return {"shown": self.hidden + 1}

    @dataclass
    class Outer:
        inner: Inner
        by_name: dict[str, Inner]
        every: tuple[Inner, ...]
        kept: object = field(metadata=json_name("other"))
        secret: str = field(default="", metadata=NOT_IN_JSON)

    one, value = Inner(1), object()
    assert json_fields(Outer(one, {"a": one}, (one, one), value)) == {
        "inner": {"shown": 2},
        "by_name": {"a": {"shown": 2}},
        "every": [{"shown": 2}, {"shown": 2}],
        "other": value,
    }
