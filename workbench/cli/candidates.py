"""`workbench candidates`: pairs of queries and codes that are worth labelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import AsJson, ConfigFile, Workspace, command, settings

if TYPE_CHECKING:
    from pathlib import Path

    from agents.retrieval.candidates import Candidates, CorpusTexts
    from agents.retrieval.progress import ReportWork
    from workbench.config import Config


class Combination(StrEnum):
    """How the similarities of several models are put together."""

    mean = "mean"
    z = "z"


@command
def candidates_command(
    workspace: Workspace,
    *,
    models: Annotated[
        str,
        typer.Option(
            metavar="A,B,C",
            help="Models: minilm, codebert, unixcoder or codet5p, LAYOUT=FOLDER, a folder or a repository of "
            "sentence-transformers, openai:NAME; or bm25 or bow alone.",
        ),
    ],
    top: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Codes of each query.")] = 20,
    combine: Annotated[
        Combination,
        typer.Option(help="mean: of the models' cosines; z: of their z-scores, so that none dominates."),
    ] = Combination.mean,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Find the best codes of each query, and add them as pairs: `workbench candidates WS --models minilm`.

    All queries and codes of the workspace are compared, with items or without. Pairs that are there already
    are left as they are. Vectors are kept: what is stopped goes on when it is run again.
    """
    from agents.retrieval.candidates import corpus_apart
    from store.ingest.candidates import add_candidates
    from store.workspace.duckdb import Workspace
    from workbench.cli.progress_reporter import progress_of_work
    from workbench.output import Bar, note, print_json
    from workbench.study_session import open_unsealed

    loaded = settings(config)
    names = [name for given in models.split(",") if (name := given.strip())]
    find = _finder(names, top, combine.value, loaded)
    with open_unsealed(workspace, loaded, "A search of candidates uses") as opened:
        corpus = corpus_apart(opened)
    # The workspace is not kept open meanwhile: encoding a large corpus takes hours.
    with Bar("candidates") as bar:
        found, warnings = find(corpus, progress_of_work(bar))
    with Workspace.open(workspace) as opened:
        added = add_candidates(opened, found.pairs, _source_name(names, top, combine.value))
    facts = {
        "workspace": workspace,
        "models": list(found.pairs.models),
        "top": top,
        "combine": combine.value,
        "queries": len(corpus.queries),
        "codes": len(corpus.codes),
        "pairs": len(found.pairs.ranks),
        "added": added.added,
        "known": added.known,
        "source": added.source,
        "overlap": found.overlaps,
        "truncated": {
            model: {"queries": queries, "codes": codes} for model, (queries, codes) in found.truncated.items()
        },
        "warnings": warnings,
    }
    if as_json:
        print_json(facts)
        return
    for one in warnings:
        note(f"warning: {one}")
    _print(workspace, facts)


def _finder(
    names: Sequence[str], top: int, combine: str, config: Config
) -> Callable[[CorpusTexts, ReportWork], tuple[Candidates, list[str]]]:
    """Return the function that finds the candidates by the models that were named.

    Raises:
        WorkbenchError: There is no such model, or it cannot be combined with others.
    """
    from agents.retrieval.candidates import find_by_method, find_candidates
    from agents.retrieval.encoders import open_encoders
    from agents.retrieval.methods import METHODS, retriever_named
    from agents.retrieval.vectors import VectorCache
    from store.errors import WorkbenchError

    if not names:
        raise WorkbenchError("No model", "--models names no model.", "Name one: --models minilm")
    if lexical := [name for name in names if name in METHODS]:
        if len(names) > 1:
            raise WorkbenchError(
                "Not combined",
                f"{lexical[0]} makes no vectors, so it is not combined with others.",
                f"Give it alone: --models {lexical[0]}",
            )
        retriever = retriever_named(lexical[0])
        return lambda corpus, _: (find_by_method(corpus, retriever, top=top), [])
    retrieval = config.retrieval
    encoders = open_encoders(names, batch_size=retrieval.batch_size, api=config.models)

    def find(corpus: CorpusTexts, report: ReportWork) -> tuple[Candidates, list[str]]:
        cache = VectorCache(retrieval.folder)
        found = find_candidates(corpus, encoders, cache, top=top, combine=combine, report=report)
        return found, [one.warning for one in encoders if one.warning]

    return find


def _source_name(names: Sequence[str], top: int, combine: str) -> str:
    """Return the name of the source of the pairs, which tells how they were found."""
    from agents.retrieval.encoders import shown_name

    how = f", {combine}" if len(names) > 1 else ""
    return f"candidates {' '.join(shown_name(name) for name in names)}{how}, top {top}"


def _print(workspace: Path, facts: dict[str, Any]) -> None:
    from store.formatting import pluralize
    from workbench.output import say

    queries, codes = pluralize(facts["queries"], "query", "queries"), pluralize(facts["codes"], "code")
    say(f"{queries}, {codes}, {', '.join(facts['models'])}: {pluralize(facts['pairs'], 'candidate pair')}.")
    say(f"{pluralize(facts['added'], 'pair')} added, {facts['known']:,} already there.")
    if facts["overlap"]:
        of = f"the ensemble's {facts['top']}"
        say(f"Share of {of} codes that are among a model's own, mean over the queries:")
        width = max(map(len, facts["overlap"]))
        say(*(f"  {model:<{width}}  {share:.3f}" for model, share in facts["overlap"].items()))
    for model, truncated in facts["truncated"].items():
        if any(truncated.values()):
            say(
                f"{model} read only the beginning of {pluralize(truncated['queries'], 'query', 'queries')} "
                f"and {pluralize(truncated['codes'], 'code')}, which are longer than it reads."
            )
    say(f"Open them: workbench {workspace}")
