"""The texts of a search: functions of CodeSearchNet, and lists of queries."""

from __future__ import annotations

from store.formats.fields import Field, Layout
from store.formats.protocol import ANY, Format

CODESEARCHNET = Format(
    name="codesearchnet",
    description="CodeSearchNet: code, func_name, repo, path, language; codes to search in",
    containers=ANY,
    layouts=(
        Layout(
            "corpus_code",
            (
                Field("code", ("code", "func_code_string", "original_string"), required=True, filled=True),
                Field("name", ("func_name",), required=True),
                Field("repository", ("repo", "repository_name"), required=True),
                Field("path", ("path", "func_path_in_repository")),
                Field("language", ("language",)),
                Field("licence", ("license", "licence")),
            ),
            extra=False,
        ),
    ),
    unless=frozenset({"query", "doc", "label"}),
)

PYTHON = Format(
    name="python",
    description="Python sources of a folder, an archive, a clone or a git URL; codes to search in",
    containers=frozenset(),
    layouts=(Layout("corpus_code", (), extra=False),),
    named_only=True,
)

QUERIES = Format(
    name="queries",
    description="queries alone, from a table or a CoSQA file, named; or a text (.txt) of a query a line",
    containers=ANY | {"lines"},
    layouts=(
        Layout(
            "corpus_query",
            (Field("query", ("query", "Query", "doc", "question", "text"), required=True, filled=True),),
            extra=False,
        ),
    ),
    named_only=True,
)

CODES = Format(
    name="codes",
    description="codes alone, from any file with a column of code; always named",
    containers=ANY,
    layouts=(
        Layout(
            "corpus_code",
            (
                Field("code", ("code", "text"), required=True, filled=True),
                Field("name", ("name", "title", "func_name")),
                Field("repository", ("repository", "repo")),
                Field("path", ("path",)),
                Field("language", ("language",)),
                Field("licence", ("licence", "license")),
            ),
            extra=False,
        ),
    ),
    named_only=True,
)
