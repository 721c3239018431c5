"""How a pair is laid out for review, from what the store read of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from review_bench import ALONE, CASES, SIMULATED, TEST, Case, Ran, bench, uid, write_expert_run
from scopes import scope

from screens.items.reader import ItemReader
from screens.items.views import ItemView
from screens.judging.judgment_builder import JudgmentBuilder, Stopwatch, apply_action
from screens.judging.order import ReviewOrder
from screens.review.outcomes import outcomes
from store.errors import UnknownName
from store.kinds.pair import GUIDELINE
from store.queries.item import OwnState
from store.queries.progress import open_among, progress_delta, skipped_in_order
from store.record.actions import Recorder
from store.record.raters import ensure_rater, register_kinds
from store.workspace.duckdb import Workspace

NAMES = {case.name: number for number, case in enumerate(CASES, start=1)}
FRESH = OwnState(labels={}, cannot_decide=None, skipped=False, flagged=False, comment="")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with bench(tmp_path_factory.mktemp("bench")) as made:
        register_kinds(made)
        yield made


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Workspace]:
    with bench(tmp_path) as made:
        register_kinds(made)
        yield made


def view(workspace: Workspace, name: str, *, blind: bool = False) -> ItemView:
    rater = ensure_rater(workspace, "dana")
    return ItemReader(workspace, scope(rater.id, blind=blind)).read(NAMES[name])


def text(seen: ItemView, pane: str) -> str:
    return next(part.text for part in seen.case if part.id == pane)


@pytest.mark.parametrize(
    ("name", "summary"),
    [
        ("clear-match", "◆ 1 match · screened"),
        ("clear-no", "◆ 0 no match · screened"),
        ("tested", "◆ 1 match · tested · 2 of 2 passed · 1 does not discriminate"),
        ("failing", "◆ 0 no match · tested · 1 of 3 passed · 1 flaky"),
        ("environment", "◆ 1 match · untested · ended: error · not executable: ModuleNotFoundError"),
        ("timeout", "◆ 0 no match · tested · ended: timeout"),
    ],
)
def test_the_claim_says_the_label_how_it_was_reached_and_what_the_tests_say(
    workspace: Workspace, name: str, summary: str
) -> None:
    seen = view(workspace, name)
    assert seen.claim is not None
    assert seen.claim.summary == summary
    assert seen.claim.verdict_id == uid(NAMES[name] * 100 + 20)
    assert text(seen, "verdict").startswith(summary)


@pytest.mark.parametrize("name", ["not-looked", "step-failed"])
def test_without_a_verdict_there_is_no_claim(workspace: Workspace, name: str) -> None:
    assert view(workspace, name).claim is None


def test_the_case_is_told_in_the_order_in_which_the_agents_came_to_it(workspace: Workspace) -> None:
    told = text(view(workspace, "failing"), "verdict")
    parts = ["Screener: unclear", "The test reads the query as", "Execution: assertion", "✗ only_newline"]
    places = [told.index(part) for part in parts]
    assert places == sorted(places)
    assert "4 steps · 1,350 tokens · 4.0 s" in told
    assert "1 step · 450 tokens" in text(view(workspace, "clear-no"), "verdict")


def test_what_the_screener_ruled_on_by_itself_is_given_once(tmp_path: Path) -> None:
    words = "clear-no: as the code reads"
    case = Case("clear-no", "q", assessment="clear_nonmatch", label=0, reason=words)
    with bench(tmp_path, [case]) as made:
        told = text(view(made, "clear-match"), "verdict")
    assert told.count(words) == 1
    assert "\nScreener: clear non-match\n" in told


def test_the_log_names_ending_outcomes_and_output_and_marks_the_failures(workspace: Workspace) -> None:
    run = next(part for part in view(workspace, "failing").case if part.id == "run")
    lines = run.text.split("\n")
    assert lines[:3] == [
        "Ended: assertion · exit code 1 · 0.25 s · bubblewrap",
        "Environment: ab12",
        "Packages: numpy==2.1.0, pandas==2.2.3",
    ]
    parts = [line.split(" ─")[0] for line in lines if line.startswith("── ")]
    assert parts == ["── trace of only_newline", "── stdout", "── stderr"]
    place = lines.index("… 1,600 lines between (11,200 bytes) …")
    assert lines[place - 20 : place] == lines[place + 1 : place + 21] == ["opened"] * 20
    marked = [lines[number - 1].strip() for number in run.landmarks]
    assert marked == [
        "✗ only_newline  AssertionError: a newline is a byte  (flaky: another result with another hash seed)",
        "! no_access  PermissionError: [Errno 13]",
        "Traceback (most recent call last):",
    ]
    assert run.kind == "log"


def test_a_test_that_passes_on_a_stub_is_marked_where_its_outcome_stands(workspace: Workspace) -> None:
    for pane in ("run", "verdict"):
        told = text(view(workspace, "tested"), pane).split("\n")
        assert "  ~ missing  (passes on a stub)" in told
        assert "  ✓ only_newline" in told
        assert "  ~ means: passes even if the code returns nothing or its input; no evidence" in told


def test_a_failed_test_that_a_stub_would_pass_is_no_test_without_evidence(tmp_path: Path) -> None:
    """It tells the code from the stub, and another program may have stored of it that it does not."""
    ran = Ran(
        [("a", "failed", "AssertionError"), ("b", "passed", ""), ("c", "error", "OSError")],
        trust={"a": (False, True), "b": (False, True), "c": (False, False)},
    )
    case = Case("clear-match", "q", assessment="unclear", test=TEST, ran=ran, label=0)
    with bench(tmp_path, [case]) as made:
        seen = view(made, "clear-match")
    assert seen.claim is not None
    assert seen.claim.summary.endswith("1 of 3 passed · 1 does not discriminate · 2 flaky")
    told = text(seen, "run")
    assert "  ✗ a  AssertionError  (flaky" in told
    assert "  ~ b  (passes on a stub)  (flaky" in told
    assert told.count("(passes on a stub)") == 1
    strip = "✗~!  1 of 3 passed · 1 failed · 1 error · 1 does not discriminate · 2 flaky"
    assert outcomes(seen.outcomes, 120).plain == strip


def test_several_tests_that_say_nothing_are_counted(tmp_path: Path) -> None:
    ran = Ran(
        [("a", "passed", ""), ("b", "passed", ""), ("c", "passed", "")],
        trust={"a": (False, True), "b": (False, None)},
    )
    case = Case("clear-match", "q", assessment="unclear", test=TEST, ran=ran, label=0)
    with bench(tmp_path, [case]) as made:
        seen = view(made, "clear-match")
    assert seen.claim is not None
    assert seen.claim.summary.endswith("3 of 3 passed · 2 do not discriminate · 1 flaky")


def test_tests_without_a_result_are_counted_beside_those_that_passed(tmp_path: Path) -> None:
    tests = [("a", "passed", ""), ("b", "error", "NameError: name 'np' is not defined")]
    ran = Ran(tests, obstacles={"b": "environment"})
    case = Case("clear-match", "q", assessment="unclear", test=TEST, ran=ran, label=1)
    with bench(tmp_path, [case]) as made:
        seen = view(made, "clear-match")
    assert seen.claim is not None
    assert seen.claim.summary.endswith("1 of 2 passed · 1 no result")


def test_the_image_and_the_trace_of_a_program_that_was_not_loaded_are_shown(workspace: Workspace) -> None:
    lines = text(view(workspace, "environment"), "run").split("\n")
    assert lines[2] == "Image: sha256:" + "0123456789abcdef" * 4
    assert lines[3] == "Packages: only the standard library"
    place = next(number for number, line in enumerate(lines) if line.startswith("── trace ─"))
    assert lines[place + 1] == "Traceback (most recent call last):"


def test_what_could_not_run_and_what_was_thrown_away_is_said(workspace: Workspace) -> None:
    run = next(part for part in view(workspace, "environment").case if part.id == "run")
    assert "Not executable: ModuleNotFoundError: No module named 'fastparquet'" in run.text
    assert run.text.split("\n")[run.landmarks[0] - 1].startswith("! Not executable")
    log = text(view(workspace, "timeout"), "run")
    assert "Output beyond the limit was dropped: 1,048,576 bytes." in log
    assert log.endswith("(nothing)")


def test_of_a_run_that_was_cut_off_its_end_is_the_failure(workspace: Workspace) -> None:
    run = next(part for part in view(workspace, "timeout").case if part.id == "run")
    assert [run.text.split("\n")[number - 1] for number in run.landmarks] == [
        "Ended: timeout · 0.25 s · bubblewrap"
    ]
    passed = next(part for part in view(workspace, "tested").case if part.id == "run")
    assert passed.landmarks == ()


def test_failures_are_found_below_an_error_of_several_lines(tmp_path: Path) -> None:
    ran = Ran(
        [("a", "failed", "")],
        exit_reason="assertion",
        error="one\ntwo",
        stderr="Traceback (most recent call last):\n",
    )
    with bench(
        tmp_path, [Case("clear-match", "q", assessment="unclear", test=TEST, ran=ran, label=0)]
    ) as made:
        run = next(part for part in view(made, "clear-match").case if part.id == "run")
    lines = run.text.split("\n")
    assert [lines[number - 1] for number in run.landmarks] == ["  ✗ a", "Traceback (most recent call last):"]


def test_a_rank_beyond_the_candidates_that_are_here_is_no_place_among_them(workspace: Workspace) -> None:
    assert view(workspace, "clear-match").subject.title.startswith("code · candidate 1 of 1")
    assert view(workspace, "clear-no").subject.title.startswith("code · rank 2")


def test_the_test_program_is_shown_as_it_ran(workspace: Workspace) -> None:
    part = next(part for part in view(workspace, "tested").case if part.id == "test")
    assert (part.text, part.language, part.kind) == (TEST, "python", "test")
    assert part.above == "The test reads the query as: zero bytes count as empty"
    untested = next(part for part in view(workspace, "clear-no").case if part.id == "test")
    assert untested.above == ""


def test_what_was_simulated_never_looks_like_an_execution(tmp_path: Path) -> None:
    with bench(tmp_path, [SIMULATED], "ps-tpg-sim-fa/scripted/0") as made:
        seen = view(made, "clear-match")
    assert seen.claim is not None
    assert seen.claim.summary == "◆ 0 no match · simulated · 1 of 3 would pass"
    assert seen.claim.execution_id is None
    told = text(seen, "verdict")
    assert "\nSimulated, not executed: a model predicts that\n" in told
    assert "  ? test_only_newline would fail: a newline is stripped to nothing." in told
    assert "  ? test_missing would raise an exception: open raises FileNotFoundError." in told
    assert "Nothing is executed." in told
    assert not {"✓", "✗", "!"} & set(told)
    assert "Execution:" not in told
    assert "passed" not in told
    run = next(part for part in seen.case if part.id == "run")
    assert (run.text, run.part, run.execution) == ("", None, None)
    assert run.empty.startswith("Nothing was executed: a model predicted")
    test = next(part for part in seen.case if part.id == "test")
    assert test.above.startswith("Not run by the agents. ")
    assert "3. Simulated execution (nothing was run) · " in text(seen, "steps")


def test_a_prediction_that_nothing_would_run_and_one_of_another_form(tmp_path: Path) -> None:
    cases = [
        replace(
            SIMULATED, prediction={"executable": False, "environment_error": "ImportError: x", "tests": []}
        ),
        replace(
            SIMULATED, prediction={"executable": True, "tests": ["[b]", {"name": "[red]", "outcome": "?"}]}
        ),
    ]
    with bench(tmp_path, cases) as made:
        nothing, odd = view(made, "clear-match"), view(made, "clear-no")
    assert nothing.claim is not None
    assert nothing.claim.summary == "◆ 0 no match · simulated · would not run"
    assert "  would not run: ImportError: x" in text(nothing, "verdict")
    assert odd.claim is not None
    assert odd.claim.summary.endswith("0 of 1 would pass")
    assert "  ? [red] ?" in text(odd, "verdict")


def test_what_one_model_read_has_neither_test_nor_run(tmp_path: Path) -> None:
    with bench(tmp_path, [ALONE], "single/scripted/0") as made:
        seen = view(made, "clear-match")
    assert seen.claim is not None
    assert seen.claim.summary == "◆ 1 match · read"
    assert "\nAgents: single. One model, asked once" in text(seen, "verdict")
    assert "Screener" not in text(seen, "verdict")
    empty = {part.id: part.empty for part in seen.case if not part.text}
    assert empty["run"] == "No test program: these agents only read the code."
    assert empty["test"] == empty["run"] + " {review.edit} writes one of your own."
    assert text(seen, "steps").startswith("1. Single model · ")


def test_empty_panes_say_why_they_are_empty(workspace: Workspace) -> None:
    empty = {part.id: part.empty for part in view(workspace, "clear-no").case if not part.text}
    assert empty == {
        "test": "No test program: the screener decided the pair. {review.edit} writes one of your own.",
        "run": "No test program: the screener decided the pair.",
        "history": "Nobody has recorded anything here yet.",
    }
    waiting = {part.id: part.empty for part in view(workspace, "not-looked").case if not part.text}
    assert waiting["verdict"] == waiting["steps"]
    assert waiting["test"] == waiting["verdict"] + " {review.edit} writes one of your own."
    assert waiting["verdict"].startswith("The agents have not labelled this pair yet.")
    assert waiting["run"] == waiting["verdict"]


def test_a_failed_step_is_told_with_its_error(workspace: Workspace) -> None:
    seen = view(workspace, "step-failed")
    assert "No verdict: Test writer failed." in text(seen, "verdict")
    assert "failed: The model's reply was no JSON after 3 tries." in text(seen, "steps")
    run = next(part for part in seen.case if part.id == "run")
    assert run.empty == "No test program was written."


def test_a_blind_view_holds_nothing_of_the_agents(workspace: Workspace) -> None:
    for name in NAMES:
        seen = view(workspace, name, blind=True)
        assert seen.claim is None
        assert [part.id for part in seen.case] == ["guideline", "history"]
        assert text(seen, "guideline") == GUIDELINE
        for secret in ("◆", "screened", "tested ·", "as the code reads", "scripted"):
            assert secret not in repr(seen)


def test_an_unknown_item_is_an_error_to_be_said(workspace: Workspace) -> None:
    reader = ItemReader(workspace, scope(1))
    with pytest.raises(UnknownName):
        reader.read(4711)


def test_history_tells_who_what_and_why(fresh: Workspace) -> None:
    rater = ensure_rater(fresh, "dana")
    builder, recorder = JudgmentBuilder.read(fresh, scope(rater.id)), Recorder(fresh, rater)
    seen = view(fresh, "clear-match")
    label = builder.label(seen, 0.0, Stopwatch())
    recorder.submit(label).result()
    recorder.submit(builder.with_reason(label, "wrong result")).result()
    recorder.submit(builder.mark(seen, "comment", text="[red] see line 3")).result()
    recorder.undo().result()
    history = text(view(fresh, "clear-match"), "history").split("\n")
    # The label and its later reason are one record; what counts now is marked.
    assert [f"{line[0]} {line[2:].split('  ', 1)[1].split(' · 0.0 s')[0]}" for line in history] == [
        "● dana  label 0 no match · override",
        "  reason: wrong result",
        "  dana  comment · independent",
        "  [red] see line 3",
        "  dana  no comment · undo",
    ]


# -- the order and the reader -------------------------------------------------------------------------


def numbered(order: ReviewOrder) -> tuple[int, int, bool]:
    """The number of the item shown, of how many, and whether it comes again."""
    place = order.place
    assert place is not None
    assert place.item_id == order.item_id
    return place.number, place.total, place.again


def test_the_order_moves_within_its_ends_and_takes_skipped_items_last() -> None:
    order = ReviewOrder([1, 2, 3], 1)
    assert (order.item_id, order.at(1), order.at(2), order.at(-1)) == (2, 3, None, 1)
    order.put_last(2)
    order.put_last(2)
    assert order.ids == [1, 2, 3, 2]
    order.index = 3
    assert numbered(order) == (2, 3, True)
    order.index = 1
    assert numbered(order) == (2, 3, False)
    order.take_last_away(2)
    assert order.ids == [1, 2, 3]
    assert not order.move(5)
    assert order.move(1)
    assert order.item_id == 3
    assert ReviewOrder([], 3).item_id is None


def test_going_to_an_item_takes_its_nearest_place() -> None:
    order = ReviewOrder([1, 2, 3, 4, 5], 7, again=[1, 2, 1])
    assert numbered(order) == (1, 5, True)
    order.go_to(2)
    assert order.index == 6
    order.go_to(1)
    assert order.index == 5
    order.go_to(3)
    assert order.index == 2
    order.go_to(99)
    assert (order.item_id, order.ids[:4], numbered(order)) == (99, [1, 2, 99, 3], (3, 6, False))


def test_an_item_that_is_not_listed_stands_before_those_that_come_again() -> None:
    order = ReviewOrder([1, 2], 2, again=[1])
    order.go_to(99)
    assert (order.ids, order.index, numbered(order)) == ([1, 2, 99, 1], 2, (3, 3, False))


def test_taking_back_the_skip_of_the_last_item_takes_nothing_out_of_the_order() -> None:
    order = ReviewOrder([1, 2, 3], 2)
    order.put_last(3)
    order.index = 0
    order.take_last_away(3)
    assert order.ids == [1, 2, 3]


def test_an_item_that_changed_while_it_was_read_is_read_again(fresh: Workspace) -> None:
    reader = ItemReader(fresh, scope(ensure_rater(fresh, "dana").id))
    reads: list[int] = []
    load = reader._load

    def slow(item_id: int) -> ItemView:
        seen = load(item_id)
        reads.append(item_id)
        if len(reads) == 1:
            reader.forget(item_id)
        return seen

    reader._load = slow  # type: ignore[method-assign]
    assert reader.read(1).item_id == 1
    assert reads == [1, 1]
    assert reader.kept(1) is not None


def test_who_asks_for_an_item_that_is_being_read_waits_for_that_read(fresh: Workspace) -> None:
    reader = ItemReader(fresh, scope(1))
    reads: list[int] = []
    begun, go_on = threading.Event(), threading.Event()
    load = reader._load

    def slow(item_id: int) -> ItemView:
        reads.append(item_id)
        begun.set()
        assert go_on.wait(60)
        return load(item_id)

    reader._load = slow  # type: ignore[method-assign]
    with ThreadPoolExecutor(5) as threads:
        first = threads.submit(reader.read, 1)
        assert begun.wait(60)
        others = [threads.submit(reader.read, 1) for _ in range(4)]
        go_on.set()
        assert {id(each.result()) for each in (first, *others)} == {id(reader.kept(1))}
    assert reads == [1]


# -- what an action leaves standing -------------------------------------------------------------------


def test_what_stands_after_actions_equals_what_is_read_back(fresh: Workspace) -> None:
    rater = ensure_rater(fresh, "dana")
    builder, recorder = JudgmentBuilder.read(fresh, scope(rater.id)), Recorder(fresh, rater)
    seen = view(fresh, "clear-match")
    # Ids rise with the keys, and what has the highest one stands.
    marked = [builder.mark(seen, "skip"), builder.mark(seen, "flag")]
    label = builder.label(seen, 0.0, Stopwatch())
    actions = [
        *marked,
        label,
        builder.with_reason(label, "incomplete"),
        builder.mark(seen, "comment", text="a"),
        builder.mark(seen, "cannot_decide", text="other"),
        builder.mark(seen, "flag", active=False),
        builder.label(seen, 1.0, Stopwatch()),
        builder.mark(seen, "comment", active=False),
    ]
    own = FRESH
    for action in actions:
        own = apply_action(own, action)
        recorder.submit(action).result()
        stored = view(fresh, "clear-match").own
        assert (own.labels, own.cannot_decide) == (stored.labels, stored.cannot_decide), action
        assert (own.flagged, own.comment, own.skipped) == (stored.flagged, stored.comment, stored.skipped)


def test_counts_follow_every_action_its_undo_and_its_redo(fresh: Workspace) -> None:
    rater = ensure_rater(fresh, "dana")
    builder, recorder = JudgmentBuilder.read(fresh, scope(rater.id)), Recorder(fresh, rater)
    seen = view(fresh, "clear-match")
    today = left = 0

    def follow(action: object) -> tuple[int, int]:
        nonlocal today, left
        with fresh.reading() as connection:
            change = progress_delta(connection, action)  # type: ignore[arg-type]
        today, left = today + change.today, left + change.left
        return today, left

    assert follow(recorder.submit(builder.label(seen, 1.0, Stopwatch())).result()) == (1, -1)
    assert follow(recorder.submit(builder.label(seen, 0.0, Stopwatch())).result()) == (1, -1)
    assert follow(recorder.submit(builder.mark(seen, "cannot_decide", text="x")).result()) == (0, -1)
    assert follow(recorder.submit(builder.mark(seen, "flag")).result()) == (0, -1)
    for expected in ((0, -1), (1, -1), (1, -1), (0, 0)):
        assert follow(recorder.undo().result()) == expected
    for expected in ((1, -1), (1, -1), (0, -1), (0, -1)):
        assert follow(recorder.redo().result()) == expected


def test_open_and_skipped_items_are_found(fresh: Workspace) -> None:
    rater = ensure_rater(fresh, "dana")
    builder, recorder = JudgmentBuilder.read(fresh, scope(rater.id)), Recorder(fresh, rater)
    seen = view(fresh, "clear-match")
    for action in (
        builder.mark(replace(seen, item_id=5), "skip"),
        builder.mark(replace(seen, item_id=2), "skip"),
        builder.mark(replace(seen, item_id=3), "cannot_decide", text="x"),
        builder.label(seen, 1.0, Stopwatch()),
        builder.mark(replace(seen, item_id=8), "skip"),
    ):
        recorder.submit(action).result()
    recorder.submit(builder.label(view(fresh, "step-failed"), 1.0, Stopwatch())).result()
    with fresh.reading() as connection:
        assert open_among(connection, scope(rater.id), [1, 2, 3, 4]) == {2, 4}
        assert open_among(connection, scope(rater.id), []) == set()
        assert skipped_in_order(connection, scope(rater.id)) == [5, 2]


def test_the_runs_of_experts_stand_beside_that_of_the_agents(fresh: Workspace) -> None:
    ran = Ran([("one", "passed", "")])
    number = write_expert_run(fresh, NAMES["tested"], "erik", "assert True\n", ran)
    fresh.native().execute("UPDATE execution SET environment = 'cd34' WHERE rater_id IS NOT NULL")
    seen = view(fresh, "tested")
    agents, eriks = seen.runs
    assert (agents.execution, eriks.execution) == (uid(310), number)
    assert [pane.heading for pane in agents.panes] == [
        "Test as the agents wrote it · 1 of 2",
        "Run by the agents · 1 of 2",
    ]
    test, run = (pane.heading for pane in eriks.panes)
    assert test.startswith("erik's test, run 2024-03-0")
    assert run.endswith("of erik's test · 2 of 2")
    assert (seen.execution, text(seen, "test")) == (uid(310), TEST)
    shown = seen.with_run(1)
    assert (shown.execution, text(shown, "test")) == (number, "assert True\n")
    assert "Environment: cd34, not the agents' (ab12, bubblewrap)" in text(shown, "run")
    assert "erik  ran an edited test · 1 of 1 passed" in text(seen, "history")
    assert shown.claim == seen.claim
    assert view(fresh, "tested", blind=True).runs == ()
