"""Workspaces that differ only in what a rater of an open study must not see show that rater the same.

Every command and every query for people is asked in both. Each restriction is switched off once, and then the two
must differ: otherwise the comparison could not find that it is missing.
"""

from __future__ import annotations

import gc
import inspect
import json
import pkgutil
import re
import shutil
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib import import_module

import pytest
import typer.main
from older_schema import with_words
from review_bench import uid
from sealed_bench import (
    DRAFT,
    FILE,
    OF_ANSWERS,
    OUTSIDE,
    OWN_VIEW,
    SECRETS,
    STUDY,
    UNKNOWN,
    ana,
    items_of,
    plain,
    session_of,
    study_pair,
)
from sqlalchemy import true, update

import store.analysis
import store.policy
import store.queries
from agents.sandbox.repair import StoredSnapshot
from screens.exporting.options import read_options
from screens.home.facts import read_facts
from screens.items.views import review_part
from screens.queue.query import QueueQuery
from screens.review.next_item import restored_order, resumed_item
from store.errors import HiddenData, UnknownName, WorkbenchError
from store.kinds.answer import KEEP
from store.kinds.spec import task_kinds
from store.policy import rows
from store.policy.scope import Scope, Shows
from store.policy.words import condition_of
from store.queries import (
    candidates,
    current,
    executions,
    finding,
    home,
    item,
    progress,
    questions,
    queue,
    responses,
    runs,
    saved_views,
    sent_back,
    shown_texts,
)
from store.queries.rows import QueueFilter, QueueSort, ViewQuery
from store.record.actions import Action
from store.record.expert_runs import WITHOUT_TEST
from store.record.ids import now
from store.sql_views.views import views
from store.tables.columns import table_of
from store.tables.people import Assignment
from store.tables.record import Judgment
from store.workspace.duckdb import Workspace
from workbench import study_session
from workbench.app_session import run_app
from workbench.cli.program import program
from workbench.lazy_config import LazyConfig
from workbench.run_option import chosen_run

EVERY_CONDITION = ("blind tests", "own-test", "revealed", "revealed tests hidden-models", "blind swapped")
"""Conditions that between them have every word, one for each item of ana's first sitting."""
SITTING = ("clear-match", "failing", "environment", "timeout", "tested")
"""The items of ana's first sitting, in their order."""
ELSEWHERE = "clear-no"
"""An item of the study in another sitting."""

