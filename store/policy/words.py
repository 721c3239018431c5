"""The condition of an assignment: words in protocols and files, columns in the table of assignments."""

from __future__ import annotations

from typing import NamedTuple

BLIND = "blind"
"""The mode that hides the agents' and other raters' work from the rater."""
REVEALED = "revealed"
"""The mode that shows the agents' and other raters' work to the rater."""
TESTS = "tests"
"""The word that shows the agents' test program and its results to the rater."""
OWN_TEST = "own-test"
"""The mode that has the rater write a test program; it hides as `blind` does."""
HIDDEN_MODELS = "hidden-models"
"""The word that hides the names of models from the rater."""
CONDITION_WORDS = (BLIND, REVEALED, TESTS, OWN_TEST, HIDDEN_MODELS)
"""The words of the conditions of a protocol, in the order in which they are written."""
SWAPPED = "swapped"
"""The word for a comparison whose second candidate is on the left."""


class Condition(NamedTuple):
    """The condition of an assignment, as columns of its row.

    Attributes:
        mode: `BLIND`, `REVEALED` or `OWN_TEST`.
        shows_tests: Whether the agents' test program and its results are shown.
        hides_models: Whether the names of models are hidden where the agents' work is shown.
        swapped: Of a comparison whether the second candidate is on the left.
    """

    mode: str
    shows_tests: bool
    hides_models: bool
    swapped: bool


def condition_of(words: str) -> Condition:
    """Return the columns for the words of a condition; without a word for the mode it is `REVEALED`."""
    given = words.split()
    mode = next((one for one in (OWN_TEST, BLIND) if one in given), REVEALED)
    return Condition(mode, TESTS in given, HIDDEN_MODELS in given, SWAPPED in given)


def words_sql(assignment: str, *, sides: bool = True) -> str:
    """Return the SQL for the words of the condition in a row of the table of assignments.

    Args:
        assignment: The name of the table or its alias in the statement.
        sides: Whether the side of a comparison's candidates, which is drawn for each item, is a word, too.
    """
    flags = {"shows_tests": TESTS, "hides_models": HIDDEN_MODELS} | ({"swapped": SWAPPED} if sides else {})
    said = (f"CASE WHEN {assignment}.{column} THEN '{word}' END" for column, word in flags.items())
    return f"concat_ws(' ', {assignment}.mode, {', '.join(said)})"
