"""Compute irrCAC's coefficients: python irrcac.py FOLDER_OF_DATA > irrcac.json."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import pandas
from irrCAC.datasets import raw_4raters
from irrCAC.raw import CAC

DATA = Path(sys.argv[1])


def coefficients(ratings):
    """AC1, Fleiss' kappa and AC2 with quadratic weights, each with its standard error."""
    plain, quadratic = CAC(ratings), CAC(ratings, weights="quadratic")
    found = {"ac1": plain.gwet(), "fleiss": plain.fleiss(), "ac2_quadratic": quadratic.gwet()}
    return {
        name: [float(each["est"]["coefficient_value"]), float(each["est"]["se"])]
        for name, each in found.items()
    }


def grades():
    """A row for each answer of a model, a column for each grader."""
    records = json.loads((DATA / "codegen-grades" / "conala-human-grades.json").read_text())
    return pandas.DataFrame(
        [given for record in records for model, given in record.items() if model.startswith("grade-")]
    ).astype(float)


def verdicts():
    """A row for each pair of answers, a column for each annotator."""
    records = json.loads((DATA / "pandalm" / "testset-v1.part.json").read_text())
    return pandas.DataFrame(
        [[record[f"annotator{number}"] for number in (1, 2, 3)] for record in records]
    ).astype(float)


print(
    json.dumps(
        {
            "program": f"irrCAC {version('irrCAC')}, numpy {version('numpy')}, pandas {version('pandas')}",
            "gwet": coefficients(raw_4raters()),
            "codegen-grades": coefficients(grades()),
            "pandalm": coefficients(verdicts()),
        },
        indent=1,
    )
)
