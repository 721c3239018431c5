"""A workspace of two comparisons with texts as raters meet them: two codes for a query, two answers of models."""

from __future__ import annotations

import json
from pathlib import Path

from store.ingest.importing import import_files
from store.record.raters import register_kinds
from store.workspace.duckdb import Workspace

CHUNKED = '''def split_into_chunks(sequence, size):
    """Split a sequence into chunks of a size; the last one can be shorter.

    From CoSQA. Parameters
    ----------
    sequence : list
        What is split.
    size : int
        How many elements a chunk has.
    """
    # see https://stackoverflow.com/questions/312443
    return [sequence[start:start + size]
            for start in range(0, len(sequence), size)]
'''

GROUPED = """import itertools


def grouper(n, iterable, padvalue=None):
    "grouper(3, 'abcdefg', 'x') --> ('a','b','c'), ('d','e','f'), ('g','x','x')"
    if n < 1:
        raise ValueError('n has to be positive, not %d' % n)
    iterator = iter(iterable)
    filled = itertools.zip_longest(*[iterator]*n, fillvalue = padvalue)
    for group in filled:
        yield tuple(group)


def chunks_of(values, n):
    found = []
    for group in grouper(n, values, padvalue=None):
        without_padding = [value for value in group if value is not None]
        if not without_padding:
            break
        found.append(without_padding)
    return found


if __name__ == '__main__':
    for chunk in chunks_of(range(10), 3):
        print(chunk)
"""

SHORT = """Use `pathlib.Path.stat`: its `st_size` is 0 for an empty file.

```python
from pathlib import Path

if Path("report.csv").stat().st_size == 0:
    print("empty")
```

A file that is not there raises `FileNotFoundError`; catch it where that can happen.
"""

LONG = """As ChatGPT I would recommend **three ways**, depending on what you need:

1. `os.path.getsize(path) == 0` is the shortest.
2. `os.stat(path).st_size == 0` is the same call, with more fields.
3. Open the file and read one character:

```python
def is_empty(path):
    with open(path) as file:
        return file.read(1) == ""
```

The third one also works for files whose size the system does not know, such as those in `/proc`.

| way | reads the file | raises where it is missing |
|---|---|---|
| `getsize` | no | yes |
| `stat` | no | yes |
| `read(1)` | one character | yes |
"""

RECORDS = [
    {
        "id": "cosqa-against-cosqa-plus/17", "prompt": "split list into chunks of n python", "language": "python",
        "first": CHUNKED, "second": GROUPED, "first_name": "cosqa", "second_name": "cosqa-plus", "about": "codes",
    },
    {
        "id": "gpt-4-against-llama-2/3", "prompt": "How do I check whether a file is empty before reading it?",
        "first": SHORT, "second": LONG, "first_name": "llama-2-70b", "second_name": "gpt-4", "about": "answers",
        "reference": "Compare `os.path.getsize(path)` with 0.\n",
    },
]  # fmt: skip


def real_comparisons(folder: Path) -> Workspace:
    """A new workspace of them, which is open."""
    folder.mkdir(exist_ok=True)
    file = folder / "pairs.jsonl"
    file.write_text("\n".join(json.dumps({**record, "seed": "1"}) for record in RECORDS))
    workspace = Workspace.create(folder / "rq1.duckdb")
    register_kinds(workspace)
    import_files(workspace, [file])
    return workspace
