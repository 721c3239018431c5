"""The people and protocols of judging: raters, questions, guidelines, studies, assignments."""

from __future__ import annotations

from sqlmodel import SQLModel

from store.tables.columns import UUID, big, datetime, moment, real, string, uid


class Rater(SQLModel, table=True):
    """A human, an agent configuration, or a column of labels in an imported file."""

    id: int = big(primary_key=True)
    kind: str = string()
    name: str = string()
    pseudonym: str = string(default="")
    created_at: datetime = moment()


class Question(SQLModel, table=True):
    """A question about items, with its scale as JSON (see store.record.scales)."""

    id: int = big(primary_key=True)
    name: str = string()
    task_kind: str = string()
    text: str = string()
    scale: str = string()


class Guideline(SQLModel, table=True):
    """One version of the text that raters were shown."""

    id: int = big(primary_key=True)
    task_kind: str = string()
    version: str = string()
    text: str = string()


class Study(SQLModel, table=True):
    """A protocol under which items are judged.

    `protocol` is JSON (see store.record.protocol). A study is a draft until it is frozen, which makes its
    assignments and writes its `manifest`, JSON as well; it is open until it is closed.
    """

    id: int = big(primary_key=True)
    name: str = string()
    protocol: str = string(default="{}")
    created_at: datetime = moment()
    frozen_at: datetime | None = moment(default=None)
    closed_at: datetime | None = moment(default=None)
    manifest: str = string(default="{}")


class StudyItem(SQLModel, table=True):
    """An item of a study.

    `role` is `item`, `gold` or `training`. `gold` holds the right answers by question as JSON, empty where
    they are not known. `inclusion` is the probability with which the sample holds the item.
    """

    __tablename__ = "study_item"

    study_id: int = big(primary_key=True)
    item_id: int = big(primary_key=True)
    role: str = string(default="item")
    position: int = big(default=0)
    stratum: str | None = string(default=None)
    inclusion: float = real(default=1.0)
    gold: str = string(default="{}")


class StudyRater(SQLModel, table=True):
    """A rater of a study; `pseudonym` is the rater's name in what is published of it."""

    __tablename__ = "study_rater"

    study_id: int = big(primary_key=True)
    rater_id: int = big(primary_key=True)
    pseudonym: str = string()
    position: int = big(default=0)
    consent_version: str = string(default="")
    consented_at: datetime | None = moment(default=None)
    experience: str = string(default="")
    withdrawn_at: datetime | None = moment(default=None)


class StudyLook(SQLModel, table=True):
    """One look at the agreement of a running study; `planned` ones were named before it was frozen."""

    __tablename__ = "study_look"

    id: UUID = uid(primary_key=True)
    study_id: int = big()
    question: str = string()
    looked_at: datetime = moment()
    judgments: int = big()
    items: int = big()
    alpha: float | None = real(default=None)
    ci_low: float | None = real(default=None)
    ci_high: float | None = real(default=None)
    planned: bool = False


class SentBack(SQLModel, table=True):
    """An item that an adjudicator (`rater_id`) sent back to the raters of a study, with a note to them."""

    __tablename__ = "sent_back"

    study_id: int = big(primary_key=True)
    item_id: int = big(primary_key=True)
    rater_id: int = big()
    note: str = string()
    sent_at: datetime = moment()


class Assignment(SQLModel, table=True):
    """One item in one rater's queue; (study, rater, item, phase) is unique.

    What the rater gets to see is in `mode`, `shows_tests` and `hides_models`; `swapped` says of a comparison
    that the second candidate is on the left (`store.policy.words.Condition`). A rater's list is judged in
    sittings, from 1, in which no item comes twice; those of an adjudicator's rulings are of sitting 0.
    """

    id: UUID = uid(primary_key=True)
    study_id: int = big()
    rater_id: int = big()
    item_id: int = big()
    phase: str = string()
    position: int = big()
    mode: str = string()
    shows_tests: bool
    hides_models: bool
    swapped: bool
    seed: int = big()
    sitting: int = big(default=1)
    block: int | None = big(default=None)


class Packet(SQLModel, table=True):
    """A packet: a file with a rater's part of a study, made for them to judge elsewhere.

    `manifest` is the JSON that the file holds; `mapping` says what its ids stand for here, JSON as well (see
    store.studies.packets). `reveal` tells a packet of the reveal from that of everything before.
    """

    id: UUID = uid(primary_key=True)
    study_id: int = big()
    rater_id: int = big()
    reveal: bool = False
    made_at: datetime = moment()
    merged_at: datetime | None = moment(default=None)
    manifest: str = string()
    mapping: str = string()


class SessionState(SQLModel, table=True):
    """The state of a rater's session: the open item, scroll places, drafts, as JSON under a key."""

    rater_id: int = big(primary_key=True)
    key: str = string(primary_key=True)
    value: str = string()
    updated_at: datetime = moment()
