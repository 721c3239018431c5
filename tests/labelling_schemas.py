"""What the files of labelling tools hold, as the tools' own libraries have it, for tests of ours.

`tests/oracles/labelling_tools.py` opens the same files with these libraries.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class Whole(BaseModel):
    """An object with these fields and no others."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Open(BaseModel):
    """An object with these fields and any others."""

    model_config = ConfigDict(extra="allow")


class LabelStudioResult(Whole):
    """A value of a control: label_studio_sdk.label_interface.region.Region."""

    id: str
    from_name: Literal["label", "comment"]
    to_name: Literal["code"]
    type: Literal["choices", "textarea"]
    meta: dict[str, Any] = {}
    value: dict[Literal["choices", "text"], Annotated[list[str], Field(min_length=1, max_length=1)]]


class LabelStudioAnnotation(Whole):
    """label_studio_sdk.label_interface.objects.AnnotationValue, with what an export adds to it."""

    id: int
    result: list[LabelStudioResult]
    completed_by: int
    created_username: str
    was_cancelled: Literal[False]
    ground_truth: Literal[False]
    lead_time: float | None
    created_at: datetime
    updated_at: datetime


class LabelStudioPrediction(Whole):
    """label_studio_sdk.label_interface.objects.PredictionValue."""

    model_version: str
    result: list[LabelStudioResult]


class LabelStudioTask(Whole):
    """label_studio_sdk.label_interface.objects.TaskValue, with its number."""

    id: int
    data: dict[str, Any]
    annotations: list[LabelStudioAnnotation]
    predictions: list[LabelStudioPrediction]


class ArgillaResponse(Whole):
    """What argilla.Response is made of, beside the name of its question."""

    value: Literal["match", "no match"]
    user_id: UUID
    status: Literal["submitted"]


class ArgillaSuggestion(Whole):
    """What argilla.Suggestion is made of, beside the name of its question."""

    value: Literal["match", "no match"]
    score: None
    agent: str


class ArgillaRecord(Whole):
    """A record as `argilla.Record.from_dict` reads it."""

    id: str
    fields: dict[Literal["query", "code"], str]
    metadata: dict[str, Any]
    suggestions: dict[Literal["label"], ArgillaSuggestion]
    responses: dict[Literal["label"], list[ArgillaResponse]]
    vectors: dict[str, None]
    status: Literal["completed", "pending"]
    server_id: None = Field(alias="_server_id")


class FlatArgillaRecord(Open):
    """A record as `argilla.records.to_list(flatten=True)` has it."""

    id: str
    query: str
    code: str
    status: Literal["completed", "pending"]
    server_id: None = Field(alias="_server_id")
    responses: list[Literal["match", "no match"]] = Field(alias="label.responses")
    users: list[UUID] = Field(alias="label.responses.users")
    statuses: list[Literal["submitted"]] = Field(alias="label.responses.status")
    suggestion: Literal["match", "no match"] | None = Field(alias="label.suggestion")
    suggestion_score: None = Field(alias="label.suggestion.score")
    suggestion_agent: str | None = Field(alias="label.suggestion.agent")
    raters: list[str]
    provenance: list[str]


class ProdigyOption(Whole):
    """An option of the interface `choice`."""

    id: Literal["match", "no match"]
    text: Literal["match", "no match"]


class ProdigyTask(Open):
    """An annotated task of the interface `choice`, as Prodigy's documentation describes it."""

    text: str
    query: str
    code: str
    options: Annotated[list[ProdigyOption], Field(min_length=2, max_length=2)]
    accept: Annotated[list[Literal["match", "no match"]], Field(min_length=1, max_length=1)]
    answer: Literal["accept"]
    input_hash: int = Field(alias="_input_hash")
    task_hash: int = Field(alias="_task_hash")
    session_id: str = Field(alias="_session_id")
    annotator_id: str = Field(alias="_annotator_id")
    view_id: Literal["choice"] = Field(alias="_view_id")
    timestamp: int = Field(alias="_timestamp")
    provenance: dict[str, Any]


TASKS: dict[tuple[str, str], type[BaseModel]] = {
    ("label-studio", "json"): LabelStudioTask,
    ("argilla", "json"): ArgillaRecord,
    ("argilla", "jsonl"): FlatArgillaRecord,
    ("prodigy", "jsonl"): ProdigyTask,
}
"""What a record of each format is, by the format and the ending of the file's name."""
