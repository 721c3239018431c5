"""The configurations of agents that come with the program."""

from __future__ import annotations

from agents.pipelines.completion_prediction.configurations import CONFIGURATIONS as COMPLETING
from agents.pipelines.pair_annotation.configurations import CONFIGURATIONS as ANNOTATING
from agents.pipelines.pairwise_judging.configurations import CONFIGURATIONS as JUDGING
from agents.pipelines.repository_answers.configurations import CONFIGURATIONS as ANSWERING

_BY_KIND = {"pair": ANNOTATING, "comparison": JUDGING, "completion": COMPLETING, "answer": ANSWERING}

OURS = {each.name: each for configurations in _BY_KIND.values() for each in configurations}
"""The configurations, by name."""

KIND_OF = {each.name: kind for kind, configurations in _BY_KIND.items() for each in configurations}
"""The task kind that each of them works on."""
