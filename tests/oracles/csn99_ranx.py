"""Compute ranx's exponential NDCG on CodeSearchNet's grades: python csn99_ranx.py FOLDER > csn99_ranx.json."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy
from csn99 import fixed_run, graded_rows
from ranx import Qrels, Run, evaluate
from ranx.metrics import ndcg_burges

rows = graded_rows(Path(sys.argv[1]))
run = fixed_run(rows)
grades = {}
for topic, code, grade in rows:
    grades.setdefault(topic, {}).setdefault(code, []).append(grade)
mean = {topic: {code: sum(of) / len(of) for code, of in codes.items()} for topic, codes in grades.items()}
highest = {topic: {code: max(of) for code, of in codes.items()} for topic, codes in grades.items()}
topics = [topic for topic, codes in mean.items() if max(codes.values()) > 0]


def of_means(cut, condensed):
    """The function itself, on arrays of (code, grade) and (code, score): the class Qrels rounds means."""
    found = []
    for topic in topics:
        places = {code: float(place) for place, code in enumerate(run[topic])}
        graded = sorted(mean[topic].items(), key=lambda each: -each[1])
        qrels = numpy.array([[places[code], grade] for code, grade in graded])
        ranked = [code for code in run[topic] if not condensed or code in mean[topic]]
        scored = numpy.array([[places[code], -place] for place, code in enumerate(ranked)], dtype=float)
        found.append(float(ndcg_burges(qrels[None], scored[None], cut, 1e-9)[0]))
    return found


print(
    json.dumps(
        {
            "program": f"ranx {version('ranx')}, numpy {version('numpy')}",
            "topics": len(topics),
            "mean": {
                "ndcg_exp@10": of_means(10, False),
                "ndcg_exp": of_means(0, False),
                "ndcg_exp_condensed": of_means(0, True),
            },
            "max": {
                "ndcg_exp@10": float(
                    evaluate(
                        Qrels({topic: highest[topic] for topic in topics}),
                        Run(
                            {
                                topic: {code: float(-place) for place, code in enumerate(run[topic])}
                                for topic in topics
                            }
                        ),
                        "ndcg_burges@10",
                    )
                )
            },
        },
        indent=1,
    )
)
