"""Fit crowd-kit's Dawid-Skene model to the simulated ratings: python crowd_kit.py > crowd_kit.json."""

import json
from importlib.metadata import version

import numpy
import pandas
from crowdkit.aggregation import DawidSkene
from simulated import digest, four_answers, two_answers


def fit(ratings, iterations):
    """Confusion and shares after so many iterations, and the posterior of the first units."""
    rater, unit = numpy.nonzero(~numpy.isnan(ratings))
    data = pandas.DataFrame({"task": unit, "worker": rater, "label": ratings[rater, unit].astype(int)})
    # With this tolerance it never stops early.
    model = DawidSkene(n_iter=iterations, tol=-numpy.inf).fit(data)
    units = numpy.unique(unit)[:200]
    posterior = model.probas_.loc[units].sort_index(axis=1)
    raters, answers = len(ratings), posterior.shape[1]
    given = pandas.MultiIndex.from_product([range(raters), range(answers)])
    errors = model.errors_.sort_index(axis=1).reindex(given, fill_value=0.0).to_numpy()
    return {
        "digest": digest(ratings),
        "iterations": len(model.loss_history_),
        "units": units.tolist(),
        "posterior": [[round(float(each), 10) for each in row] for row in posterior.to_numpy()],
        # Given the true value, as we have it: its own tables are (given, true).
        "confusion": errors.reshape(raters, answers, answers).transpose(0, 2, 1).tolist(),
        "shares": model.priors_.sort_index().tolist(),
    }


print(
    json.dumps(
        {
            "program": f"crowd-kit {version('crowd-kit')}, numpy {version('numpy')}",
            "two_answers": fit(two_answers()[1], 25),
            "four_answers": fit(four_answers()[1], 40),
        }
    )
)
