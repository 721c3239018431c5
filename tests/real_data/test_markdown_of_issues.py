"""Issues and comments as they are written: rendered without an error, and without losing a word."""

import gzip
import json
import re

from screens.widgets.text import markdown
from screens.widgets.text.markdown import rendered

ENTITY = re.compile(r"&#?\w+;")


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def test_no_word_of_an_issue_is_lost(shared_data, monkeypatch):
    as_they_stand = []
    whole = markdown._Page._as_source

    def spied(page, first, last):
        as_they_stand.extend(line for line in page._source[first:last] if line.strip())
        return whole(page, first, last)

    monkeypatch.setattr(markdown._Page, "_as_source", spied)
    with gzip.open(
        shared_data("codeassistbench") / "cab_recent.part.jsonl.gz", "rt", encoding="utf-8"
    ) as file:
        sources = [text for line in file for text in texts(json.loads(line))]
    assert len(sources) > 3_000
    for source in sources:
        text = rendered(source).text
        assert all(word in text for word in re.findall(r"[^\W_]+", ENTITY.sub(" ", source)))
    # None of them needed to be shown with its marks to keep its words.
    assert as_they_stand == []
