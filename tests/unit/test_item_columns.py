"""The lines of the item list and of the keys, fitted to a width."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from screens.widgets.item_list.columns import WAITS, Columns, Contents, kind_letters, mark_of
from screens.widgets.item_list.lines import Lines
from screens.widgets.item_list.rows import AT_ONCE, READERS, ItemRows
from screens.widgets.key_line import fitted
from store.queries.rows import WAITING_PATH, QueueRow

ROW = QueueRow(7, "q/7", "pair", "a query", "a_name", 3, 0.81, "judged", 0.0, 1.0, "tested", True, False, 1)
PAIRS = Contents(frozenset(["pair"])).seen([ROW])


def line(*rows: QueueRow, width: int = 119, contents: Contents = PAIRS, **options: object) -> str:
    """The text of a line."""
    columns = Columns(width, blind=bool(options.pop("blind", False)), contents=contents)
    return "".join(text for text, _ in columns.cells(rows, cursor=False, **options))  # type: ignore[arg-type]


def heading(width: int, contents: Contents = PAIRS, *, blind: bool = False) -> str:
    """The text above the lines."""
    return Columns(width, blind=blind, contents=contents).heading()


@pytest.mark.parametrize("width", [40, 60, 71, 79, 99, 119, 200])
@pytest.mark.parametrize("title", ["a query", "日本語" * 40, "x" * 500, "a\x1b[31m\nb\u202e"])
@pytest.mark.parametrize("number", [1, 3, 45])
def test_a_line_is_exactly_as_wide_as_the_list(width: int, title: str, number: int) -> None:
    rows, contents = [replace(ROW, title=title)] * number, replace(PAIRS, largest=max(number, 20))
    for held in (PAIRS, contents) if number == 1 else (contents, replace(contents, singles=False)):
        assert cell_len(line(*rows, width=width, contents=held)) == width
        assert cell_len(heading(width, held)) == width
    columns = Columns(width, blind=False)
    assert cell_len("".join(text for text, _ in columns.cells([None], cursor=True))) == width
    assert "\x1b" not in line(*rows, width=width, contents=contents)
    assert "\n" not in line(*rows, width=width, contents=contents)


def test_a_line_says_whose_each_label_is() -> None:
    shown = line(ROW)
    assert shown.startswith(" ●▲⚑ 0 no match  ◆ 1 match     tested     a query")
    assert shown.rstrip().endswith(".81")


def test_no_column_touches_the_next_one() -> None:
    full = replace(ROW, agent_label=0.0, title="split a string", agent_path=None)
    assert "0 no match  ◆ 0 no match  split a string" in line(
        full, width=72, contents=replace(PAIRS, path=False)
    )


def test_columns_go_one_after_another_where_the_title_needs_the_room() -> None:
    def shown(width: int) -> list[str]:
        words = heading(width).split()
        return [name for name in ("agents", "code", "path", "sim") if name in words]

    assert shown(119) == ["agents", "code", "path", "sim"]
    assert shown(79) == ["agents", "code"]
    assert shown(60) == ["agents"]


def test_columns_of_which_the_items_have_nothing_are_left_out() -> None:
    assert heading(119, Contents(frozenset(["completion"]))).split() == ["you", "item"]
    bare = replace(ROW, agent_label=None, agent_path=None, similarity=None, detail="")
    assert heading(119, Contents(frozenset(["pair"])).seen([bare])).split() == ["you", "item"]
    several = Contents(frozenset(["completion", "pair"])).seen([replace(bare, detail="a.py")])
    assert heading(119, several).split() == ["you", "item", "detail", "kind"]
    assert line(bare, contents=several).rstrip().endswith("  pair")


@pytest.mark.parametrize("width", [71, 78])
def test_rows_of_one_query_differ_by_the_name_and_a_kind_is_a_letter(width: int) -> None:
    several = Contents(frozenset(["completion", "pair", "comparison"])).seen([ROW])
    first, second = (
        line(
            replace(ROW, detail=name, title="python check whether a file is empty"),
            width=width,
            contents=several,
        )
        for name in ("is_blank_file", "file_has_data")
    )
    assert "is_blank_file   p " in first
    assert "file_has_data   p " in second
    assert "python check wheth" in first
    assert heading(width, several).endswith("kind")
    # Each kind has a letter of its own.
    assert kind_letters()["completion"] == "c"
    assert len(set(kind_letters().values())) == len(kind_letters())
    group = line(ROW, ROW, width=width, contents=replace(several, largest=2))
    assert group.endswith("  p ")


def test_a_row_begins_with_what_is_judged() -> None:
    code = "import os\n\n\ndef path():\n        return os."
    compared = replace(ROW, kind="comparison", title=code, detail="completions", label=None)
    assert "return os." in line(compared)
    assert "import" not in line(compared)
    assert "  return x  " in line(replace(ROW, title="      return x"))


def test_a_group_has_a_mark_for_each_item_and_says_how_many_are_judged() -> None:
    plain = replace(ROW, agent_label=None, agent_path=None, flagged=False)
    rows = [
        replace(plain, label=1.0),
        replace(plain, label=0.0),
        ROW,
        replace(plain, status="open", label=None, agent_label=1.0),
        replace(plain, status="open", label=None, agent_label=0.0),
        replace(plain, status="open", label=None),
        replace(plain, status="skipped", label=None, agent_label=1.0),
        replace(plain, status="cannot_decide", label=None),
    ]
    held = replace(PAIRS, largest=8)
    shown = line(*rows, contents=held)
    assert shown.startswith(" ○▲⚑ 3 of 8      ●×▲◆◇○»?      ")
    assert "a query" in shown
    assert "a_name" not in shown
    assert "◆ or marks" in heading(119, held)
    # Without single items the agents' label and what else only these have takes no room.
    assert heading(119, replace(held, singles=False)).split() == ["you", "marks", "item"]
    assert "●×▲◆◇…!┄" in "".join(
        text
        for text, _ in Columns(119, blind=False, contents=held).cells(
            [*rows[:7], None], cursor=False, writes=["none"] * 5 + ["saving", "failed", "none"]
        )
    )
    many = line(*rows * 5, width=79, contents=replace(held, largest=40))
    assert "15 of 40" in many
    assert f"{'●×▲◆◇○»?' * 2}●×▲›" in many


def test_a_mark_of_more_than_two_values_tells_that_there_is_a_label() -> None:
    compared = replace(ROW, kind="comparison", label=-2.0, agent_label=None)
    assert mark_of(compared) == ("●", "yours")


def test_lines_of_groups() -> None:
    import numpy

    lines = Lines(numpy.arange(1, 11), numpy.array([0, 3, 4]))
    assert (len(lines), lines.largest, lines.singles) == (3, 6, True)
    assert lines.items(1, 3).tolist() == [4, 5, 6, 7, 8, 9, 10]
    assert [lines.line_of(place) for place in (0, 2, 3, 4, 9)] == [0, 0, 1, 2, 2]
    alone = Lines(numpy.arange(1, 4), numpy.arange(3))
    assert (len(alone), alone.largest, alone.items(1, 9).tolist()) == (3, 1, [2, 3])


def test_a_title_of_several_lines_stands_without_its_indentation() -> None:
    assert "a()⏎.b()" in line(replace(ROW, title="a()\n        .b()"))


def test_a_blind_line_has_no_place_for_the_agents() -> None:
    row = replace(ROW, agent_label=None, agent_path=None)
    assert "◆" not in line(row, blind=True)
    assert "agents" not in heading(119, blind=True)


@pytest.mark.parametrize("width", [60, 79, 119])
def test_a_line_says_that_an_item_waits_for_a_sandbox(width: int) -> None:
    row = replace(ROW, agent_label=None, agent_path=WAITING_PATH)
    assert "∅ no sandbox  " in line(row, width=width)
    assert WAITS not in line(replace(row, agent_path=None), width=width)


@pytest.mark.parametrize(
    ("status", "write", "glyph"),
    [
        ("open", "none", "○"),
        ("skipped", "none", "»"),
        ("cannot_decide", "none", "?"),
        ("judged", "saving", "…"),
        ("judged", "failed", "!"),
    ],
)
def test_glyphs_of_the_status(status: str, write: str, glyph: str) -> None:
    row = replace(ROW, status=status, label=None, flagged=False)  # type: ignore[arg-type]
    assert line(row, writes=[write])[1] == glyph


def test_items_in_sight_are_read_first_and_then_those_near_it() -> None:
    import numpy

    ids = numpy.arange(1, 1001)
    rows = ItemRows()
    first = rows.next_read(Lines(ids), 100, 20)
    assert first == tuple(range(101, 121))
    rows.begin_read(first)
    # What is near waits until what is in sight is there.
    assert rows.next_read(Lines(ids), 100, 20) == ()
    assert rows.end_read(rows.generation, first, [replace(ROW, item_id=number) for number in first])
    near = rows.next_read(Lines(ids), 100, 20)
    assert near == tuple(range(121, 161))
    assert len(near) <= AT_ONCE


def test_reads_are_few_and_those_of_an_earlier_order_are_dropped() -> None:
    import numpy

    ids = numpy.arange(1, 1001)
    rows = ItemRows()
    for _ in range(READERS):
        rows.begin_read([1])
    assert rows.next_read(Lines(ids), 0, 20) == ()
    old = rows.generation
    rows.begin_order()
    assert rows.next_read(Lines(ids), 0, 20)
    assert not rows.end_read(old, [1], [ROW])
    assert 1 not in rows


def test_a_row_read_again_takes_the_place_of_the_one_before() -> None:
    rows = ItemRows()
    rows.keep([ROW])
    rows.keep([replace(ROW, label=1.0)])
    found = rows.get(7)
    assert found is not None
    assert found.label == 1.0


def test_an_item_that_is_not_there_is_looked_for_once() -> None:
    import numpy

    rows = ItemRows()
    rows.begin_read([5])
    rows.end_read(rows.generation, [5], [])
    assert 5 in rows
    assert rows.get(5) is None
    assert rows.next_read(Lines(numpy.array([5])), 0, 20) == ()


def test_keys_are_laid_out_most_important_first_with_the_last_one_always() -> None:
    pairs = [(key, "does something") for key in "abcdefgh"]
    (one,) = fitted(pairs, ("?", "keys"), 60, 1)
    assert one == [*pairs[:2], ("?", "keys")]
    two = fitted(pairs, ("?", "keys"), 60, 2)
    assert len(two) == 2
    assert two[1][-1] == ("?", "keys")
    assert [pair for row in two for pair in row][:-1] == pairs[: sum(map(len, two)) - 1]
    for row in two:
        assert sum(cell_len(f"{key} {words}") for key, words in row) + 3 * (len(row) - 1) <= 60


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "open", "answered": 0}, "○○○"),
        ({"status": "open", "answered": 1}, "●○○"),
        ({"status": "open", "answered": 2, "label": 1.0}, "●●○"),
        ({"status": "open", "answered": 0, "required": 1}, ""),
        ({"status": "judged", "answered": 3, "label": 1.0}, "keep"),
        ({"status": "skipped", "answered": 2}, "skipped"),
        ({"status": "cannot_decide", "answered": 0}, "undecided"),
        ({"kind": "answer", "status": "judged", "answered": 8, "required": 8}, "●●●●●●●●"),
        ({"kind": "answer", "status": "open", "answered": 3, "required": 12}, "3 of 12"),
    ],
)
def test_what_you_said_of_several_questions(changes, said):
    plain = {"kind": "completion", "label": None, "required": 3, "agent_label": None, "agent_path": None}
    row = replace(ROW, **{**plain, **changes})
    cells = Columns(120, blind=True).cells([row], cursor=False)
    assert cells[5][0].strip() == said