# The command, whether it writes, and its arguments in turn; `WS` is the workspace.
COMMANDS: dict[str, list[str]] = {
    "items": [
        "WS",
        "WS --json",
        "WS --status open",
        "WS --status judged --json",
        "WS --text secret",
        "WS --text extra/1",
        "WS --kind pair --limit 2",
        "WS --kind answer",
        "WS --run full:scripted",
        "WS --run nothing",
        "WS --rater ana --json",
        "WS --rater ben",
        "WS --rater zoe",
        "WS --rater nobody",
        "WS --view todo",
        "WS --view nothing --json",
        "WS --sample-pairs 3",
        "WS --sample-pairs 10",
        "WS --sample-pairs 3 --stratify label",
        "WS --sample-pairs 3 --stratify label:ben --json",
        f"WS --study {STUDY} --json",
        f"WS --study {DRAFT}",
    ],
    "views": [
        "WS",
        "WS --json",
        "WS --save todo --kind pair --status open",
        "WS --json",
        "WS --save agents --agent 1",
        "WS --save todo",
        "WS --rename todo later",
        "WS --delete nothing",
        "WS --delete later",
    ],
    "candidates": ["WS --models bm25 --top 2", "WS --models bm25,bow --combine z --json"],
    "answer": ["WS --model scripted:nothing.jsonl --json", "WS --setting nothing --model openai:x"],
    "judge-answers": ["WS --model scripted:nothing.jsonl --json"],
    "write-questions": ["WS --model scripted:nothing.jsonl --json"],
    "collect issues": ["WS nothing.json --json", "WS nothing.json"],
    "construct": ["WS . --language python --json", "WS nothing --language python"],
    "retrieve": [
        "WS --repositories . --retriever bm25 --setting ours",
        "WS --repositories nothing --retriever bm25 --setting ours --json",
    ],
    "search": [". coins --encoder bm25 --into WS"],
    "evaluate retrieval": [
        "WS --methods bm25 --rater ana --add-unjudged 5",
        "WS --methods bm25 --policy majority --json",
        "WS --methods bm25,nothing --delete",
    ],
    "evaluate training": [
        f"--models minilm --train {FILE}@parts --test . --json",
        "--models minilm --train . --test . --into WS",
    ],
    "finetune": ["WS --split parts --model minilm --output out --json", "WS --model minilm --output out"],
    "split": ["WS parts --policy majority", "WS parts --rater ana --json"],
    "splits": ["WS", "WS parts --json", "WS parts --now"],
    "judge": [
        f"WS {OUTSIDE} match",
        f"WS {UNKNOWN} match",
        f"WS {ELSEWHERE} match --json",
        "WS 2 match",
        "WS 12 match",
        f"WS {SITTING[1]} nonsense",
        f"WS {SITTING[1]} match --evidence test:1",
        f"WS {SITTING[1]} match --evidence log:1 --json",
        f"WS {SITTING[1]} match --question clarity",
        f"WS {SITTING[1]} match --run full:scripted",
        f"WS {SITTING[1]} match --rater ben",
        f"WS {SITTING[1]} match --evidence code:1-2 --json",
        f"WS {SITTING[1]} 0 --comment again --rater ana --json",
        f"WS {SITTING[1]} 0 --without-test --json",
        f"WS {SITTING[2]} no",
        f"WS {SITTING[3]} --cannot-decide --comment unclear --study {STUDY} --json",
        f"WS {SITTING[4]} --skip --study nothing",
        f"WS {ELSEWHERE} --skip",
    ],
    "sql": [
        "WS --json FROM/**/items",
        "WS --csv SELECT/**/count(*),min(text)/**/FROM/**/marks",
        "WS --json --rater ben FROM/**/items",
        "WS --run full:scripted FROM/**/items",
        "WS --json FROM/**/judgment",
        "WS --views",
    ],
    "revise": [f"WS {name} --part question --file text.txt" for name in ("q1", OUTSIDE, UNKNOWN, SITTING[0])],
    "report": [
        "WS",
        "WS progress --json",
        "WS progress --rater ben",
        "WS progress --run full:scripted",
        "WS agreement",
        "WS agreement --json --rater ana",
        f"WS agreement --study {STUDY}",
        "WS agreement --raters ana,ben",
        "WS accuracy --policy ben",
        "WS accuracy --policy zoe --json",
        "WS pipeline",
        "WS pipeline --run full:scripted",
        "WS figures --rater ben",
        "WS figures",
        "WS plan",
        "WS plan --raters ana,ben",
        "WS confusion --raters ana,ben",
        "WS labels --json",
        "WS labels --rater ana",
        "WS time --raters ana --json",
        f"WS raters --study {STUDY}",
        f"WS raters --study {STUDY} --json --rater ana",
        "WS raters --study nothing",
        "WS retrieval --rater ana",
        "WS retrieval --policy majority --json",
        "WS retrieval --rater ana --compare bm25,bow",
        "WS completion --json",
        "WS preference",
        f"WS preference --study {STUDY} --raters ben --json",
    ],
    "export": [
        "WS out.jsonl --format jsonl",
        "WS out.csv --format csv --rater ana",
        "WS out.csv --format csv --rater zoe",
        "WS out.csv --format csv --run full:scripted",
        "WS out.csv --format csv --rater ana --view todo --dry-run",
        "WS out.csv --format csv --rater ana --sample-pairs 3 --stratify label:ben",
    ],
    "import": ["WS extra.jsonl --dry-run", "WS pairs.jsonl", "WS nothing.jsonl"],
    "annotate": [
        "WS --estimate --model scripted:replies.jsonl",
        "WS --model scripted:replies.jsonl --only-missing --limit 1 --json",
        "WS --model scripted:replies.jsonl --sample-pairs 3 --stratify label:ben",
        "WS --model scripted:replies.jsonl --source pairs.jsonl --estimate",
    ],
    "complete": [
        "WS --setting in-file --model scripted:replies.jsonl --json",
        "WS --setting nothing --model scripted:replies.jsonl --estimate",
    ],
    "judge-pairs": [
        "WS --model scripted:replies.jsonl --json",
        f"WS --model scripted:replies.jsonl --study {STUDY} --estimate",
    ],
    "copy": ["WS copy.duckdb --json", "WS copy.duckdb"],
    "merge": ["WS other.duckdb", "WS other.duckdb --dry-run --json", "WS nothing.duckdb"],
    "replies": ["WS", "WS --json"],
    "recover": ["WS", "WS nothing.jsonl --json"],
    "doctor": ["WS", "WS --json"],
    "sandbox snapshots": ["WS", "WS --json"],
    "study list": ["WS", "WS --json", "WS --rater ben"],
    "study show": [
        f"WS {STUDY}",
        f"WS {OF_ANSWERS} --json",
        "WS draft-x",
        "WS nothing",
        f"WS {STUDY} --rater ben",
    ],
    "study new": [
        "WS mine --raters ben,chi",
        "WS draft-x --raters ben,chi",
        "WS mine --raters ben --sample-pairs 3 --stratify label",
    ],
    "compare new": [
        "WS mine --codes-from pairs:other",
        "WS mine --models one,two --json",
        "WS mine --from-scores --raters ben,chi",
        "WS mine --codes-from pairs:other --labels ben --rater ben",
    ],
    "study status": [f"WS {STUDY}", f"WS {STUDY} --json", f"WS {STUDY} --look", "WS nothing", "WS draft-x"],
    "study manifest": [f"WS {STUDY}", f"WS {STUDY} out.md", "WS nothing", f"WS {STUDY} --rater ben"],
    "adjudicate": [
        "WS",
        f"WS --study {STUDY} --json",
        "WS --study nothing",
        "WS --agents",
        f"WS --study {STUDY} --send-back {SITTING[0]} --note look",
        "WS --rater ben",
        "WS --rater nora",
    ],
    "rule": [
        f"WS {SITTING[0]} match --study {STUDY}",
        f"WS {OUTSIDE} match --comment x",
        f"WS {UNKNOWN} match",
        f"WS {SITTING[0]} match --rater nora",
    ],
    "packet make": [
        f"WS {STUDY} ben out.duckdb",
        f"WS {STUDY} ana out.duckdb --json",
        f"WS {STUDY} zoe out.duckdb",
        "WS nothing ana out.duckdb",
    ],
    "packet merge": ["WS other.duckdb", "WS nothing.duckdb --dry-run"],
    "study freeze": ["WS draft-x", f"WS {STUDY}", "WS nothing"],
    "study delete": ["WS draft-x", f"WS {STUDY}", "WS nothing"],
    "study close": [f"WS {STUDY}", "WS draft-x", "WS nothing"],
    "study withdraw": [f"WS {STUDY} ben", f"WS {STUDY} zoe", "WS draft-x ana", f"WS {STUDY} ana"],
}
"""What is asked of every command that opens a workspace, under the name of ana."""

