"""Workspace files of an earlier schema, for tests."""

from pathlib import Path

import duckdb

CONDITIONS = 25
"""The version in which the condition of an assignment became columns."""
_WORDS = """
ALTER TABLE assignment RENAME TO assignment_after;
CREATE TABLE assignment (
    id UUID PRIMARY KEY, study_id BIGINT NOT NULL, rater_id BIGINT NOT NULL, item_id BIGINT NOT NULL,
    phase VARCHAR NOT NULL, position BIGINT NOT NULL, condition VARCHAR NOT NULL, seed BIGINT NOT NULL,
    sitting BIGINT NOT NULL DEFAULT 1, block BIGINT, UNIQUE (study_id, rater_id, item_id, phase)
);
INSERT INTO assignment SELECT id, study_id, rater_id, item_id, phase, position,
    mode || CASE WHEN shows_tests THEN ' tests' ELSE '' END || CASE WHEN hides_models THEN ' hidden-models' ELSE '' END
    || CASE WHEN swapped THEN ' swapped' ELSE '' END, seed, sitting, block FROM assignment_after;
DROP TABLE assignment_after;
DELETE FROM schema_version WHERE version >= 25;
"""


def with_words(path: Path) -> list[str]:
    """Bring a closed workspace to the schema before `CONDITIONS`; returns the conditions of its assignments."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(_WORDS)
        found = connection.execute("SELECT DISTINCT condition FROM assignment ORDER BY 1").fetchall()
    return [words for (words,) in found]
