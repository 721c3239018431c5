"""The agents of a code search: what writes a paragraph about the query, what writes code for it, what ranks.

They are those of RepoRift, section 2. Look-ups are counted and numbers checked, whatever a model writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agents.code_search.asking import Ask
from agents.code_search.reply_models import AssessorReply, CoderReply, RankerReply, ResearcherReply
from agents.code_search.searching import SearchResult
from agents.prompts import load_prompt
from agents.repositories.units import Unit, clean

LOOK_UPS = 2
"""The look-ups of a paragraph (section 2.1: two calls at most)."""
PAGE = 4_000
"""The characters of a page."""
MOST_SHOWN = 2_000
"""The characters of each piece that is ranked by a model."""


@dataclass(frozen=True, slots=True)
class Source:
    """A place that the researcher read.

    Attributes:
        place: The file, or the address.
        asked: The words of the look-up.
    """

    place: str
    asked: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page of passages, with the places they are from."""

    text: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Augmented:
    """A paragraph about a query, and what it rests on."""

    paragraph: str
    sources: tuple[Source, ...]


LookUp = Callable[[str], Awaitable[Page]]
"""Returns a page about some words."""


async def augment(ask: Ask, query: str, repository: str, look_up: LookUp) -> Augmented:
    """Have a paragraph written about a query.

    However often the model asks for more, it is asked at most three times, and reads at most two pages.

    Args:
        ask: Asks the model.
        query: The query.
        repository: The name of the repository.
        look_up: Returns a page about some words.

    Returns:
        The paragraph; empty where the model never wrote one.

    Raises:
        ModelError: No usable reply came.
    """
    prompt = load_prompt("agents.code_search:researcher")
    read: list[str] = []
    sources: list[Source] = []
    for left in range(LOOK_UPS, -1, -1):
        messages = prompt.messages(
            query=query, repository=repository, passages="\n\n".join(read) or "nothing", left=str(left)
        )
        reply = await ask("researcher", messages, ResearcherReply)
        if paragraph := clean(reply.paragraph).strip():
            return Augmented(paragraph, tuple(sources))
        if left and (words := clean(reply.look_up).strip()):
            page = await look_up(words)
            read.append(f"About {words}:\n{page.text or 'nothing was found'}")
            sources += [Source(place, words) for place in page.places]
    return Augmented("", tuple(sources))


async def write_code(ask: Ask, paragraph: str, language: str) -> str:
    """Have code written for a paragraph.

    Raises:
        ModelError: No usable reply came.
    """
    prompt = load_prompt("agents.code_search:coder")
    reply = await ask("coder", prompt.messages(paragraph=paragraph, language=language), CoderReply)
    return clean(reply.code)


async def assess_code(ask: Ask, paragraph: str, language: str, code: str) -> str:
    """Have written code assessed; return the better code.

    Raises:
        ModelError: No usable reply came.
    """
    prompt = load_prompt("agents.code_search:code_assessor")
    messages = prompt.messages(paragraph=paragraph, language=language, code=code)
    return clean((await ask("code_assessor", messages, AssessorReply)).code)


async def rank(ask: Ask, query: str, found: Sequence[SearchResult]) -> list[SearchResult]:
    """Have a model order what was found; what it does not name follows as it was.

    Raises:
        ModelError: No usable reply came.
    """
    pieces = "\n\n".join(
        f"{number}. {one.unit.path}:{one.unit.line} {one.unit.name}\n{one.unit.text[:MOST_SHOWN]}"
        for number, one in enumerate(found, start=1)
    )
    prompt = load_prompt("agents.code_search:ranker")
    reply = await ask("ranker", prompt.messages(query=query, pieces=pieces), RankerReply)
    named = [number - 1 for number in dict.fromkeys(reply.ranking) if 1 <= number <= len(found)]
    return [found[place] for place in dict.fromkeys((*named, *range(len(found))))]


def main_language(units: Sequence[Unit]) -> str:
    """Return the language of most units, in which code is written for a query."""
    counts = Counter(unit.language for unit in units)
    return max(counts, key=lambda name: (counts[name], name))
