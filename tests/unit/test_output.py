"""What commands print: tables that fit, shares that are true, bars that come late or never."""

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from store.formatting import dollars, part_of, progress_bar, sparkline
from workbench.output import Bar, harmless, print_facts, print_json, print_table


def test_json_is_plain_ascii_and_knows_our_values(capsys):
    value = {
        "path": Path("a/b"),
        "id": UUID(int=5),
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "text": "\x1b[31m\u202eü\ud800",
    }
    print_json(value)
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert "\x1b" not in printed
    assert json.loads(printed) == {
        "path": "a/b",
        "id": str(UUID(int=5)),
        "at": "2026-01-02T00:00:00+00:00",
        "text": value["text"],
    }


def test_what_has_no_form_in_json_is_a_bug_and_not_a_string():
    with pytest.raises(TypeError):
        print_json({"x": object()})
    with pytest.raises(ValueError, match="JSON"):
        print_json({"x": math.nan})


def test_markup_and_controls_are_shown_as_they_are():
    assert harmless("[red]x[/] :smile: \x1b[0m\u202e").plain == "[red]x[/] :smile: ␛[0m<U+202E>"
    assert harmless("two\nlines").plain == "two\nlines"


def test_a_table_shortens_the_column_that_gives_way_and_no_other(capsys, monkeypatch):
    rows = [("item-1", "q" * 400, "end"), ("item-2", None, "end")]
    print_table(("item", "query", "last"), rows, wide=("query",))
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 160 for line in lines)
    assert lines[1].startswith("item-1")
    assert "qqq…" in lines[1]
    assert lines[1].rstrip().endswith("end")
    assert lines[2].split() == ["item-2", "end"]


def test_numbers_have_one_form_everywhere(capsys):
    print_facts("", [("left", 1439), ("sources", "1439")])
    print_table(("left",), [(1439,)])
    printed = capsys.readouterr().out.split()
    assert printed == ["left", "1,439", "sources", "1439", "left", "1,439"]
    assert [dollars(money) for money in (0, 1234.5, 12.5, 0.62, 0.0008)] == [
        "$0.00",
        "$1,234.50",
        "$12.50",
        "$0.6200",
        "$0.0008",
    ]


def test_an_empty_table_is_its_headings(capsys):
    print_table(("item", "query"), [], wide=("query",))
    assert capsys.readouterr().out.split() == ["item", "query"]


def test_a_share_of_nothing_is_no_number():
    assert part_of(0, 0) == "0 of 0"
    assert part_of(1, 3) == "1 of 3 (33.3 %)"
    assert part_of(1000, 412_080) == "1,000 of 412,080 (0.2 %)"


def test_no_bar_is_drawn_where_nobody_looks(capsys):
    with Bar("working") as bar:
        bar.show(1, 2, "detail")
    assert capsys.readouterr().err == ""


def test_a_bar_is_drawn_in_a_terminal_once_a_second_has_passed(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Bar("working") as bar:
        bar.show(1, 4)
        assert capsys.readouterr().err == ""
        bar._began -= 2
        bar.show(2, 4, "[red]detail")
        bar.show(3, None)
    assert "working" in capsys.readouterr().err


def test_bars_and_sparklines_fill_the_cells_they_have():
    assert [progress_bar(share, 4) for share in (0, 0.01, 0.5, 0.999, 1)] == [
        "░░░░",
        "▏░░░",
        "██░░",
        "███▉",
        "████",
    ]
    assert sparkline([0, 1, 4, 8], 10) == " ▂▅█"
    assert sparkline([9, 1, 2], 2) == "▅█"
    assert sparkline([], 5) == sparkline([0, 0], 0) == ""
