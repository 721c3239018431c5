-- Completions and repository questions beside the pairs, and what models answered to either: their responses, the
-- scores that judges gave these, and the pieces of other files that go with an item. No indexes and no foreign keys, for the reasons in 0001 and 0002.
CREATE TABLE IF NOT EXISTS completion (
    item_id BIGINT NOT NULL, language VARCHAR NOT NULL, repository VARCHAR NOT NULL, path VARCHAR NOT NULL,
    prompt VARCHAR NOT NULL, reference VARCHAR NOT NULL, right_context VARCHAR NOT NULL,
    prompt_line BIGINT, reference_line BIGINT, right_context_line BIGINT
);
CREATE TABLE IF NOT EXISTS repository_question (
    item_id BIGINT NOT NULL, repository VARCHAR NOT NULL, revision VARCHAR NOT NULL, language VARCHAR NOT NULL,
    url VARCHAR NOT NULL, question VARCHAR NOT NULL, reference VARCHAR NOT NULL, issue_number BIGINT,
    issue_title VARCHAR NOT NULL, issue_body VARCHAR NOT NULL, comments VARCHAR NOT NULL, labels VARCHAR NOT NULL,
    created_at VARCHAR NOT NULL, closed_at VARCHAR NOT NULL
);
CREATE TABLE IF NOT EXISTS context_chunk (
    item_id BIGINT NOT NULL, setting VARCHAR NOT NULL, rank BIGINT NOT NULL, path VARCHAR NOT NULL,
    text VARCHAR NOT NULL, score DOUBLE, extra VARCHAR NOT NULL
);
CREATE TABLE IF NOT EXISTS response (
    id BIGINT NOT NULL, item_id BIGINT NOT NULL, model VARCHAR NOT NULL, setting VARCHAR NOT NULL,
    trial BIGINT NOT NULL, text VARCHAR NOT NULL, extra VARCHAR NOT NULL, source_id BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS score (
    id UUID NOT NULL, response_id BIGINT NOT NULL, judge VARCHAR NOT NULL, measure VARCHAR NOT NULL, value DOUBLE,
    raw VARCHAR NOT NULL, reason VARCHAR NOT NULL, extra VARCHAR NOT NULL, sequence BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
-- Responses whose item is not here: they find it when it is imported.
CREATE TABLE IF NOT EXISTS response_aside (
    source_id BIGINT NOT NULL, line BIGINT, kind VARCHAR NOT NULL, external_id VARCHAR, joined_by VARCHAR,
    model VARCHAR NOT NULL, setting VARCHAR NOT NULL, trial BIGINT NOT NULL, text VARCHAR NOT NULL,
    extra VARCHAR NOT NULL, scores VARCHAR NOT NULL
);
-- A text of an item that somebody rewrote is a mark: `revision.question`. A CHECK cannot be altered, so the table is
-- made anew; it has no index and no key.
ALTER TABLE mark RENAME TO mark_before;
CREATE TABLE mark (
    id UUID NOT NULL, action UUID NOT NULL, item_id BIGINT NOT NULL, rater_id BIGINT NOT NULL,
    assignment_id UUID, phase VARCHAR NOT NULL,
    kind VARCHAR NOT NULL CHECK (kind IN ('cannot_decide', 'skip', 'flag', 'comment') OR kind LIKE 'revision.%'),
    active BOOLEAN NOT NULL, text VARCHAR NOT NULL, origin VARCHAR NOT NULL, supersedes UUID,
    target_action UUID, restores UUID, created_at TIMESTAMPTZ NOT NULL
);
INSERT INTO mark SELECT id, action, item_id, rater_id, assignment_id, phase, kind, active, text, origin, supersedes,
    target_action, restores, created_at FROM mark_before;
DROP TABLE mark_before;
