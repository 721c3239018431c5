"""The replies of the agents of Algorithm 1, as pydantic models.

Their fields stand in the order in which they are asked for and generated: the reasoning before the label.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.llm.fenced import FencedPython
from agents.sandbox.cells import split_cells
from agents.sandbox.inside.listing import list_tests
from store.parsing import parse_python

Program = Annotated[str, Field(min_length=1), FencedPython()]
"""A Python program, in the JSON object or as a fenced block beside it."""

_MOST_PROBLEMS = 8


class ScreenerReply(BaseModel):
    """Whether a pair's match is clear by reading alone (CoSQA+, section IV.C.a)."""

    model_config = ConfigDict(frozen=True)

    justification: str = Field(min_length=1)
    assessment: Literal["clear_match", "clear_nonmatch", "unclear"]


class TestWriterReply(BaseModel):
    """A test program under one plausible interpretation of the query (section IV.C.b)."""

    __test__ = False
    model_config = ConfigDict(frozen=True)

    interpretation: str = Field(min_length=1)
    test_program: Program

    def form_problem(self) -> str:
        """Say what of the program would not be run as a test."""
        return _form_problem(self.test_program)


class BugFixerReply(BaseModel):
    """Terminal commands that repair a program's environment; none where nothing helps (section IV.C.c)."""

    model_config = ConfigDict(frozen=True)

    explanation: str = Field(min_length=1)
    commands: tuple[Annotated[str, Field(min_length=1, max_length=4000)], ...] = Field(max_length=10)


class TestCorrectionReply(BaseModel):
    """A test program without a slip of its writer: the whole program, its tests unchanged."""

    __test__ = False
    model_config = ConfigDict(frozen=True)

    explanation: str = Field(min_length=1)
    test_program: Program

    def form_problem(self) -> str:
        """Say what of the program would not be run as a test."""
        return _form_problem(self.test_program)


class PredictedTest(BaseModel):
    """A model's prediction of one test, which was not run."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(min_length=1)
    why: str
    outcome: Literal["passed", "failed", "error"]


class SimulationReply(BaseModel):
    """A model's prediction of a test program's result, in place of an execution (section V.D)."""

    model_config = ConfigDict(frozen=True)

    environment_error: str
    executable: bool
    tests: tuple[PredictedTest, ...] = Field(max_length=100)


class ArbiterReply(BaseModel):
    """The final word on a pair: 1 match, 0 no match (section IV.C.d); a single model says the same."""

    model_config = ConfigDict(frozen=True)

    reason: str = Field(min_length=1)
    label: Literal[0, 1]


def _form_problem(program: str) -> str:
    """Say what of a test program would not be run as a test.

    Args:
        program: The whole text, with its scaffold.

    Returns:
        What is wrong, in words for its writer; empty where nothing is, and for a program that is no valid
        Python, since its execution says where.
    """
    _, tests = split_cells(program)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an escape that no string has
            listing = list_tests(parse_python(tests))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    problems = [] if listing.labels else ["the program has no function whose name begins with test_"]
    problems += [f"{label} is not run as a test: {why}" for label, why in listing.unrun.items()]
    problems += [f"{label} is not run: nothing calls it" for label in listing.never_began(bad=True)]
    problems += [
        f"{label} takes the argument {name}, and nothing gives a test an argument"
        for label, name in listing.parameters.items()
    ]
    return "; ".join(problems[:_MOST_PROBLEMS])
