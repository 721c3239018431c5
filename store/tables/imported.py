"""Imported rows, which never change afterwards: sources, items, and the own columns of each kind."""

from __future__ import annotations

from sqlmodel import SQLModel

from store.tables.columns import big, blob, datetime, moment, real, string


class Source(SQLModel, table=True):
    """One imported file: how many of its records were taken, and how many rejected.

    `reading` says how a kept file is read again (`store.reading.kept.Reading`, as JSON); empty for others.
    """

    id: int = big(primary_key=True)
    sha256: str = string()
    name: str = string()
    format: str = string()
    licence: str = string(default="")
    url: str = string(default="")
    records: int = big(default=0)
    imported_at: datetime = moment()
    rejected: int = big(default=0)
    reading: str = string(default="")


class SourceFile(SQLModel, table=True):
    """A part of a kept file, packed with zstd; the parts of a source in their order are one stream."""

    __tablename__ = "source_file"

    source_id: int = big(primary_key=True)
    part: int = big(primary_key=True)
    content: bytes = blob()


class Query(SQLModel, table=True):
    """A query text; pairs with the same query form one group."""

    id: int = big(primary_key=True)
    text: str = string()
    text_hash: str = string()


class Code(SQLModel, table=True):
    """A code snippet and where it comes from."""

    id: int = big(primary_key=True)
    text: str = string()
    text_hash: str = string()
    language: str = string(default="python")
    name: str = string(default="")
    repository: str = string(default="")
    path: str = string(default="")
    licence: str = string(default="")


class Item(SQLModel, table=True):
    """One unit to judge, of any task kind; `external_id` is its name in the imported file."""

    id: int = big(primary_key=True)
    kind: str = string()
    external_id: str = string()
    group_id: int = big()
    source_id: int = big()
    content_hash: str = string()
    extra: str = string(default="{}")


class Pair(SQLModel, table=True):
    """A query and a candidate code (CoSQA+, section IV.B)."""

    item_id: int = big(primary_key=True)
    query_id: int = big()
    code_id: int = big()
    rank: int | None = big(default=None)


class Similarity(SQLModel, table=True):
    """One embedding model's cosine similarity of a pair."""

    item_id: int = big(primary_key=True)
    model: str = string(primary_key=True)
    value: float = real()


class Completion(SQLModel, table=True):
    """A file cut at a cursor, and the text after it (CrossCodeEval, section 2).

    The lines are those of the file at which prompt, reference and right context begin, from 0.
    """

    item_id: int = big(primary_key=True)
    language: str = string(default="")
    repository: str = string(default="")
    path: str = string(default="")
    prompt: str = string()
    reference: str = string()
    right_context: str = string(default="")
    prompt_line: int | None = big(default=None)
    reference_line: int | None = big(default=None)
    right_context_line: int | None = big(default=None)


class Prompt(SQLModel, table=True):
    """A prompt; comparisons with the same prompt form one group."""

    id: int = big(primary_key=True)
    text: str = string()
    text_hash: str = string()


class Comparison(SQLModel, table=True):
    """Two candidates for a prompt, in canonical order (CoSQA+, RQ1).

    `first_name` and `second_name` are the sets or models that they come from, `first_ref` and `second_ref`
    their items or responses. `about` is one of `store.kinds.comparison.ABOUT`, `made_from` says how it was
    made, and `file_order` whether its file lists both `as-listed` here or `swapped`; empty where that is not
    known.
    """

    item_id: int = big(primary_key=True)
    prompt_id: int = big()
    language: str = string(default="")
    first: str = string()
    second: str = string()
    first_name: str = string(default="")
    second_name: str = string(default="")
    first_ref: str = string(default="")
    second_ref: str = string(default="")
    reference: str = string(default="")
    about: str = string(default="")
    made_from: str = string(default="")
    file_order: str = string(default="")


class RepositoryQuestion(SQLModel, table=True):
    """A question about a repository, its reference answer and the issue that it comes from (CoReQA, III.B).

    `comments` is a JSON list of objects with by, created_at, body and reactions; `labels` one of texts.
    """

    __tablename__ = "repository_question"

    item_id: int = big(primary_key=True)
    repository: str = string(default="")
    revision: str = string(default="")
    language: str = string(default="")
    url: str = string(default="")
    question: str = string()
    reference: str = string(default="")
    issue_number: int | None = big(default=None)
    issue_title: str = string(default="")
    issue_body: str = string(default="")
    comments: str = string(default="[]")
    labels: str = string(default="[]")
    created_at: str = string(default="")
    closed_at: str = string(default="")