WITHOUT_WORKSPACE = {
    *(
        "agents",
        "agents prompts",
        "collect repositories",
        "evaluate search",
        "measure agreement",
        "measure completion",
        "measure preference",
        "measure ranking",
        "sandbox build",
        "sandbox check",
        "sandbox run",
    ),
    # Those open the app, which tests/flows/test_sealed_screens.py walks through; demo a workspace of its own.
    *("open", "demo"),
}

REFUSED = [
    *(
        f"report WS {name}"
        for name in (
            *("agreement", "accuracy --policy ben", "pipeline", "figures --rater ben", "plan"),
            *("confusion --raters ana,ben", "labels"),
        )
    ),
    "export WS out.jsonl --format jsonl",
    "split WS parts --rater ben --ratios 1:1 --json",
    "candidates WS --models bm25 --top 2 --json",
    "evaluate retrieval WS --methods bm25 --rater ben --preset standard",
    "import WS extra.jsonl --dry-run",
    "annotate WS --estimate --model scripted:replies.jsonl",
    *(
        "copy WS copy.duckdb --json",
        "merge WS other.duckdb --dry-run",
        "replies WS",
        "recover WS",
        "doctor WS",
    ),
    *("sandbox snapshots WS", f"study show WS {STUDY}", "study new WS draft-x --raters ben,chi"),
    f"study status WS {STUDY}",
    *(f"report WS raters --study {STUDY}", f"study manifest WS {STUDY}", f"adjudicate WS --study {STUDY}"),
    *("adjudicate WS", f"rule WS {SITTING[0]} 1 --comment x", f"packet make WS {STUDY} zoe out.duckdb"),
    *("study freeze WS draft-x", "study delete WS draft-x"),
    *(f"study close WS {STUDY}", f"study withdraw WS {STUDY} zoe"),
]
"""What rests on the work of others, one call of each command; it differs where it is not refused."""


def leaves(group, path=()):
    """The names of all commands, those of groups with the group's before them."""
    for name, command in group.commands.items():
        inside = getattr(command, "commands", None)
        if inside is None or command.invoke_without_command:
            yield " ".join((*path, name))
        if inside is not None:
            yield from leaves(command, (*path, name))


class Places:
    """Snapshots of a sandbox; the busy workspace has used the one that there is."""

    def stored(self):
        return [StoredSnapshot("bubblewrap", "ab12", 3, datetime(2024, 3, 4, tzinfo=UTC))]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The two workspaces, as they were made; whoever writes works in copies."""
    folder = tmp_path_factory.mktemp("sealed")
    made = study_pair(folder)
    reply = {"role": "screener", "subject": "x", "reply": {}, "usage": {"tokens_in": 1, "tokens_out": 1}}
    shutil.copyfile(made[1].with_name("extra.jsonl"), made[0].with_name("extra.jsonl"))
    for path in made:
        texts = {"text.txt": "another text", "replies.jsonl": json.dumps(reply)}
        for name, text in texts.items():
            path.with_name(name).write_text(text + "\n", encoding="utf-8")
        shutil.copyfile(made[1], path.with_name("other.duckdb"))
    return made


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Two workspaces in which some of the items are revealed."""
    return study_pair(tmp_path_factory.mktemp("mixed"), ("blind", "revealed+tests"))


