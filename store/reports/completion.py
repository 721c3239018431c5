"""The report on completions: Tables 2 to 4 and 7 to 9, Figures 4 and 5, and section 3.5 of CrossCodeEval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from store.analysis.completions import (
    GainLine,
    GroupScores,
    Locations,
    OverlapBin,
    ScoredCompletion,
    by_group,
    completion_figures,
    count_waiting,
    gain_lines,
    group_scores,
    locations,
    overlap_bins,
    size_of,
)
from store.errors import WorkbenchError
from store.formatting import language_name, pluralize
from store.json_fields import json_fields
from store.kinds.completion_settings import CONTEXTS, GREEDY
from store.measures.completion import LANGUAGES, MEASURES
from store.reports.options import Options
from store.reports.value import (
    NONE,
    Cell,
    Report,
    Row,
    Table,
    counted,
    filled,
    interval,
    number,
    share,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.kinds.completion_settings import Setting
    from store.measures.completion import Gain

"""The languages as headings."""


@dataclass(frozen=True, slots=True)
class CompletionReport:
    """The scores of the completions of a workspace.

    Attributes:
        left_out: Completions of languages that are not scored.
        overlap: Completions by the identifiers that their context has.
        context: Where the pieces of context are from.
        rows: Every scored completion.
    """

    groups: Sequence[GroupScores]
    left_out: int
    gains: Sequence[GainLine]
    overlap: Sequence[OverlapBin]
    context: Sequence[Locations]
    rows: Sequence[ScoredCompletion]


def read_completion(connection: Connection, options: Options) -> CompletionReport:
    """Read and score the completions of a workspace.

    Raises:
        WorkbenchError: There is none that is scored.
    """
    figures = completion_figures(connection)
    if not figures.completions:
        languages = ", ".join(language_name(name) for name in LANGUAGES)
        other = f" {pluralize(figures.left_out, 'completion')} in others." if figures.left_out else ""
        waiting = count_waiting(connection)
        wait = f" {pluralize(waiting, 'completion')} wait for their tasks." if waiting else ""
        what = "the tasks" if waiting else "predictions"
        raise WorkbenchError(
            "No completions",
            f"No model has completed a task in {languages}.{other}{wait}",
            f"Import {what}: workbench import WORKSPACE FILE",
        )
    groups = by_group(figures)
    return CompletionReport(
        [group_scores(group, own, options.resampling) for group, own in groups.items()],
        figures.left_out,
        gain_lines(groups),
        overlap_bins(figures.completions),
        locations(figures.chunks),
        figures.completions,
    )


def completion_fields(found: CompletionReport, options: Options) -> dict[str, Any]:
    """Return the report as JSON-able fields."""
    return {
        "completions": [
            {
                "model": one.group.model,
                "billions": size_of(one.group.model),
                **_setting_fields(one.group.setting),
                "language": one.group.language,
                "n": one.n,
                "repositories": one.repositories,
                **one.means,
                "intervals": {
                    name: {"low": each.low, "high": each.high} for name, each in one.intervals.items()
                },
            }
            for one in found.groups
        ],
        "left_out": found.left_out,
        "gains": [json_fields(one) for one in found.gains],
        "overlap": [json_fields(one) for one in found.overlap],
        "context": [
            {"language": one.language, **_setting_fields(one.setting), **_shares(one)}
            for one in found.context
        ],
        "rows": [
            {
                "item": one.item,
                "language": one.language,
                "model": one.model,
                **_setting_fields(one.setting),
                "trial": one.trial,
                **{name: getattr(one.scores, name) for name in MEASURES},
                "overlap": one.overlap,
            }
            for one in found.rows
        ],
    }


def _setting_fields(setting: Setting) -> dict[str, str]:
    fields = setting._asdict()
    return {**{name: fields[name] for name in ("context", "retriever", "decoding")}, "setting": setting.name}


def _shares(one: Locations) -> dict[str, float | int | None]:
    names = ("n", "imported", "same_folder", "similar_name", "shared_import")
    return {name: getattr(one, name) for name in names}


def completion_report(found: CompletionReport, options: Options) -> Report:
    """Return the report as tables."""
    languages = [name for name in LANGUAGES if any(one.group.language == name for one in found.groups)]
    left = f" · left out: {found.left_out:,} in other languages" if found.left_out else ""
    named = _naming([*(one.group.setting for one in found.groups), *(one.setting for one in found.context)])
    return Report(
        caption=(
            f"{pluralize(sum(one.n for one in found.groups), 'completion')} of "
            f"{pluralize(len({one.group.model for one in found.groups}), 'model')}{left}",
            "In percent · EM exact match · ES edit similarity (difflib) · id: of identifiers alone · "
            "95 % intervals over repositories: by bootstrap, Wilson's where none or all are exact",
        ),
        command=("completion", *options.arguments()),
        tables=filled(
            _scores(found.groups, languages, "Code match", {"EM": "em", "ES": "es"}, named),
            _scores(found.groups, languages, "Identifier match", {"EM": "id_em", "F1": "id_f1"}, named),
            *(_intervals(found.groups, language, named) for language in languages),
            *(_gains(found.gains, language) for language in languages),
            _by_size(found.groups, named),
            _overlap(found.overlap),
            _context(found.context, named),
        ),
    )


Named = Callable[["Setting"], str]
"""Gives the words for a setting."""


def _naming(settings: Iterable[Setting]) -> Named:
    """Return what names settings: by their own names where several have the same context and retriever."""
    known = set(settings)
    several = {one[:2] for one in known if len({other.name for other in known if other[:2] == one[:2]}) > 1}

    def named(setting: Setting) -> str:
        by = f" {setting.retriever}" if setting.retriever else ""
        own = f" ({setting.name})" if setting[:2] in several else ""
        return f"{setting.context}{by}{own}{_decoded(setting.decoding)}"

    return named


def _decoded(decoding: str) -> str:
    return "" if decoding == GREEDY else f" {decoding}"


def _scores(
    groups: Sequence[GroupScores],
    languages: Sequence[str],
    title: str,
    measures: Mapping[str, str],
    named: Named,
) -> Table:
    """Return a row for each model and setting, and columns for each language."""
    by_row: dict[tuple[str, Setting], dict[str, GroupScores]] = {}
    for one in groups:
        by_row.setdefault((one.group.model, one.group.setting), {})[one.group.language] = one
    rows = []
    for (model, setting), own in by_row.items():
        cells = [
            number(own[language].means[name]) if language in own else Cell(NONE)
            for language in languages
            for name in measures.values()
        ]
        n = counted(sum(one.n for one in own.values()))
        rows.append(Row((model, named(setting), n, *cells)))
    columns = (f"{language_name(language)} {short}" for language in languages for short in measures)
    return Table(("model", "context", "n", *columns), tuple(rows), title, names=2)


def _intervals(groups: Sequence[GroupScores], language: str, named: Named) -> Table:
    """Return the exact match in a language with its intervals; the tables of all languages have one scale."""
    ends = (end for one in groups for end in (one.means["em"], one.intervals["em"].high) if end is not None)
    rows = []
    for one in (each for each in groups if each.group.language == language):
        of = one.intervals["em"]
        cells = (counted(one.n), number(one.means["em"]), interval(of.low, of.high))
        drawn = (of.low, one.means["em"], of.high)
        rows.append(Row((one.group.model, named(one.group.setting), *cells), drawn))
    return Table(
        ("model", "context", "n", "EM", "95 % interval"),
        tuple(rows),
        f"Exact match with its interval, {language_name(language)}",
        names=2,
        scale=(0.0, 10.0 * ceil(max((10.0, *ends)) / 10)),
        drawn="exact match in percent",
    )


def _gains(lines: Sequence[GainLine], language: str) -> Table:
    """Return what is exact in each context, and between them what was gained and lost (Table 3)."""
    own = [one for one in lines if one.language == language]
    contexts = [name for name in CONTEXTS if any(gain.name == name for one in own for gain in one.gains)]
    columns = ["model", "tasks"]
    for name in contexts:
        columns += [name] if name == contexts[0] else ["change", name]
    rows = []
    several = {
        name for name in contexts if len({one.settings[name] for one in own if name in one.settings}) > 1
    }
    for one in own:
        by_context = {gain.name: gain for gain in one.gains}
        cells: list[Cell | str] = []
        for name in contexts:
            gain = by_context.get(name)
            if name != contexts[0]:
                cells.append(_change(gain))
            cells.append(Cell(NONE) if gain is None else counted(gain.correct))
        own_names = [one.settings[name] for name in contexts if name in several and name in one.settings]
        model = " · ".join(filter(None, (one.model, f"{one.retriever}{_decoded(one.decoding)}", *own_names)))
        rows.append(Row((model, counted(one.tasks), *cells)))
    return Table(tuple(columns), tuple(rows), f"Completed exactly, {language_name(language)}")


def _change(gain: Gain | None) -> str:
    """Return what was gained and lost."""
    return "" if gain is None or gain.gained is None else f"+{gain.gained:,} -{gain.lost:,}"


def _by_size(groups: Sequence[GroupScores], named: Named) -> Table | None:
    """Return the exact match of models whose names tell their sizes, the smallest first (Figure 4)."""
    sized = sorted(
        (one for one in groups if size_of(one.group.model) is not None),
        key=lambda one: (size_of(one.group.model), one.group.model),
    )
    if len({one.group.model for one in sized}) < 2:
        return None
    rows = tuple(
        Row(
            (
                f"{size_of(one.group.model):g}B",
                # What differs most comes first: long names are cut.
                f"{named(one.group.setting)} · {language_name(one.group.language)} · {one.group.model}",
                number(one.means["em"]),
            ),
            one.means["em"],
        )
        for one in sized
    )
    most = max(one.means["em"] for one in sized)
    return Table(
        ("size", "completions", "EM"),
        rows,
        "Exact match by size of the model",
        names=2,
        scale=(0.0, 10.0 * ceil(max(10.0, most) / 10)),
        drawn="exact match in percent",
    )


def _overlap(bins: Sequence[OverlapBin]) -> Table | None:
    total = sum(one.n for one in bins)
    if not total:
        return None
    rows = tuple(
        Row(
            (_share_named(one), counted(one.n), share(one.n / total), number(one.id_em)),
            None if one.id_em is None else one.id_em / 100,
        )
        for one in bins
    )
    return Table(
        ("in the context", "n", "share", "id EM"),
        rows,
        "Exact identifiers by the share of the reference's that the context has, of all models and contexts",
        drawn="exact match of identifiers",
    )


def _share_named(one: OverlapBin) -> str:
    if one.over is None:
        return "none"
    return f"over {100 * one.over:.0f} to {100 * one.upto:.0f} %"


def _context(found: Sequence[Locations], named: Named) -> Table:
    rows = tuple(
        Row(
            (
                " · ".join(filter(None, (language_name(one.language), named(one.setting)))),
                counted(one.n),
                *(
                    number(value, 1)
                    for value in (one.imported, one.same_folder, one.similar_name, one.shared_import)
                ),
            )
        )
        for one in found
    )
    return Table(
        ("pieces of context", "n", "imported", "same folder", "similar name", "shared import"),
        rows,
        "Files that the context is from, in percent",
        notes=("Imports are looked up when context is retrieved here: workbench retrieve.",),
    )
