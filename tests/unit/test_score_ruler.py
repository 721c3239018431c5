"""The ruler of a long scale: own score, judge's score and bands."""

from __future__ import annotations

import pytest

from screens.review.ruler import band_of, is_long, ruler
from store.kinds.answer import ANSWER
from store.kinds.pair import PAIR

ACCURACY = ANSWER.questions[0].scale


@pytest.mark.parametrize(
    ("own", "judge", "shown"),
    [
        (None, None, "1 ─ ─│─ ─│─ ─│─ ─│─ ─ 10"),
        (4, 7, "1 ─ ─│─ ●│─ ─│◆ ─│─ ─ 10"),
        (None, 7.5, "1 ─ ─│─ ─│─ ─│─◆─│─ ─ 10"),
        (1, 10, "1 ● ─│─ ─│─ ─│─ ─│─ ◆ 10"),
        (6, 6, "1 ─ ─│─ ─│─ ●│─ ─│─ ─ 10 ●=◆"),
    ],
)
def test_scores_stand_at_their_points(own: float | None, judge: float | None, shown: str) -> None:
    assert ruler(ACCURACY, own, judge).plain == shown


def test_only_long_scales_are_rulers() -> None:
    assert is_long(ACCURACY)
    assert not any(is_long(question.scale) for question in PAIR.questions)
    assert (band_of(ACCURACY, 7), band_of(ACCURACY, 7.5)) == ("small inaccuracies, right as a whole", "")