@pytest.fixture
def copies(made, tmp_path):
    """Copies of the two workspaces, with all that is beside them."""
    return tuple(shutil.copytree(path.parent, tmp_path / path.parent.name) / FILE for path in made)


@pytest.fixture
def ask(workbench, monkeypatch):
    """What a command line prints of a workspace in a session of ana, and its exit code."""

    async def no_sandboxes(config):
        return []

    monkeypatch.setattr("workbench.diagnosis.sandbox_checks", no_sandboxes)
    monkeypatch.setattr("workbench.cli.snapshots._places", lambda *_: {"bubblewrap": Places()})
    monkeypatch.setenv("WORKBENCH_RATER", "ana")

    def run(path, line):
        monkeypatch.chdir(path.parent)
        done = workbench(*(FILE if word == "WS" else word for word in line.split()))
        return plain(done.out, path), plain(done.err, path), done.code

    return run


# -- commands -----------------------------------------------------------------------------------------


def test_every_command_is_asked():
    assert set(leaves(typer.main.get_command(program))) == COMMANDS.keys() | WITHOUT_WORKSPACE


@pytest.mark.full
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_shows_the_same(ask, copies, command):
    bare, busy = copies
    for line in COMMANDS[command]:
        shown, hidden = ask(bare, f"{command} {line}"), ask(busy, f"{command} {line}")
        assert shown == hidden, line
        # What was asked for by its name may be named.
        words = re.split(r"[^\w/:-]+", "".join(shown[:2]))
        named = [word for word in SECRETS if word in words and word not in line]
        assert not named, (line, shown)


@pytest.mark.full
def test_the_sitting_is_listed_and_judged_in_it(ask, copies):
    path = copies[1]
    listed = json.loads(ask(path, "items WS --json")[0])
    assert ([one["item"] for one in listed["items"]], listed["total"], listed["runs"]) == ([*SITTING], 5, {})
    assert f"study {STUDY} (also open: {OF_ANSWERS})" in ask(path, "items WS")[0]
    other = json.loads(ask(path, f"items WS --study {OF_ANSWERS} --json")[0])
    assert (other["study"], {one["kind"] for one in other["items"]}) == (OF_ANSWERS, {"answer"})
    for name in (OUTSIDE, ELSEWHERE, "q1"):
        shown, _, code = ask(path, f"judge WS {name} match --json")
        assert (shown.replace(name, UNKNOWN), code) == (ask(path, f"judge WS {UNKNOWN} match --json")[0], 2)
    assert "No own test" in ask(path, f"judge WS {SITTING[1]} match --json")[0]
    assert ask(path, f"judge WS {SITTING[1]} match --without-test")[2] == 0
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        scope = session_of(workspace).scope
        number = items_of(workspace, scope)[1]
        record = item.load_history(connection, number, scope)[-1]
        assert (record.rater, record.value, record.blind) == ("ana", 1.0, True)
        assert record.reason == WITHOUT_TEST
        own = item.load_own(connection, scope, number)
        assert len(own.labels) == 1


@pytest.mark.full
@pytest.mark.parametrize("line", REFUSED)
def test_what_rests_on_others_is_refused_and_differs_otherwise(ask, copies, monkeypatch, line):
    for path in copies:
        printed, error, code = ask(path, line)
        assert code == 2
        assert "Sealed session" in printed + error
    may = Scope.may
    others = (Shows.WHOLE, Shows.OTHERS)
    monkeypatch.setattr(Scope, "may", lambda self, what: what in others or may(self, what))
    assert ask(copies[0], line) != ask(copies[1], line)


@pytest.mark.full
def test_the_coordinator_is_not_sealed_nor_a_rater_once_the_study_is_closed(ask, copies, monkeypatch):
    monkeypatch.setenv("WORKBENCH_RATER", "nora")
    bare, busy = copies
    assert ask(bare, "items WS") != ask(busy, "items WS")
    assert ask(busy, f"study close WS {STUDY}")[2] == ask(busy, f"study close WS {OF_ANSWERS}")[2] == 0
    monkeypatch.setenv("WORKBENCH_RATER", "ana")
    listed = json.loads(ask(busy, "items WS --json")[0])
    assert OUTSIDE in {one["item"] for one in listed["items"]}
    assert {one["agent_label"] for one in listed["items"]} >= {1.0, 0.0}


