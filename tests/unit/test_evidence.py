"""The lines that a judgment cites: their form, and that nothing else gets into the record."""

import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import EVIDENCE, Desk, judged_workspace, judgments, only_label
from scopes import scope
from small_workspace import GOOD

from store.errors import JudgmentRefused, RecordsRefused
from store.export.exporting import export
from store.ingest.importing import import_files
from store.queries.item import load_history, load_own
from store.record.evidence import (
    CITATIONS_MOST,
    TEXT_MOST,
    BadEvidence,
    as_json,
    citations_of,
    cite,
    digest,
    readable_citations,
)

LOG = "\n".join(f"line {number} \ud800\x1b ü" for number in range(1, 8))
RUN = uuid.UUID(int=7)
GOOD_ONE = json.loads(EVIDENCE)[0]


@pytest.fixture
def workspace(tmp_path):
    with judged_workspace(tmp_path) as opened:
        yield opened


def test_lines_that_follow_each_other_are_cited_together():
    found = cite("log", LOG, LOG.split("\n"), {5, 2, 3, 7, 0, 8}, RUN)
    assert [(one.first, one.last, one.place) for one in found] == [
        (2, 3, "log 2-3"), (5, 5, "log 5"), (7, 7, "log 7")
    ]  # fmt: skip
    assert found[0].text == "line 2 \ud800\x1b ü\nline 3 \ud800\x1b ü"
    assert all(one.fits(LOG) and not one.fits(LOG + "\n") for one in found)
    assert found[0].execution == RUN


def test_the_form_is_the_one_that_is_documented():
    assert {
        "part": "code", "sha256": digest(GOOD), "first": 2, "last": 2, "text": "    return 2 * x"
    } == GOOD_ONE  # fmt: skip
    (told,) = json.loads(as_json(cite("test", "a\nb", ["a", "b"], [1, 2], RUN)))
    assert told == {
        "part": "test", "sha256": digest("a\nb"), "first": 1, "last": 2, "text": "a\nb", "execution": str(RUN)
    }  # fmt: skip
    assert as_json([]) == "[]"


@given(st.lists(st.tuples(st.sampled_from(["code", "test", "log"]), st.sets(st.integers(1, 7))), max_size=6))
def test_what_is_written_is_read_again(parts):
    cited = [one for part, numbers in parts for one in cite(part, LOG, LOG.split("\n"), numbers, RUN)]
    again = citations_of(as_json(cited))
    assert sorted(again, key=repr) == sorted(cited, key=repr)
    assert as_json(again) == as_json(cited)
    assert [one.part for one in again] == sorted(
        (one.part for one in again), key=["code", "test", "log"].index
    )


def test_a_long_line_is_kept_in_part():
    (one,) = cite("log", "x" * 9999, ["x" * 9999], [1], None)
    assert len(one.text) == TEXT_MOST
    assert citations_of(as_json([one])) == (one,)


WRONG = {
    "no JSON": ("{", "no JSON"),
    "no array": ('{"part": "code"}', "no JSON array"),
    "no object": ("[1]", "fields"),
    "a field is missing": ([{name: GOOD_ONE[name] for name in ("part", "first", "last", "text")}], "fields"),
    "an unknown field": ([{**GOOD_ONE, "lines": [1]}], "fields"),
    "an unknown part": ([{**GOOD_ONE, "part": "verdict"}], "verdict"),
    "no digest": ([{**GOOD_ONE, "sha256": "0" * 63}], "64"),
    "upper case": ([{**GOOD_ONE, "sha256": "A" * 64}], "64"),
    "line 0": ([{**GOOD_ONE, "first": 0}], "counted from 1"),
    "backwards": ([{**GOOD_ONE, "first": 3}], "first to its last"),
    "half a line": ([{**GOOD_ONE, "first": 1.0}], "first to its last"),
    "a truth for a line": ([{**GOOD_ONE, "first": True}], "first to its last"),
    "no text": ([{**GOOD_ONE, "text": None}], "characters"),
    "too much text": ([{**GOOD_ONE, "text": "x" * (TEXT_MOST + 1)}], "characters"),
    "no execution": ([{**GOOD_ONE, "execution": "yesterday's"}], "UUID"),
    "a number for an execution": ([{**GOOD_ONE, "execution": 5}], "UUID"),
    "too many": ([GOOD_ONE] * (CITATIONS_MOST + 1), str(CITATIONS_MOST)),
}


@pytest.mark.parametrize("name", WRONG)
def test_another_form_is_refused_and_never_shown(name, workspace):
    told, words = WRONG[name]
    evidence = told if isinstance(told, str) else json.dumps(told)
    with pytest.raises(BadEvidence, match=words):
        citations_of(evidence)
    assert readable_citations(evidence) == ()
    with pytest.raises(JudgmentRefused, match=words):
        Desk(workspace).judge(1, evidence=evidence)
    assert judgments(workspace) == []


def test_evidence_is_undone_and_redone_with_its_judgment(workspace):
    desk = Desk(workspace)

    def cited():
        with workspace.reading() as connection:
            label = only_label(load_own(connection, scope(desk.rater.id), 1))
            return as_json(label.citations if label else ())

    desk.judge(1, 0.0, evidence=EVIDENCE)
    assert cited() == EVIDENCE
    desk.judge(1, 1.0)
    assert cited() == "[]"
    desk.undo()
    assert cited() == EVIDENCE
    desk.undo()
    assert cited() == "[]"
    desk.redo()
    assert cited() == EVIDENCE
    desk.say(1, "cannot_decide", text="odd")
    assert cited() == "[]"
    with workspace.reading() as connection:
        history = load_history(connection, 1)
    assert [as_json(one.citations) for one in history if one.value == 0] == [EVIDENCE] * 3


def test_an_import_refuses_another_form_and_names_the_line(workspace, tmp_path):
    Desk(workspace).judge(1, evidence=EVIDENCE)
    path = tmp_path / "record.jsonl"
    export(workspace, path, "jsonl")
    record = json.loads(path.read_text())
    assert record["evidence"] == EVIDENCE
    bad = tmp_path / "bad.jsonl"
    # The item is there already, and need not come with the record.
    told = {name: value for name, value in record.items() if name not in ("query", "code")}
    bad.write_text(json.dumps({**told, "evidence": '[{"part": "code", "lines": [1, 2]}]'}) + "\n")
    (tmp_path / "other").mkdir()
    with (
        judged_workspace(tmp_path / "other") as other,
        pytest.raises(RecordsRefused, match=r"bad\.jsonl:1: .*a citation has the fields"),
    ):
        import_files(other, [bad])
