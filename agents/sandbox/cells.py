r"""The two cells of a test program: its scaffold and its tests, one text with marked lines.

    # %% scaffold
    import numpy as np
    # %% tests
    from candidate import mean

    def test_mean():
        assert mean(np.array([1, 3])) == 2

Editors know such lines as the beginning of a cell. The scaffold is executed in the namespace of the module
`candidate` before the candidate's own text, and gives it the imports and definitions that it uses and does
not have. Without such lines all of a program is tests.
"""

from __future__ import annotations

import re

_MARK = re.compile(r"#[ \t]*%%[ \t]*(scaffold|tests)[ \t]*", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\r|\n")  # the line ends of Python's grammar, and no others


def split_cells(program: str) -> tuple[str, str]:
    """Split a program into scaffold and tests.

    Returns:
        Scaffold and tests, each with an empty line in the place of every line of the other, so that a line
        has the same number as in the program. The scaffold is empty where there is none.
    """
    cells: dict[str, list[str]] = {"scaffold": [], "tests": []}
    current = "tests"
    for line in _LINE_END.split(program):
        mark = _MARK.fullmatch(line)
        current = mark[1].lower() if mark else current
        for name, lines in cells.items():
            lines.append(line if name == current and not mark else "")
    if not any(cells["scaffold"]):
        return "", program
    scaffold, tests = ("\n".join(lines) for lines in cells.values())
    return scaffold, tests
