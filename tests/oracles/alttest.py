"""Run the published alternative annotator test: python alttest.py NOTEBOOK > alttest.json.

The notebook is alt_test_example.ipynb of github.com/nitaytech/AltTest at commit 13eada2.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy
from simulated import agent_and_annotators, digest

published = {}
for cell in json.loads(Path(sys.argv[1]).read_text())["cells"]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "code" and ("def alt_test" in source or "import numpy" in source):
        exec(source, published)


def run(kind, epsilon):
    """Winning rate and average advantage probability."""
    agent, annotators = agent_and_annotators(kind)
    values = [
        {unit: float(value) for unit, value in enumerate(row) if not numpy.isnan(value)} for row in annotators
    ]
    rate, advantage = published["alt_test"](
        dict(enumerate(agent.tolist())), dict(enumerate(values)), scoring_function=kind, epsilon=epsilon
    )
    return {
        "digest": digest(numpy.vstack([agent, annotators])),
        "kind": kind,
        "epsilon": epsilon,
        "winning_rate": rate,
        "advantage": advantage,
    }


cases = [run(kind, epsilon) for kind in ("accuracy", "neg_rmse") for epsilon in (0.0, 0.1, 0.2)]
print(
    json.dumps({"program": f"AltTest 13eada2, scipy {version('scipy')}", "cases": cases}, indent=1),
    file=sys.__stdout__,
)
