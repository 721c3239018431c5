"""Builds a workspace as large as CoSQA+: 412,080 pairs, 132,952 codes, with verdicts of two runs and judgments.

    python benchmarks/large_workspace.py PATH

The texts are synthetic and written straight by SQL; `import_speed.py` measures the way by a file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from store.record.raters import ensure_rater, register_kinds
from store.workspace.duckdb import Workspace

PAIRS, QUERIES, CODES = 412_080, 20_604, 132_952
RATER = "bench"

_TABLES = [
    "INSERT INTO source VALUES (1, 'synthetic', 'synthetic.jsonl', 'jsonl', '', '', {pairs}, now(), 0, '')",
    "INSERT INTO query SELECT i, 'python how to do thing number ' || i || ' with a list of files', md5(i::VARCHAR) "
    "FROM range(1, {queries} + 1) t(i)",
    # About 380 characters a code, as Table II of CoSQA+ has them.
    "INSERT INTO code SELECT i, 'def function_' || i || '(values, limit=' || (i % 97) || '):' || chr(10) || "
    '\'    """Return what thing \' || i || \' makes of values."""\' || chr(10) || '
    "repeat('    total = sum(value for value in values if value > limit)' || chr(10), 5) || '    return total', "
    "md5('c' || i), 'python', 'function_' || i, 'synthetic/repo', 'module_' || (i % 500) || '.py', 'Apache-2.0' "
    "FROM range(1, {codes} + 1) t(i)",
    "INSERT INTO item SELECT i, 'pair', 'pair-' || i, 1 + (i - 1) // 20, 1, md5('i' || i), '{{}}' "
    "FROM range(1, {pairs} + 1) t(i)",
    "INSERT INTO pair SELECT i, 1 + (i - 1) // 20, 1 + (i * 7919) % {codes}, 1 + (i - 1) % 20 "
    "FROM range(1, {pairs} + 1) t(i)",
    "INSERT INTO similarity SELECT i, m, 0.9 - ((i - 1) % 20) * 0.02 "
    "FROM range(1, {pairs} + 1) t(i), (VALUES ('codebert'), ('unixcoder'), ('codet5p')) models(m)",
    # Two runs, of which the fuller one is shown.
    "INSERT INTO run SELECT uuidv7(), 'pair', name, '{{}}', 'm', 5 + place, 'done', {pairs}, now(), now(), place "
    "FROM (VALUES ('single/m/1', 1), ('ps-tpg-te-bf-fa/m/2', 6)) runs(name, place)",
    "INSERT INTO verdict SELECT uuidv7(), run.id, i, (hash(i) % 3 = 0)::DOUBLE, "
    "CASE WHEN hash(i) % 3 = 1 THEN 'tested' ELSE 'screened' END, 'because of thing ' || i, NULL, now(), 1, NULL "
    "FROM run, range(1, {pairs} + 1) t(i) ORDER BY fullness, i",
    "INSERT INTO judgment (id, action, item_id, question_id, rater_id, phase, value, origin, blind, reason, comment, "
    "evidence, created_at) SELECT uuidv7(), uuidv7(), i, 1, r, 'review', (hash(i, r) % 2)::DOUBLE, 'import', false, "
    "'', '', '[]', now() FROM range(1, {pairs} + 1) t(i), range(2, 5) raters(r)",
]


def build(path: Path, pairs: int = PAIRS) -> Path:
    """Build the workspace file, unless it is there already.

    Args:
        path: Where.
        pairs: How many pairs; queries and codes stay in proportion.

    Returns:
        The path.
    """
    if path.exists():
        return path
    sizes = {"pairs": pairs, "queries": max(1, pairs // 20), "codes": max(1, pairs * CODES // PAIRS)}
    with Workspace.create(path) as workspace:
        register_kinds(workspace)
        ensure_rater(workspace, RATER)
        for number in range(3):
            ensure_rater(workspace, f"imported {number}", "import")
        cursor = workspace.native()
        for statement in _TABLES:
            cursor.execute(statement.format(**sizes))
        cursor.close()
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", type=Path)
    print(build(parser.parse_args().path))
