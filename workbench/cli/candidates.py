"""`workbench candidates`: pairs of queries and codes that are worth labelling."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.policy.scope import Shows
from workbench.cli.options import Answer, ConfigFile, Workspace, command, session, settings

if TYPE_CHECKING:
    from pathlib import Path


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
            "sentence-transformers, openai:NAME; and bm25 or bow, which compare words.",
        ),
    ],
    top: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Codes of each query.")] = 20,
    combine: Annotated[
        Combination,
        typer.Option(help="mean: of the cosines; z: of the z-scores, so that none dominates, and with bm25."),
    ] = Combination.mean,
    config: ConfigFile = None,
) -> Answer:
    """Find the best codes of each query, and add them as pairs: `workbench candidates WS --models minilm`.

    All queries and codes of the workspace are compared, with items or without. Pairs that are there already
    are left as they are. Vectors are kept: what is stopped goes on when it is run again.
    """
    from agents.retrieval.candidate_request import (
        CandidateRequest,
        model_names,
        open_finder,
        truncated_lines,
    )
    from agents.retrieval.candidates import corpus_apart, refuse_other_corpus
    from store.ingest.candidates import add_candidates
    from workbench.cli.progress_reporter import progress_of_work
    from workbench.output import Bar, note

    loaded = settings(config)
    request = CandidateRequest(model_names(models), top, combine.value)
    finder = open_finder(request, loaded.retrieval, loaded.models)
    opening = partial(session, workspace, loaded, Shows.WHOLE, "A search of candidates uses")
    with opening() as opened:
        corpus = corpus_apart(opened)
    # The workspace is not kept open meanwhile: encoding a large corpus takes hours.
    with Bar("candidates") as bar:
        found = finder.find(corpus, progress_of_work(bar))
    with opening() as opened:
        refuse_other_corpus(opened, corpus)
        added = add_candidates(opened, found.pairs, request.source)
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
        "warnings": list(finder.warnings),
    }
    warnings = (partial(note, f"warning: {one}") for one in finder.warnings)
    return Answer(facts, *warnings, partial(_print, workspace, facts, truncated_lines(found)))


def _print(workspace: Path, facts: dict[str, Any], truncated: list[str]) -> None:
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
    say(*truncated)
    say(f"Open them: workbench {workspace}")
