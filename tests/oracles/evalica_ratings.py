"""Rate simulated battles by evalica: python evalica_ratings.py > evalica.json."""

import json
import math
from importlib.metadata import version

import evalica
from simulated import battles

WINNERS = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}


def rate(rows):
    """Bradley-Terry and Elo of battles."""
    first, second, scores = (list(column) for column in zip(*rows, strict=True))
    winners = [WINNERS[score] for score in scores]
    # Its default tolerance leaves ratings off by 1.9e-6.
    strengths = evalica.bradley_terry(first, second, winners, tolerance=1e-12, limit=100_000).scores
    points = {name: 400 * math.log10(value) for name, value in strengths.items()}
    mean = sum(points.values()) / len(points)
    return {
        "bradley_terry": {name: 1000 + value - mean for name, value in sorted(points.items())},
        "elo": {
            str(k): dict(sorted(evalica.elo(first, second, winners, k=k).scores.items())) for k in (4, 32)
        },
    }


print(json.dumps({"program": f"evalica {version('evalica')}", "battles": rate(battles())}, indent=1))
