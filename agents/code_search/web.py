"""Looks words up on the web: at one configured address, which answers in SearXNG's JSON."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from http.client import HTTPException, InvalidURL
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from agents.repositories.git import shown_url
from agents.repositories.units import clean
from store.errors import WorkbenchError

MOST_BYTES = 2 << 20
"""The bytes that are read of an answer."""
SECONDS = 10.0
"""The time that a look-up may take, from its beginning to its end."""
_MOST_RESULTS = 20
_MOST_WORDS = 500
"""The characters of the words that are looked up."""


@dataclass(frozen=True, slots=True)
class WebPassage:
    """A result of a search on the web."""

    address: str
    text: str


class _SameHost(HTTPRedirectHandler):
    """Follows no redirect to another host."""

    def redirect_request(self, request: Request, *answer: Any) -> Request | None:
        _, code, _, headers, address = answer
        if urlsplit(address).netloc != urlsplit(request.full_url).netloc:
            raise HTTPError(request.full_url, code, "it redirects to another host", headers, None)
        return super().redirect_request(request, *answer)


def look_up_web(address: str, words: str) -> list[WebPassage]:
    """Return the results of a search service for some words.

    Only the configured address is asked: what a result links to is not read.

    Args:
        address: The address of the service's search.
        words: What is looked up.

    Raises:
        WorkbenchError: It does not answer in time, with too much, or not in that form.
    """
    answered: Future[list[WebPassage]] = Future()

    def exchange() -> None:
        try:
            answered.set_result(_exchange(address, words))
        except Exception as error:  # noqa: BLE001 - it belongs to the one who waits
            answered.set_exception(error)

    # Names that do not resolve and headers that come slowly know no deadline: such a thread is left behind.
    threading.Thread(target=exchange, name="web", daemon=True).start()
    try:
        try:
            return answered.result(SECONDS)
        except TimeoutError:
            raise OSError(f"timed out: the answer takes more than {SECONDS:.0f} s") from None
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        # The address may hold a key.
        raise WorkbenchError(
            "Web not looked up",
            f"{_host(address)}: {shown_url(str(error))}",
            "See search.web in the configuration.",
        ) from error


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or "the service"
    except ValueError:
        return "the service"


def _exchange(address: str, words: str) -> list[WebPassage]:
    ends = time.monotonic() + SECONDS
    try:
        between = "&" if urlsplit(address).query else "?"
        asked = f"{address}{between}{urlencode({'q': words[:_MOST_WORDS], 'format': 'json'})}"
        request = Request(asked, headers={"Accept": "application/json", "User-Agent": "workbench"})
        opened = build_opener(_SameHost).open(request, timeout=SECONDS)
    except (ValueError, InvalidURL):
        # The error's own words repeat the address.
        raise OSError("the address or the words cannot be sent") from None
    with opened as answer:
        body = b""
        while part := answer.read1(1 << 16):
            body += part
            if len(body) > MOST_BYTES:
                raise OSError(f"the answer has more than {MOST_BYTES >> 20} MiB")
            if time.monotonic() > ends:
                raise TimeoutError
    return [*_results(json.loads(body))]


def _results(found: Any) -> Iterator[WebPassage]:
    results = found.get("results") if isinstance(found, dict) else None
    if not isinstance(results, list):
        raise ValueError("the answer has no list of results")
    for one in results[:_MOST_RESULTS]:
        fields = one if isinstance(one, dict) else {}
        named = (fields.get(name) for name in ("title", "content"))
        texts = [text for text in named if isinstance(text, str) and text.strip()]
        place = fields.get("url")
        if texts and isinstance(place, str):
            yield WebPassage(clean(place), clean("\n".join(texts)))