def test_the_app_is_not_opened_for_another_rater_run_or_study(made, monkeypatch):
    monkeypatch.setenv("WORKBENCH_RATER", "ana")
    config = LazyConfig(None)
    refusals = []
    for path in made:
        asked = [{"rater": "ben"}, {"rater": "nobody"}, {"run": "full:scripted"}, {"run": "nothing"}]
        asked += [{"study": DRAFT}, {"study": "nothing"}]
        for options in asked:
            with pytest.raises((HiddenData, UnknownName)) as refusal:
                run_app(path, config, options.pop("rater", None), **options)
            gc.enable()
            refusals.append(plain(str(refusal.value), path).replace(DRAFT, "nothing"))
    assert refusals[:6] == refusals[6:]
    assert [len(set(refusals[at : at + 2])) for at in (0, 2, 4)] == [1, 1, 1]


# -- queries ------------------------------------------------------------------------------------------

BUILDERS = {
    # They make statements, which the others run.
    *(
        "is_own",
        "may",
        "in_scope",
        "in_sitting",
        "of_scope",
        "may_read",
        "may_read_run",
        "positions",
        "refuse_hidden",
        "own_values",
        "own_labels",
        "own_marks",
    ),
    *(
        "shown_runs",
        "current_verdicts",
        "items_that_need_a_sandbox",
        "frozen_at",
        "select_ids",
        "select_rows",
    ),
    *("answered_count", "agents_labels", "required_count"),
}

FILTERS = [
    QueueFilter(),
    QueueFilter(text="secret"),
    QueueFilter(status="open"),
    QueueFilter(flagged=True),
    QueueFilter(label=1.0),
    QueueFilter(agent="1"),
    QueueFilter(agreement="disagree"),
    QueueFilter(path="tested"),
    QueueFilter(path="needs_sandbox"),
]
SORTS = [QueueSort(key) for key in ("position", "title", "label", "agent", "similarity", "rank", "status")]


def each(connection, of, items):
    """What a query returns of each item; its error where it refuses one."""
    return {number: refused(lambda number=number: of(connection, number)) for number in items}


def refused(of):
    try:
        return of()
    except WorkbenchError as error:
        return (error.title, error.message, error.hint)


TYPED = ("secret", "extra", "q", "python", "empty file", SITTING[0], ELSEWHERE, OUTSIDE)
"""What is typed to find items and queries."""

