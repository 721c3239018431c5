"""Gwet's coefficients and their standard errors, equal to irrCAC's at the five decimals that it gives."""

import json
from pathlib import Path

import numpy
import pytest

from store.measures.coefficients import Patterns, fleiss_kappa, gwet_ac, standard_error

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "irrcac.json").read_text(encoding="utf-8"))
COEFFICIENTS = {"ac1": gwet_ac(), "fleiss": fleiss_kappa(), "ac2_quadratic": gwet_ac("quadratic")}
_ = None
GWET = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, _],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]


def check(ratings, expected):
    counts = Patterns.of_ratings(numpy.array(ratings, dtype=float))
    for name, coefficient in COEFFICIENTS.items():
        found = [coefficient.of(counts), standard_error(coefficient, counts)]
        assert [round(each, 5) for each in found] == expected[name], name


def test_the_example_of_four_raters():
    check(GWET, ORACLE["gwet"])


def test_grades_of_generated_code(shared_data):
    records = json.loads((shared_data("codegen-grades") / "conala-human-grades.json").read_text())
    answers = [given for record in records for model, given in record.items() if model.startswith("grade-")]
    graders = sorted({grader for given in answers for grader in given})
    check([[given.get(grader) for given in answers] for grader in graders], ORACLE["codegen-grades"])


def test_verdicts_on_pairs_of_answers(shared_data):
    records = json.loads((shared_data("pandalm") / "testset-v1.part.json").read_text())
    ratings = [[record[f"annotator{number}"] for record in records] for number in (1, 2, 3)]
    check(ratings, ORACLE["pandalm"])
    with pytest.raises(AssertionError):
        check(ratings[:2], ORACLE["pandalm"])
