"""The cells of a test program: what belongs to which, and that line numbers stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_workspace import SCAFFOLD, TESTS_CELL

from agents.sandbox.cells import split_cells


def test_both_cells_keep_their_line_numbers():
    scaffold, tests = split_cells(SCAFFOLD + TESTS_CELL)
    whole = (SCAFFOLD + TESTS_CELL).split("\n")
    assert len(scaffold.split("\n")) == len(tests.split("\n")) == len(whole)
    assert scaffold.split("\n")[1] == "import functools"
    assert tests.split("\n")[13] == whole[13] == "def test_three():"
    assert "larger" not in tests
    assert "biggest" not in scaffold


@pytest.mark.parametrize(
    ("program", "scaffold", "tests"),
    [
        ("import a\ndef test(): pass\n", [], ["import a", "def test(): pass"]),
        ("# %% tests\nimport a\n", [], ["# %% tests", "import a"]),  # no scaffold: it stays as it is
        (
            "'''One.'''\n# %% scaffold\nimport a\n# %% tests\nimport b\n",
            ["import a"],
            ["'''One.'''", "import b"],
        ),
        ("#%%  Scaffold \r\nimport a\r\n#%% TESTS\r\nimport b", ["import a"], ["import b"]),
        ("# %% tests\nb\n# %% scaffold\na\n# %% other cells\nc\n", ["a", "# %% other cells", "c"], ["b"]),
        ("# %% scaffold\n\n# %% tests\nb\n", [], ["# %% scaffold", "# %% tests", "b"]),
        ("x = '# %% scaffold'\n    # %% scaffold\n", [], ["x = '# %% scaffold'", "    # %% scaffold"]),
    ],
)
def test_what_belongs_to_which_cell(program, scaffold, tests):
    assert [[line for line in cell.split("\n") if line.strip()] for cell in split_cells(program)] == [
        scaffold,
        [line for line in tests if line.strip()],
    ]


@given(
    st.lists(st.sampled_from(["# %% scaffold", "# %% tests", "\n", "\r", "\x0c", "\u2028", "z"])).map("".join)
)
def test_no_line_is_lost_or_moved(program):
    scaffold, tests = split_cells(program)
    count = len(program.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert scaffold == "" or scaffold.count("\n") == tests.count("\n") == count - 1
    assert (scaffold + tests).count("z") == program.count("z")