QUERIES = {
    "may_on_all": lambda w, c, s, ids: [rows.may_on_all(c, s, one) for one in (Shows.AGENTS, Shows.MODELS)],
    "assignment_of": lambda w, c, s, ids: each(c, lambda c, n: rows.assignment_of(c, s, n), ids),
    "texts_until": lambda w, c, s, ids: current.texts_until(c, s),
    "shown_on": lambda w, c, s, ids: each(
        c, lambda c, n: sorted(one.name for one in rows.shown_on(c, s, n)), ids
    ),
    "item_access": lambda w, c, s, ids: each(c, lambda c, n: item.item_access(c, s, n), ids),
    "has_item": lambda w, c, s, ids: each(c, lambda c, n: item.has_item(c, s, n), ids),
    "find_item": lambda w, c, s, ids: [
        refused(lambda name=name: item.find_item(c, name, s))
        for name in (*SITTING, ELSEWHERE, OUTSIDE, "12", "q1")
    ],
    "candidates_of": lambda w, c, s, ids: each(c, lambda c, n: candidates.candidates_of(w, s, n), ids),
    "load_item": lambda w, c, s, ids: each(c, lambda c, n: loaded(c, s, n), ids),
    "protocol_of": lambda w, c, s, ids: shown_texts.protocol_of(c, s),
    "shown_candidates": lambda w, c, s, ids: shown_texts.shown_candidates(c, s, {}),
    "load_own": lambda w, c, s, ids: each(c, lambda c, n: item.load_own(c, s, n), ids),
    "load_history": lambda w, c, s, ids: each(c, lambda c, n: item.load_history(c, n, s), items_of(w, s)),
    "item_texts": lambda w, c, s, ids: item.item_texts(c, items_of(w, s), s),
    # Which items are shown is asked first (`item_access`).
    "load_case": lambda w, c, s, ids: {n: viewed(c, s, n) for n in items_of(w, s)},
    "judges_scores": lambda w, c, s, ids: responses.judges_scores(c, s, ids),
    "executions_of_verdicts": lambda w, c, s, ids: executions.executions_of_verdicts(
        c, s, [row.item_id for row in queue.queue_rows(w, s, ids) if not row.blind]
    ),
    "notes_for": lambda w, c, s, ids: sent_back.notes_for(c, s),
    "progress": lambda w, c, s, ids: progress.progress(c, s).to_dict(),
    "today_and_left": lambda w, c, s, ids: progress.today_and_left(c, s),
    "open_among": lambda w, c, s, ids: progress.open_among(c, s, ids),
    "sitting_statuses": lambda w, c, s, ids: [tuple(row) for row in progress.sitting_statuses(c, s)],
    "skipped_in_order": lambda w, c, s, ids: progress.skipped_in_order(c, s),
    "queue_ids": lambda w, c, s, ids: [
        refused(lambda f=f, o=o: [int(n) for n in queue.queue_ids(w, s, f, o)])
        for f, o in [*((f, None) for f in FILTERS), *((None, o) for o in SORTS)]
    ],
    "find_items": lambda w, c, s, ids: [finding.find_items(w, s, text, 20) for text in TYPED],
    "find_groups": lambda w, c, s, ids: [finding.find_groups(w, s, text, 20) for text in TYPED],
    "list_views": lambda w, c, s, ids: saved_views.list_views(c, s),
    "find_view": lambda w, c, s, ids: refused(lambda: saved_views.find_view(c, s, OWN_VIEW)),
    "view_ids": lambda w, c, s, ids: [
        refused(lambda f=f: [int(n) for n in saved_views.view_ids(w, s, ViewQuery(f))]) for f in FILTERS
    ],
    "refuse_hidden_view": lambda w, c, s, ids: [
        refused(lambda f=f: saved_views.refuse_hidden_view(s, ViewQuery(f))) for f in FILTERS
    ],
    "items_by_kind": lambda w, c, s, ids: queue.items_by_kind(w, s),
    "queue_rows": lambda w, c, s, ids: queue.queue_rows(w, s, ids),
    "shown_by_kind": lambda w, c, s, ids: runs.shown_by_kind(c, s),
    "labelled_runs": lambda w, c, s, ids: runs.labelled_runs(c, s),
    "activity": lambda w, c, s, ids: home.activity(c, s),
    "label_table": lambda w, c, s, ids: home.label_table(c, s),
    "home": lambda w, c, s, ids: read_facts(w, s, sample=False),
    "resume": lambda w, c, s, ids: [
        (resumed_item(w, s, {"item": n}, QueueQuery()), vars_of(restored_order(w, s, {"item": n})))
        for n in (2, 12)
    ],
    "item_questions": lambda w, c, s, ids: each(
        c, lambda c, n: questions.item_questions(c, questions.kind_of(c, n), n, s), items_of(w, s)
    ),
    "is_asked_of_item": lambda w, c, s, ids: each(
        c, lambda c, n: questions.is_asked_of_item(c, KEEP, n, s), items_of(w, s)
    ),
    "last_answered": lambda w, c, s, ids: each(
        c, lambda c, n: questions.last_answered(c, questions.kind_of(c, n), n, s), items_of(w, s)
    ),
    "scored_measures": lambda w, c, s, ids: questions.scored_measures(c, ids, s),
    "load_responses": lambda w, c, s, ids: each(
        c, lambda c, n: responses.load_responses(c, n, s, blind=True, hidden=True), ids
    ),
    "progress_delta": lambda w, c, s, ids: progress.progress_delta(c, Action(uid(1), (a_label(c, s),)), s),
    "views": lambda w, c, s, ids: {
        name: c.execute(view.select(c, s)).all() for name, view in views().items()
    },
    "study": lambda w, c, s, ids: [
        refused(lambda name=name: place(session_of(w, name)))
        for name in (None, STUDY, OF_ANSWERS, DRAFT, "nothing")
    ],
}
"""Every query for people, and what screens and commands read with them."""


def loaded(connection, scope, number):
    """An item of whichever kind it is."""
    found = [
        refused(lambda kind=kind: item.load_item(connection, scope, kind, number))
        for kind in task_kinds().values()
    ]
    return [one for one in found if not isinstance(one, tuple)] or found


def viewed(connection, scope, number):
    """An item as a review shows it."""
    kind = questions.kind_of(connection, number)
    return review_part(kind.name).load(connection, scope, number)


def a_label(connection, scope):
    """A label that the rater could have given."""
    access = item.item_access(connection, scope, 1)
    fields = {"item_id": 1, "question_id": 1, "rater_id": scope.rater_id, "value": 0.0, "created_at": now()}
    return Judgment(
        id=uid(2), action=uid(1), assignment_id=access.assignment_id, phase=access.phase, **fields
    )


def vars_of(restored):
    query, order = restored
    return query, order.ids, order.index, order.total


def place(session):
    return session.study.name, session.sitting, session.sittings, session.done, session.total, session.left


def queried(path, name, study=STUDY):
    """What a query returns in ana's sitting of a study."""
    return queried_all(path, study, [name])[name]


def queried_all(path, study=STUDY, names=tuple(QUERIES)):
    """What some queries return in ana's sitting of a study, by name."""
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        scope = ana(workspace, study)
        found = {name: QUERIES[name](workspace, connection, scope, range(1, 15)) for name in names}
        return {name: plain(repr(each), path) for name, each in found.items()}


