import enum
from typing import Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from agents.llm.protocol import Message, ModelRequest, Usage
from agents.llm.schemas import describe_schema, schema_name, strict_schema
from agents.llm.settings import ModelSettings


class Ruling(BaseModel):
    verdict: Literal["match", "no match"]
    reason: str


class OtherRuling(BaseModel):
    verdict: Literal["match", "no match"]
    reason: str
    line: int


def request(**changes: object) -> ModelRequest:
    values: dict[str, object] = {
        "role": "arbiter",
        "subject": "pair-1",
        "messages": (Message("system", "You decide."), Message("user", "code: x: list[int]")),
        "reply_type": Ruling,
    }
    return ModelRequest(**(values | changes))  # type: ignore[arg-type]


def test_digest_is_the_same_in_every_session() -> None:
    # A constant: kept replies are found by it, so a change makes every one of them be paid for again.
    assert request().digest("openai:m")[:12] == "91cc526f166e"
    assert request(temperature=0).digest("openai:m") == request(temperature=0.0).digest("openai:m")


def test_digest_depends_on_all_that_a_model_is_told_and_on_nothing_else() -> None:
    other = (Message("user", "You decide."), Message("user", "code: x: list[int]"))
    joined = (Message("system", "You decide.code: x: list[int]"),)
    asked = [
        request(),
        request(temperature=0.5),
        request(temperature=None),
        request(max_output_tokens=5),
        request(seed=0),
        request(reply_type=OtherRuling),
        request(messages=other),
        request(messages=joined),
    ]
    digests = {request().digest("openai:n")} | {each.digest("openai:m") for each in asked}
    assert len(digests) == 9
    assert request(role="screener", subject="pair-2").digest("openai:m") in digests


def test_usage_adds_up() -> None:
    assert sum([Usage(1, 2, 3), Usage(10, 20, 30)], Usage()) == Usage(11, 22, 33)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Part(BaseModel):
    """A part of it."""

    size: int = Field(default=3, ge=1, description="How large.")
    colour: Colour = Field(description="Words beside a reference.")


class Whole(BaseModel):
    parts: list[Part] = Field(min_length=2)
    note: str | None = None
    either: Part | Literal["none"]


def test_strict_schema_closes_objects_and_tells_constraints_in_words() -> None:
    schema = strict_schema(Whole)
    assert schema["required"] == ["parts", "note", "either"]
    assert schema["additionalProperties"] is False
    part = schema["$defs"]["Part"]
    assert part["required"] == ["size", "colour"]
    assert part["additionalProperties"] is False
    assert part["properties"]["size"] == {
        "type": "integer",
        "title": "Size",
        "description": "How large. (minimum: 1)",
    }
    assert part["properties"]["colour"] == {"$ref": "#/$defs/Colour"}
    assert schema["$defs"]["Colour"]["enum"] == ["red", "blue"]
    assert schema["properties"]["parts"]["description"] == "(minItems: 2)"
    assert schema["properties"]["note"]["anyOf"] == [{"type": "string"}, {"type": "null"}]


def test_strict_schema_refuses_free_keys() -> None:
    class Free(BaseModel):
        scores: dict[str, int]

    with pytest.raises(TypeError, match="free keys"):
        strict_schema(Free)


def test_schema_names_use_only_allowed_letters() -> None:
    named = type("Rülings[int] of " + "x" * 80, (BaseModel,), {})
    assert schema_name(named)[:12] == "R_lings_int_"
    assert len(schema_name(named)) == 64
    assert '"Ruling"' in describe_schema(Ruling)


def test_settings_take_what_a_configuration_file_can_say() -> None:
    settings = ModelSettings(
        temperature="default", openai_api_key="k", openai_base_url="http://localhost:1/v1"
    )
    assert settings.temperature is None
    assert settings.openai_base_url == "http://localhost:1/v1"
    assert "k'" not in repr(settings)
    assert all(field.description for field in ModelSettings.model_fields.values())


@pytest.mark.parametrize(
    "wrong", [{"openai_base_url": "localhost:11434"}, {"timeout_seconds": 0}, {"openai_key": "k"}]
)
def test_settings_refuse_what_cannot_work(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ModelSettings(**wrong)
