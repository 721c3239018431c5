"""Numbers with what they count."""

from __future__ import annotations

import pytest

from store.formatting import pluralize


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 items"), (1, "1 item"), (2, "2 items"), (1_204, "1,204 items")]
)
def test_one_is_singular_and_everything_else_plural(number: int, said: str) -> None:
    assert pluralize(number, "item") == said


def test_a_plural_of_its_own_is_taken() -> None:
    assert pluralize(2, "query", "queries") == "2 queries"
    assert pluralize(1, "query", "queries") == "1 query"