def test_every_query_is_asked():
    found = set()
    packages = ((one.__path__, f"{one.__name__}.") for one in (store.queries, store.analysis, store.policy))
    for module in (each for package in packages for each in pkgutil.iter_modules(*package)):
        for name, function in inspect.getmembers(import_module(module.name), inspect.isfunction):
            if "scope" in inspect.signature(function).parameters and not name.startswith("_"):
                found.add(name)
    screens = {"home", "resume", "study", "views"}
    assert found == (QUERIES.keys() - screens) | BUILDERS


@pytest.mark.parametrize("study", [STUDY, OF_ANSWERS])
def test_queries_return_the_same(made, study):
    bare, busy = (queried_all(path, study) for path in made)
    for name, shown in bare.items():
        assert shown == busy[name], name
        assert name == "study" or "secret" not in shown.replace("text='secret'", ""), name


def test_queries_return_the_same_where_some_items_are_revealed(mixed):
    bare, busy = (queried_all(path) for path in mixed)
    for name, shown in bare.items():
        assert shown == busy[name], name
    assert "ben" in bare["load_item"]
    assert "'ben'" in bare["views"]
    assert "agent_label=0.0" in bare["queue_rows"]


def test_a_workspace_with_conditions_in_words_answers_the_same(mixed, tmp_path):
    path = shutil.copytree(mixed[1].parent, tmp_path / mixed[1].parent.name) / FILE
    with Workspace.open(path) as workspace:
        scope = ana(workspace)
        table = table_of(Assignment)
        for item, words in zip(items_of(workspace, scope), EVERY_CONDITION, strict=True):
            of_item = (table.c.item_id == item) & (table.c.rater_id == scope.rater_id)
            change = update(table).where(of_item).values(condition_of(words)._asdict())
            workspace.lane.submit(lambda connection, change=change: connection.execute(change)).result()
    before = queried_all(path)
    assert {*with_words(path)} >= {*EVERY_CONDITION}
    assert queried_all(path) == before
    assert path.with_name(f"{path.name}.schema-24.bak").exists()


# -- without a restriction ----------------------------------------------------------------------------


@pytest.fixture
def off(monkeypatch):
    """Switches a restriction off; statements made with or without it are forgotten."""
    current._shown_runs.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    current._shown_runs.cache_clear()


OFF = {
    "conditions that hide": ("store.policy.rows._shown", lambda *_: true(), "queue_rows"),
    "hidden history": ("store.queries.item.may_read", lambda *_: true(), "load_item"),
    "items of the sitting, by name": ("store.queries.item.in_scope", lambda *_: true(), "find_item"),
    "items of the sitting, by number": ("store.queries.item.in_scope", lambda *_: true(), "has_item"),
    "items of the sitting, loaded": ("store.queries.item.in_scope", lambda *_: true(), "load_item"),
    "items of the sitting, open": ("store.queries.progress.in_scope", lambda *_: true(), "open_among"),
    "items of the sitting, counted": ("store.queries.progress.in_scope", lambda *_: true(), "progress"),
    "items of the sitting, by kind": ("store.queries.queue.in_scope", lambda *_: true(), "items_by_kind"),
    "items of the sitting, found": ("store.queries.finding.positions", lambda *_: None, "find_items"),
    "queries of the sitting, found": ("store.queries.finding.in_scope", lambda *_: true(), "find_groups"),
    "items of the sitting, in rows": ("store.queries.queue.in_scope", lambda *_: true(), "queue_rows"),
    "runs of the sitting, in views": ("store.sql_views.views.may_read_run", lambda *_: true(), "views"),
    "records, in views": ("store.sql_views.views.may_read", lambda *_: true(), "views"),
    "items of the sitting, in views": ("store.sql_views.views.in_scope", lambda *_: true(), "views"),
    "agents' work, in views": ("store.sql_views.views.may", lambda *_: true(), "views"),
    "lists without runs, in views": (
        "store.policy.scope.Scope.may",
        lambda self, _: not self.blind,
        "views",
    ),
    "lists without runs": ("store.policy.scope.Scope.may", lambda self, _: not self.blind, "home"),
}


@pytest.mark.parametrize("restriction", OFF)
def test_without_a_restriction_queries_differ(made, off, restriction):
    name, instead, query = OFF[restriction]
    if restriction == "lists without runs":
        # No run is shown in a study that reveals nothing.
        original = current._shown_runs
        off.setattr("store.queries.current._shown_runs", lambda chosen, _: original(chosen, None))
    off.setattr(name, instead)
    assert queried(made[0], query) != queried(made[1], query)


GUARDED = {
    Shows.AGENTS: ("queue_rows", "load_item", "load_case", "views"),
    Shows.MODELS: ("judges_scores",),
    Shows.TESTS: ("shown_by_kind",),
    Shows.LISTS: ("views", "home"),
    Shows.RUN: ("the run that is named",),
    Shows.SURROUNDINGS: ("list_views", "views"),
    Shows.WHOLE: ("the options of an export",),
}
"""Queries that let what is hidden through once the policy shows it."""
REFUSED_COMMANDS = {
    Shows.OTHERS: "split WS parts --rater ben --ratios 1:1 --json",
    Shows.RATER: "items WS --rater zoe",
}
"""Commands that do."""


