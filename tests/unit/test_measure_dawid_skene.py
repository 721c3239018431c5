"""Dawid and Skene's model, against the ratings' simulated truth and against crowd-kit."""

import json
from pathlib import Path

import numpy
import pytest
from oracles.simulated import CONFUSION, SHARES, digest, four_answers, rate, two_answers

from store.measures.dawid_skene import dawid_skene

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "crowd_kit.json").read_text(encoding="utf-8"))


def shown(true, ratings):
    """How often each rater gave each value in this sample, by the true value."""
    return numpy.array([[[(row[true == t] == g).mean() for g in (0, 1)] for t in (0, 1)] for row in ratings])


def test_the_errors_of_five_raters_are_found_without_the_truth():
    true, ratings = two_answers()
    model = dawid_skene(ratings)
    assert model.converged
    assert abs(model.confusion - CONFUSION).max() < 0.03
    assert abs(model.shares - SHARES).max() < 0.03
    assert (model.labels == true).mean() > 0.97
    assert model.confusion.sum(axis=2) == pytest.approx(1)
    assert model.posterior.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_the_errors_are_those_of_the_sample(seed):
    # 1,000 items of a true value already err by up to 0.04 from what they were drawn from: the model is
    # compared with what the sample shows to those who know the truth.
    true, ratings = rate(seed, 2_000, SHARES, CONFUSION)
    assert abs(dawid_skene(ratings).confusion - shown(true, ratings)).max() < 0.03


@pytest.mark.parametrize("made", [two_answers, four_answers])
def test_it_is_the_model_of_crowd_kit(made):
    expected = ORACLE[made.__name__]
    _, ratings = made()
    assert digest(ratings) == expected["digest"]
    model = dawid_skene(ratings, iterations=expected["iterations"], tolerance=-1)
    assert model.iterations == expected["iterations"]
    assert not model.converged
    assert abs(model.posterior[expected["units"]] - expected["posterior"]).max() < 1e-9
    assert abs(model.confusion - expected["confusion"]).max() < 1e-9
    assert abs(model.shares - expected["shares"]).max() < 1e-9


def test_one_step_by_hand():
    # The first guess of 0 is 1, 2/3 and 0: the share of 0 is 5/9; the first two raters give 0 to all of it and
    # to 1/4 of the rest, the third one gives 1 to 2/5 of it and to all of the rest. Of the second unit the
    # values have 5/9 * 2/5 and 4/9 * 1/4 * 1/4.
    model = dawid_skene([[0, 0, 1], [0, 0, 1], [0, 1, 1]], iterations=1)
    assert model.posterior.tolist() == [
        pytest.approx([1, 0], abs=1e-9),
        pytest.approx([8 / 9, 1 / 9]),
        pytest.approx([0, 1], abs=1e-9),
    ]
    assert model.shares == pytest.approx([17 / 27, 10 / 27])
    assert model.confusion[2] == pytest.approx(numpy.array([[9 / 17, 8 / 17], [0, 1]]), abs=1e-9)


def test_missing_values_units_and_raters():
    nan = numpy.nan
    model = dawid_skene([[3, 3, 7, nan, 7], [3, 3, 7, nan, nan], [nan] * 5, [7, 3, 7, nan, 7]])
    assert model.domain.tolist() == [3, 7]
    assert model.labels[[0, 1, 2, 4]].tolist() == [3, 3, 7, 7]
    assert numpy.isnan(model.labels[3])
    assert numpy.isnan(model.posterior[3]).all()
    assert numpy.isnan(model.confusion[2]).all()
    assert not numpy.isnan(model.confusion[[0, 1, 3]]).any()
    assert model.shares.sum() == pytest.approx(1)


def test_a_tie_has_no_label():
    model = dawid_skene([[0, 1, 0, 1], [0, 1, 1, 0]])
    assert numpy.isnan(model.labels[[2, 3]]).all()
    assert model.labels[:2].tolist() == [0, 1]


def test_ratings_of_one_value_and_of_none():
    model = dawid_skene([[1, 1], [1, None]])
    assert (model.labels.tolist(), model.shares.tolist(), model.converged) == ([1, 1], [1], True)
    nothing = dawid_skene([[None, None]])
    assert numpy.isnan(nothing.labels).all()
    assert (len(nothing.domain), nothing.iterations) == (0, 0)
    assert dawid_skene(numpy.empty((0, 3))).labels.shape == (3,)
    with pytest.raises(ValueError, match="shape"):
        dawid_skene([1, 0])
    with pytest.raises(ValueError, match="iteration"):
        dawid_skene([[1, 0]], iterations=0)


def test_many_raters_are_told_apart_by_rows():
    # Forty raters of three values have more rows than a number of 64 bits can tell apart.
    true, ratings = rate(3, 300, numpy.full(3, 1 / 3), numpy.tile(0.4 * numpy.eye(3) + 0.2, (41, 1, 1)), 0.2)
    assert (dawid_skene(ratings).labels == true).mean() > 0.97
