"""`workbench annotate`: runs the agents on a workspace without a screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agents.pipelines.configurations import OURS
from store.errors import WorkbenchError
from workbench.cli.estimating import estimates
from workbench.cli.options import (
    Answer,
    AsJson,
    ConfigFile,
    Workspace,
    command,
    session,
    settings,
    unseen,
    with_options_of,
)
from workbench.cli.sampling import SampleChoice, SamplePairs, Seed, Stratify, print_strata

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from agents.jobs.limits import LimitSettings
    from agents.jobs.report import JobReport
    from agents.pipelines.spec import AgentsPart
    from agents.settings import JobSettings
    from store.workspace.duckdb import Workspace as OpenWorkspace


@unseen("options")
@command
def annotate_command(
    workspace: Workspace,
    *,
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER:NAME", help="openai:NAME, anthropic:NAME or scripted:FILE."),
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Which agents take part: {', '.join(OURS)}, or a configuration of your own (see: "
            "workbench agents). Given several times, they work on the same items one after another.",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Which items: pair, comparison or completion; by default the first kind with open items.",
        ),
    ] = None,
    study: Annotated[str | None, typer.Option(metavar="NAME", help="Only the items of this study.")] = None,
    items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only these items: a name or number a line.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="NAME",
            help="Only the items of this source: a file's name, or what candidates names.",
        ),
    ] = None,
    only_missing: Annotated[
        bool,
        typer.Option(
            "--only-missing", help="Only items that no agents have labelled when the command starts."
        ),
    ] = False,
    sample_queries: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the items of N randomly sampled queries.")
    ] = None,
    sample_pairs: SamplePairs = None,
    stratify: Stratify = None,
    seed: Seed = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most so many items, for each configuration.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=256, metavar="N", help="Items worked on at the same time.")
    ] = None,
    sandbox: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="bubblewrap, docker, or process, which runs generated programs without isolating them.",
        ),
    ] = None,
    repairs: Annotated[
        bool | None,
        typer.Option(
            "--repairs/--no-repairs",
            help="Whether the bug fixer repairs programs that miss something; it reaches the package index.",
            show_default=False,
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Only items that failed in the run.")
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Ask models again, without the cached replies of other runs.")
    ] = False,
    budget_money: Annotated[
        float | None, typer.Option(min=0, metavar="DOLLARS", help="What the run may cost, in US dollars.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Input and output tokens that the run may take.")
    ] = None,
    budget_requests: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Requests that the run may send to models.")
    ] = None,
    budget_pairs: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Items, such as pairs, that the run may work on.")
    ] = None,
    estimate_only: Annotated[
        bool, typer.Option("--estimate", help="Estimate requests, tokens and cost; asks no service.")
    ] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
    options: Mapping[str, str] | None = None,
) -> Answer:
    """Run the agents on every item that the run has no outcome for.

    Ctrl-C stops it; the same command goes on where it stopped. A budget is that of the run, all its jobs
    together: when it is reached, the command ends with exit code 3, and goes on when it is given more.
    """
    from agents.pipelines.registry import agents_part
    from store.formatting import pluralize
    from store.policy.scope import Shows
    from store.record.raters import register_kinds
    from workbench.cli.items import find_kind
    from workbench.job_settings import annotation_settings, check_models
    from workbench.study_session import configured_viewer

    loaded = settings(config)
    kind = kind and find_kind(kind)
    choice = SampleChoice(sample_pairs, seed, stratify)
    asking = configured_viewer(loaded)
    choice.check(asking, sample_queries)
    blind = not asking.may(Shows.OTHERS)
    if sum(one is not None for one in (sample_queries, sample_pairs, study, items, source)) > 1:
        raise WorkbenchError(
            "Two choices of items",
            "A sample, a study, a source and a file of items exclude each other.",
            "Give one of --sample-pairs, --sample-queries, --study, --source and --items.",
        )
    names: list[str | None] = [*dict.fromkeys(agents or [])] or [None]
    budget = {
        "money": budget_money,
        "tokens": budget_tokens,
        "requests": budget_requests,
        "pairs": budget_pairs,
    }
    reports: list[JobReport] = []
    with session(workspace, loaded, Shows.WHOLE, "Annotating uses") as opened:
        register_kinds(opened)
        drawn: Sequence[int] | None
        configurations = [loaded.agents.chosen(name)[0] for name in names if name]
        if study is not None:
            kind, drawn = _of_study(opened, study, kind)
        elif source is not None:
            kind, drawn = _of_source(opened, source, kind, configurations)
        else:
            kind = kind or _kind(opened, configurations)
            drawn = _drawn(opened, kind, items, sample_queries, seed or 0)
        jobs = [
            annotation_settings(
                loaded,
                model=model,
                agents=name,
                kind=kind,
                limit=limit,
                concurrency=concurrency,
                sandbox=sandbox,
                repairs=repairs,
                budget=budget,
                cache=not no_cache,
                retry_failed=retry_failed,
            )
            for name in names
        ]
        if repairs and not any(job.has_repairer for job in jobs):
            raise WorkbenchError(
                "No bug fixer takes part",
                f"--repairs asks for one, and {' and '.join(job.asked for job in jobs)} has none.",
                "Leave --repairs out, or choose --agents full.",
            )
        if estimate_only:
            jobs = [replace(job, models=job.models.unasked()) for job in jobs]
        check_models(jobs)
        missing_at = opened.ids.next() if only_missing else None
        sample = choice.take(opened, kind)
        drawn = drawn if sample is None else sample.item_ids
        asked = {
            "kind": kind,
            "study": study,
            "source": source,
            "limit": limit,
            "only_missing": only_missing,
            "sample_queries": sample_queries,
            "sample_pairs": sample_pairs,
            "seed": (seed or 0) if sample_pairs is not None or sample_queries is not None else None,
            "stratify": stratify,
            "strata": None if sample is None else sample.strata_as_json(),
        }
        jobs = [replace(job, item_ids=drawn, missing_at=missing_at, options=options or {}) for job in jobs]
        left_out = 0
        if (part := agents_part(kind)).eligible is not None:
            jobs, left_out = _eligible(opened, part, jobs)
            asked["left_out"] = left_out
        # Before hours of work, and each report after its own.
        if not as_json:
            print_strata(sample)
        if estimate_only:
            return estimates(opened, jobs, asked, blind=blind)
        for job in jobs:
            reports.append(annotate(opened, job, loaded.agents.limits))
            if not as_json:
                print_report(reports[-1], blind=blind)
            if reports[-1].state != "done":
                break
    fields = [{**report.to_dict(blind=blind), "asked": asked} for report in reports]
    left = [job.asked for job in jobs[len(reports) :]]
    return job_answer(
        {"runs": fields} if len(jobs) > 1 else fields[0],
        reports,
        notes=[
            *([f"Not begun: {', '.join(left)}."] if left else []),
            *(
                [f"Left out: {pluralize(left_out, 'item')} without what the run needs, or dropped."]
                if left_out
                else []
            ),
        ],
    )


def _eligible(
    opened: OpenWorkspace, part: AgentsPart, jobs: Sequence[JobSettings]
) -> tuple[list[JobSettings], int]:
    """Return jobs for the items that they can work on, and how many of those wanted were left out.

    Raises:
        WorkbenchError: There are none.
    """
    from store.formatting import pluralize
    from store.queries.queue import items_by_kind

    found, left_out = [], 0
    for job in jobs:
        with opened.reading() as connection:
            can = part.eligible(connection, job.configuration()) if part.eligible else ()
        among = set(can)
        wanted = list(can) if job.item_ids is None else [one for one in job.item_ids if one in among]
        of = items_by_kind(opened).get(part.kind, 0) if job.item_ids is None else len(job.item_ids)
        if of and not wanted:
            raise WorkbenchError(
                "Nothing to do",
                f"None of {pluralize(of, 'item')} has what the run needs.",
                "See what they have: workbench items",
            )
        left_out += of - len(wanted)
        found.append(replace(job, item_ids=wanted))
    return found, left_out


_NOT_OF_PAIRS = ("agents", "kind", "source", "sample_queries", "stratify", "sandbox", "repairs")


@command
@with_options_of(annotate_command, without=_NOT_OF_PAIRS)
def judge_pairs_command(**given: Any) -> None:
    """Have a model say which of two candidates is better, in both orders; as annotate --kind comparison."""
    annotate_command(kind="comparison", **given)


class DecodingName(StrEnum):
    """A decoding strategy."""

    greedy = "greedy"
    nucleus = "nucleus"


@command
@with_options_of(annotate_command, without=(*_NOT_OF_PAIRS, "model", "sample_pairs", "seed"))
def complete_command(
    *,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="PROVIDER:NAME",
            help="completions:NAME, openai:NAME, anthropic:NAME, or transformers:FOLDER on this machine.",
        ),
    ] = None,
    setting: Annotated[
        str,
        typer.Option(
            "--setting",
            metavar="NAME",
            help="in-file, or the name of context: that of `retrieve`, or of the import.",
            show_default=False,
        ),
    ],
    decoding: Annotated[
        DecodingName,
        typer.Option(
            help="greedy; or nucleus: the most probable of 5 samples at temperature 0.2, top-p 0.95."
        ),
    ] = DecodingName.greedy,
    fim: Annotated[
        bool, typer.Option("--fim", help="Fill in the middle: the model also gets what follows the gap.")
    ] = False,
    **given: Any,
) -> None:
    """Have a model complete tasks: `workbench complete WS --model completions:NAME --setting in-file`.

    Models are openai:NAME and anthropic:NAME, which chat; completions:NAME, which continue a text; and
    transformers:FOLDER, on this machine. Ctrl-C stops it; the same command goes on where it stopped.
    """
    options = {"setting": setting, "decoding": decoding.value, "fim": "fim" if fim else ""}
    annotate_command(kind="completion", agents=["complete"], model=model, options=options, **given)


@command
@with_options_of(annotate_command, without=(*_NOT_OF_PAIRS, "only_missing", "sample_pairs", "seed"))
def write_questions_command(
    *,
    samples: Annotated[
        int,
        typer.Option(
            "--samples",
            min=1,
            max=100,
            metavar="N",
            help="Questions that are written of each issue; the one most like the others is taken.",
        ),
    ] = 3,
    **given: Any,
) -> None:
    """Have agents turn issues into questions: `workbench write-questions WS --model openai:NAME`.

    Each gets a reference answer. An issue that makes no question, or has no solution, gets the verdict to
    drop it. Experts inspect them all. What another run wrote, or dropped, is left as it is.
    """
    options = {"samples": str(samples)}
    annotate_command(kind="answer", agents=["write-questions"], options=options, only_missing=True, **given)


@command
@with_options_of(annotate_command, without=(*_NOT_OF_PAIRS, "model", "sample_pairs", "seed"))
def answer_command(
    *,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="PROVIDER:NAME",
            help="Who answers: openai:NAME, anthropic:NAME or scripted:FILE.",
        ),
    ] = None,
    setting: Annotated[
        str,
        typer.Option(
            "--setting",
            metavar="NAME",
            help="none, or the name of context: that of `retrieve`, or of the import.",
        ),
    ] = "none",
    trials: Annotated[
        int, typer.Option("--trials", min=1, max=100, metavar="N", help="Answers to each question.")
    ] = 5,
    **given: Any,
) -> None:
    """Have a model answer questions about repositories: `workbench answer WS --model openai:NAME`.

    Each is answered in one turn at temperature 0.2, with context of its repository or without. Ctrl-C stops
    it; the same command goes on where it stopped.
    """
    options = {"context": setting, "trials": str(trials)}
    annotate_command(kind="answer", agents=["answer"], model=model, options=options, **given)


@command
@with_options_of(annotate_command, without=(*_NOT_OF_PAIRS, "model", "sample_pairs"))
def judge_answers_command(
    *,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="PROVIDER:NAME",
            help="Who judges: openai:NAME, anthropic:NAME or scripted:FILE.",
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=100, metavar="N", help="Times that each answer is judged.")
    ] = 2,
    sample: Annotated[
        int | None,
        typer.Option("--sample", min=1, metavar="N", help="Only N questions, drawn by --seed."),
    ] = None,
    **given: Any,
) -> None:
    """Have a model score the answers to questions: `workbench judge-answers WS --model openai:NAME`.

    Each answer gets accuracy, completeness, relevance and clarity, from 1 to 10, compared with the reference.
    Answers that come later are judged when the same command is run again.
    """
    options = {"repeats": str(repeats)}
    annotate_command(
        kind="answer", agents=["judge-answers"], model=model, options=options, sample_pairs=sample, **given
    )


def _kind(opened: OpenWorkspace, configurations: Sequence[str]) -> str:
    """Return the kind whose items are worked on.

    Args:
        opened: The workspace.
        configurations: The configurations that were asked for.

    Raises:
        WorkbenchError: There are items, and agents work on none of them.
    """
    from store.kinds.counting import counted_kinds, in_order
    from store.queries.queue import items_by_kind
    from store.queries.runs import kind_for_agents

    kinds = _kinds_of(configurations)
    with opened.reading() as connection:
        kind = kind_for_agents(connection, kinds)
    if kind is None and (items := items_by_kind(opened)):
        raise WorkbenchError(
            "Nothing to annotate",
            f"{opened.path.name} holds {counted_kinds(items)}, and no agents "
            f"{'of ' + ' and '.join(configurations) + ' ' if configurations else ''}work on these.",
            "To see the kinds: workbench agents",
        )
    return kind or in_order(kinds)[0]


def _kinds_of(configurations: Sequence[str]) -> AbstractSet[str]:
    """Return the kinds that all of some configurations work on; without any, those that any agents work on.

    Raises:
        WorkbenchError: There is none.
    """
    from agents.pipelines.registry import kinds_of_configuration, kinds_with_agents

    kinds = kinds_with_agents().intersection(*map(kinds_of_configuration, configurations))
    if not kinds:
        raise WorkbenchError(
            "Agents of several kinds",
            f"{' and '.join(configurations)} do not work on the same kind of items.",
            "Give a command for each. See: workbench agents",
        )
    return kinds


def _of_study(opened: OpenWorkspace, name: str, kind: str | None) -> tuple[str, Sequence[int]]:
    """Return the kind of a study and its items, without those for training and gold.

    Raises:
        UnknownName: No study is called so.
        WorkbenchError: It is of another kind than the one asked for.
    """
    from store.queries.studies import find_study, study_items

    with opened.reading() as connection:
        study = find_study(connection, name)
        found = study_items(connection, study.id)
    if kind not in (None, study.protocol.kind):
        raise WorkbenchError(
            "A study of another kind",
            f"The items of {name} are of the kind {study.protocol.kind}, not {kind}.",
            "List the studies: workbench study list WORKSPACE",
        )
    return study.protocol.kind, [one.item_id for one in found if one.role == "item"]


def _of_source(
    opened: OpenWorkspace, name: str, kind: str | None, configurations: Sequence[str]
) -> tuple[str, Sequence[int]]:
    """Return the items of a source, and their kind: of several the first that the agents work on.

    Raises:
        UnknownName: No source with items is called so.
        WorkbenchError: It has no items that the agents work on.
    """
    from store.errors import UnknownName
    from store.kinds.counting import counted_kinds, in_order
    from store.queries.sources import items_of_source, sources_with_items

    with opened.reading() as connection:
        found = items_of_source(connection, name)
        sources = sources_with_items(connection)
    if not found:
        raise UnknownName(
            "Unknown source",
            f"No source with items is called {name!r}.",
            f"Sources: {'; '.join(sources) or 'none yet'}.",
        )
    kinds = _kinds_of(configurations) if kind is None else {kind}
    possible = [one for one in in_order(found) if one in kinds]
    if not possible:
        held = counted_kinds({one: len(ids) for one, ids in found.items()})
        raise WorkbenchError(
            "Nothing to annotate",
            f"{name} holds {held}, which are not of the kind {' or '.join(in_order(kinds))}.",
            "To see which agents work on which kind: workbench agents",
        )
    return possible[0], found[possible[0]]


def _drawn(
    opened: OpenWorkspace, kind: str, items: Path | None, queries: int | None, seed: int
) -> Sequence[int] | None:
    """Return the items that a file names, or those of the drawn queries; None for all of the kind."""
    from store.queries.sampling import sample_items
    from store.studies.choosing import ItemChoice, choose_items, read_names

    with opened.reading() as connection:
        if items is not None:
            chosen, _ = choose_items(connection, ItemChoice(kind, names=read_names(items)))
            return [one.item_id for one in chosen]
        return None if queries is None else sample_items(connection, kind, queries, seed)


def annotate(opened: OpenWorkspace, job: JobSettings, limits: LimitSettings | None = None) -> JobReport:
    """Run a job, report its progress on stderr, and return its report."""
    from agents.jobs.runner import run_job
    from store.workspace.serving import serving
    from workbench.cli.progress_reporter import ProgressReporter
    from workbench.output import Bar
    from workbench.signals import raise_if_stopped

    with serving(opened), Bar("annotating") as bar:
        return run_job(opened, job, ProgressReporter(bar), check=raise_if_stopped, limits=limits)


def job_answer(
    fields: dict[str, Any],
    reports: Sequence[JobReport],
    *text: Callable[[], object],
    notes: Sequence[str] = (),
) -> Answer:
    """Return the answer of a command that ran jobs, with why they stopped early or left items out.

    Args:
        fields: The object that `--json` prints.
        reports: The reports of the jobs.
        text: Functions that print them for people.
        notes: Lines before those about their end.
    """
    from agents.sandbox.errors import INSTALL_HINT
    from workbench.output import show_error
    from workbench.signals import code_when_stopped

    last = reports[-1]
    if last.state == "stopped" and last.used_up is not None:
        reached = f"{last.used_up.message} {last.used_up.hint}"
        return Answer(fields, *text, code=last.used_up.exit_code, notes=[*notes, reached])
    if last.state == "stopped":
        stopped = "Stopped. What was recorded is kept; the same command goes on from there."
        return Answer(fields, *text, code=code_when_stopped(), notes=[*notes, stopped])
    if last.error is not None:
        # JSON holds the error already.
        shown = partial(show_error, last.error, as_json=False)
        return Answer(fields, *text, shown, code=last.error.exit_code, notes=notes)
    waiting = sum(report.waiting for report in reports)
    failed = sum(report.failed for report in reports)
    left = []
    if waiting:
        left.append(
            f"Unclear items that wait, since their tests need a sandbox: {waiting:,}. {INSTALL_HINT} "
            "Then the same command takes them up."
        )
    if failed:
        left.append(
            f"{failed:,} of the items have no label. The same command tries them again with what is left, "
            "with --retry-failed nothing else."
        )
    return Answer(fields, *text, code=1 if left else 0, notes=[*notes, *left])


def print_report(report: JobReport, *, blind: bool) -> None:
    """Print the report of a job."""
    from workbench.output import print_facts

    print_facts(f"{report.run_name}: {report.state}", report_facts(report, blind=blind))


def report_facts(report: JobReport, *, blind: bool) -> list[tuple[str, Any]]:
    """Return the facts of a job and its run, for people.

    Args:
        report: The report of the job.
        blind: Leave out labels and assessments, and figures that disclose them.
    """
    from store.formatting import cost, pluralize, tokens
    from workbench.cli.items import word_of

    counts = report.counts
    labels = ", ".join(f"{count:,} × {word_of(report.kind, value)}" for value, count in counts.labels.items())
    causes = ", ".join(f"{count:,} {cause.replace('_', ' ')}" for cause, count in counts.causes.items())
    return [
        ("agents", report.configuration),
        ("model", report.model),
        ("sandbox", report.sandbox or "none: nothing is executed"),
        ("this job", _ended(report)),
        ("items of the run", f"{counts.items:,}"),
        *(() if blind else report.pipeline.facts),
        ("needs a sandbox", f"{counts.needs_sandbox:,}" if counts.needs_sandbox else None),
        ("labels", f"{counts.labelled:,}" + (f" ({labels})" if labels and not blind else "")),
        ("failed", f"{counts.failed:,}" + (f" ({causes})" if causes else "")),
        ("requests", f"{counts.requests:,}"),
        ("from the cache", pluralize(counts.from_cache, "reply", "replies") if counts.from_cache else None),
        ("tokens", tokens(counts.tokens_in, counts.tokens_cached, counts.tokens_out, counts.unpriced)),
        ("cost", cost(counts.money, counts.unpriced)),
    ]


def _ended(report: JobReport) -> str:
    """Return how a job ended, as a sentence."""
    if report.state == "done" and not report.done + report.failed + report.waiting:
        return "nothing to do: none of the items asked for is left"
    ended = [f"{report.done:,} done", f"{report.failed:,} failed"]
    ended += [f"{report.waiting:,} waiting for a sandbox"] if report.waiting else []
    return ", ".join((*ended, f"{report.seconds:.1f} s"))