def switch_off(off, member):
    """Let the policy show something to everybody."""
    shown, by, may = rows._shown, rows.shown_by, Scope.may
    off.setattr(rows, "_shown", lambda s, what, item: true() if what is member else shown(s, what, item))
    off.setattr(rows, "shown_by", lambda what: true() if what is member else by(what))
    off.setattr(Scope, "may", lambda self, what: what is member or may(self, what))


@pytest.mark.parametrize("member", GUARDED)
def test_without_the_policy_queries_differ(made, off, member):
    off.setitem(
        QUERIES,
        "the run that is named",
        lambda w, c, s, ids: refused(lambda: chosen_run(c, s, "full:scripted")),
    )
    off.setitem(QUERIES, "the options of an export", lambda w, c, s, ids: refused(lambda: read_options(c, s)))
    for query in GUARDED[member]:
        assert queried(made[0], query) == queried(made[1], query), query
    switch_off(off, member)
    current._shown_runs.cache_clear()
    for query in GUARDED[member]:
        assert queried(made[0], query) != queried(made[1], query), query


@pytest.mark.full
@pytest.mark.parametrize("member", REFUSED_COMMANDS)
def test_without_the_policy_commands_differ(ask, copies, off, member):
    line = REFUSED_COMMANDS[member]
    assert ask(copies[0], line) == ask(copies[1], line)
    switch_off(off, member)
    assert ask(copies[0], line) != ask(copies[1], line)


def test_everything_that_may_be_asked_for_is_switched_off_once():
    assert {*GUARDED, *REFUSED_COMMANDS} == {*Shows}


def test_without_the_freezing_texts_differ(made, off):
    for query in ("load_item", "item_texts", "queue_rows"):
        with ExitStack():
            for module in (item, queue):
                off.setattr(module, "texts_until", lambda *_: None)
            assert queried(made[0], query, OF_ANSWERS) != queried(made[1], query, OF_ANSWERS), query
    off.setattr(queue, "frozen_at", lambda *_: None)
    assert queried(made[0], "queue_ids", OF_ANSWERS) != queried(made[1], "queue_ids", OF_ANSWERS)


def test_without_the_freezing_judges_decide_what_is_asked(made, off):
    off.setattr(questions, "_in_time", lambda *_: [])
    for query in ("load_item", "item_questions", "queue_rows"):
        assert queried(made[0], query, OF_ANSWERS) != queried(made[1], query, OF_ANSWERS), query


def test_without_hidden_scores_answers_differ(made, off):
    original = item.load_responses
    off.setattr(item, "load_responses", lambda *args, **_: original(*args, blind=False, hidden=False))
    assert queried(made[0], "load_item", OF_ANSWERS) != queried(made[1], "load_item", OF_ANSWERS)


def test_without_the_runs_of_the_sitting_the_shown_run_differs(mixed, off):
    original = current._shown_runs
    off.setattr(current, "_shown_runs", lambda chosen, _: original(chosen, None))
    for query in ("shown_by_kind", "load_case"):
        assert queried(mixed[0], query) != queried(mixed[1], query), query


def test_without_refused_filters_hidden_labels_choose_the_items(mixed, off):
    off.setattr(queue, "refuse_hidden", lambda *_: None)
    assert queried(mixed[0], "queue_ids") != queried(mixed[1], "queue_ids")


COMMANDS_OFF = {
    "the scope of the sitting": ("store.studies.session.study_session", lambda *_: None, "items WS --json"),
    "the sitting of a judgment": (
        "store.studies.session.study_session",
        lambda *_: None,
        f"judge WS {OUTSIDE} match --json",
    ),
    "other raters": ("store.policy.refusal.is_sealed", lambda *_: False, "items WS --rater zoe"),
    "the choice of a run": ("workbench.study_session.refuse", None, "items WS --run full:scripted"),
    "samples": (
        "workbench.cli.sampling.SampleChoice.refuse_in_sitting",
        lambda _: None,
        "items WS --sample-pairs 3 --stratify label",
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("restriction", COMMANDS_OFF)
def test_without_a_restriction_commands_differ(ask, copies, off, restriction):
    name, instead, line = COMMANDS_OFF[restriction]
    if instead is None:
        # Without the refusal the name of the run would be looked up.
        original = study_session.open_session

        def looked_up(connection, config, given, run=None, name=None):
            session = original(connection, config, given)
            chosen_run(connection, Scope(), run)
            return session

        off.setattr(study_session, "open_session", looked_up)
    else:
        off.setattr(name, instead)
    assert ask(copies[0], line) != ask(copies[1], line)
