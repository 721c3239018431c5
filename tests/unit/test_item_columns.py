"""The lines of the item list and of the keys, fitted to a width."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from screens.widgets.item_list.columns import WAITS, Columns
from screens.widgets.item_list.rows import AT_ONCE, READERS, ItemRows
from screens.widgets.key_line import fitted
from store.queries.rows import WAITING_PATH, QueueRow

ROW = QueueRow(7, "q/7", "pair", "a query", "a_name", 3, 0.81, "judged", 0.0, 1.0, "tested", True, False, 1)


def line(row: QueueRow, width: int, **options: object) -> str:
    """The text of a line."""
    blind = bool(options.pop("blind", False))
    return "".join(text for text, _ in Columns(width, blind=blind).cells(row, cursor=False, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [40, 60, 71, 79, 99, 119, 200])
@pytest.mark.parametrize("title", ["a query", "日本語" * 40, "x" * 500, "a\x1b[31m\nb\u202e"])
def test_a_line_is_exactly_as_wide_as_the_list(width: int, title: str) -> None:
    row = replace(ROW, title=title)
    columns = Columns(width, blind=False)
    assert cell_len(line(row, width)) == width
    assert cell_len(columns.heading()) == width
    assert cell_len("".join(text for text, _ in columns.blank(cursor=True))) == width
    assert "\x1b" not in line(row, width)
    assert "\n" not in line(row, width)


def test_a_line_says_whose_each_label_is() -> None:
    shown = line(ROW, 119)
    assert shown.startswith(" ●▲⚑ 0 no match ◆ 1 match    tested    a query")
    assert shown.rstrip().endswith(".81")


def test_columns_go_one_after_another_where_room_is_short() -> None:
    pairs = Columns(119, blind=False, kinds=frozenset(["pair"])).heading()
    assert [name for name in ("path", "code", "sim") if name in pairs] == ["path", "code", "sim"]
    assert "sim" not in Columns(79, blind=False).heading()
    assert "path" in Columns(79, blind=False).heading()
    assert "path" not in Columns(71, blind=False).heading()


def test_columns_say_what_the_listed_kinds_have() -> None:
    heading = Columns(119, blind=False, kinds=frozenset(["completion"])).heading()
    assert "file" in heading
    assert "agents" not in heading
    for mixed in (frozenset(), frozenset(["pair", "completion"])):
        heading = Columns(119, blind=False, kinds=mixed).heading()
        assert "detail" in heading
        assert "◆ agents" in heading


def test_a_title_of_several_lines_stands_without_its_indentation() -> None:
    assert "a()⏎.b()" in line(replace(ROW, title="a()\n        .b()"), 79)


def test_a_blind_line_has_no_place_for_the_agents() -> None:
    row = replace(ROW, agent_label=None, agent_path=None)
    assert "◆" not in line(row, 119, blind=True)
    assert "agents" not in Columns(119, blind=True).heading()


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (60, "◇ no sandbox a query"),
        (79, "◇ needs    sandbox   a query"),
        (119, "◇ needs      sandbox   a query"),
    ],
)
def test_a_line_says_that_an_item_waits_for_a_sandbox(width: int, words: str) -> None:
    row = replace(ROW, agent_label=None, agent_path=WAITING_PATH)
    assert words in line(row, width)
    assert WAITS not in line(replace(row, agent_path=None), width)


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
    assert line(row, 79, write=write)[1] == glyph


def test_items_in_sight_are_read_first_and_then_those_near_it() -> None:
    import numpy

    ids = numpy.arange(1, 1001)
    rows = ItemRows()
    first = rows.next_read(ids, 100, 20)
    assert first == tuple(range(101, 121))
    rows.begin_read(first)
    # What is near waits until what is in sight is there.
    assert rows.next_read(ids, 100, 20) == ()
    assert rows.end_read(rows.generation, first, [replace(ROW, item_id=number) for number in first])
    near = rows.next_read(ids, 100, 20)
    assert near == tuple(range(121, 161))
    assert len(near) <= AT_ONCE


def test_reads_are_few_and_those_of_an_earlier_order_are_dropped() -> None:
    import numpy

    ids = numpy.arange(1, 1001)
    rows = ItemRows()
    for _ in range(READERS):
        rows.begin_read([1])
    assert rows.next_read(ids, 0, 20) == ()
    old = rows.generation
    rows.begin_order()
    assert rows.next_read(ids, 0, 20)
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
    assert rows.next_read(numpy.array([5]), 0, 20) == ()


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
        ({"status": "open", "answered": 0}, ""),
        ({"status": "open", "answered": 1}, "1 of 3"),
        ({"status": "open", "answered": 2, "label": 1.0}, "2 of 3"),
        ({"status": "judged", "answered": 3, "label": 1.0}, "keep"),
        ({"status": "skipped", "answered": 2}, "skipped"),
        ({"status": "cannot_decide", "answered": 0}, "undecided"),
        ({"kind": "answer", "status": "judged", "answered": 8, "required": 8}, "8 of 8"),
    ],
)
def test_what_you_said_of_several_questions(changes, said):
    plain = {"kind": "completion", "label": None, "required": 3, "agent_label": None, "agent_path": None}
    row = replace(ROW, **{**plain, **changes})
    cells = Columns(120, blind=True).cells(row, cursor=False)
    assert cells[3][0].strip() == said
