"""Removes keys from the texts of a service, before they are stored or shown."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from urllib.parse import quote

SHORTEST = 8
"""Characters of the shortest key that is looked for: replies are full of what is shorter."""

REPLACEMENT = "…"


def scrubbed(text: str, *secrets: str) -> str:
    """Return a text without some keys, in plain form or as base64, hex, or percent-encoded.

    Args:
        text: The text of a service.
        secrets: The keys; those of fewer than `SHORTEST` characters are left alone.
    """
    for secret in secrets:
        if len(secret) >= SHORTEST:
            text = _pattern(secret).sub(REPLACEMENT, text)
    return text


@cache
def _pattern(secret: str) -> re.Pattern[str]:
    data = secret.encode("utf-8", "surrogatepass")
    forms = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], data.hex(), data.hex().upper()}
    for before in range(3):
        # The same bytes look otherwise at each place of three; what their neighbours share is left out.
        whole = base64.b64encode(bytes(before) + data).decode()
        end = len(whole) - (0, 3, 2)[(before + len(data)) % 3]
        core = whole[(0, 2, 3)[before] : end]
        forms |= {core, core.replace("+", "-").replace("/", "_")}
    return re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))
