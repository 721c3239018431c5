"""Looks words up on the web: at one configured address, which answers in SearXNG's JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from store.errors import WorkbenchError

MOST_BYTES = 2 << 20
"""The bytes that are read of an answer."""
SECONDS = 10.0
"""The time that an answer may take."""
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
    between = "&" if urlsplit(address).query else "?"
    asked = f"{address}{between}{urlencode({'q': words[:_MOST_WORDS], 'format': 'json'})}"
    request = Request(asked, headers={"Accept": "application/json", "User-Agent": "workbench"})
    ends = time.monotonic() + SECONDS
    try:
        with build_opener(_SameHost).open(request, timeout=SECONDS) as answer:
            body = b""
            while part := answer.read1(1 << 16):
                body += part
                if len(body) > MOST_BYTES:
                    raise OSError(f"the answer has more than {MOST_BYTES >> 20} MiB")
                if time.monotonic() > ends:
                    raise OSError(f"the answer takes more than {SECONDS:.0f} s")
        return [*_results(json.loads(body))]
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        raise WorkbenchError(
            "Web not looked up", f"{address}: {error}", "See search.web in the configuration."
        ) from error


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
            yield WebPassage(place, "\n".join(texts))
