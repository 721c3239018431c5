"""The form of a test program that the test writer is asked for, by reading alone."""

from __future__ import annotations

import warnings

from agents.sandbox.cells import split_cells
from agents.sandbox.inside.listing import list_tests
from store.parsing import parse_python

_MOST_PROBLEMS = 8


def form_problem(program: str) -> str:
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
    problems += [
        f"{label} takes the argument {name}, and nothing gives a test an argument"
        for label, name in listing.parameters.items()
    ]
    return "; ".join(problems[:_MOST_PROBLEMS])
