"""The replies of the agents of a code search, as pydantic models."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ResearcherReply(BaseModel):
    """A look-up, or the paragraph (RepoRift, section 2.1)."""

    model_config = ConfigDict(frozen=True)

    look_up: str = Field(default="", max_length=2_000)
    paragraph: str = Field(default="", max_length=20_000)

    def form_problem(self) -> str:
        """Say that it is neither or both."""
        if bool(self.look_up.strip()) == bool(self.paragraph.strip()):
            return "it needs either a look_up or a paragraph, which are texts that are not empty"
        return ""


class CoderReply(BaseModel):
    """Code for the paragraph (section 2.2)."""

    model_config = ConfigDict(frozen=True)

    code: str = Field(min_length=1, max_length=100_000)


class AssessorReply(BaseModel):
    """The better code (section 2.2)."""

    model_config = ConfigDict(frozen=True)

    assessment: str
    code: str = Field(min_length=1, max_length=100_000)


class RankerReply(BaseModel):
    """The order of what was found (section 2.2, the further processing of the final target set)."""

    model_config = ConfigDict(frozen=True)

    ranking: list[int] = Field(max_length=1_000)
