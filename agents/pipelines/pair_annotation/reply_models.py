"""The replies of the agents of Algorithm 1, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class ScreenerReply(BaseModel):
    """Whether a pair's match is clear by reading alone (CoSQA+, section IV.C.a)."""

    model_config = ConfigDict(frozen=True)

    assessment: Literal["clear_match", "clear_nonmatch", "unclear"]
    justification: str = Field(min_length=1)


class TestWriterReply(BaseModel):
    """A test program under one plausible interpretation of the query (section IV.C.b)."""

    __test__ = False
    model_config = ConfigDict(frozen=True)

    interpretation: str = Field(min_length=1)
    test_program: str = Field(min_length=1)


class BugFixerReply(BaseModel):
    """Terminal commands that repair a program's environment; none where nothing helps (section IV.C.c)."""

    model_config = ConfigDict(frozen=True)

    explanation: str = Field(min_length=1)
    commands: tuple[Annotated[str, Field(min_length=1, max_length=4000)], ...] = Field(max_length=10)


class PredictedTest(BaseModel):
    """A model's prediction of one test, which was not run."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(min_length=1)
    outcome: Literal["passed", "failed", "error"]
    why: str


class SimulationReply(BaseModel):
    """A model's prediction of a test program's result, in place of an execution (section V.D)."""

    model_config = ConfigDict(frozen=True)

    executable: bool
    environment_error: str
    tests: tuple[PredictedTest, ...] = Field(max_length=100)


class ArbiterReply(BaseModel):
    """The final word on a pair: 1 match, 0 no match (section IV.C.d); a single model says the same."""

    model_config = ConfigDict(frozen=True)

    label: Literal[0, 1]
    reason: str = Field(min_length=1)
