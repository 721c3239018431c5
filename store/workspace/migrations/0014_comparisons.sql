-- Comparisons of two candidates for a prompt, and how an item was shown when it was judged: which candidate was on the
-- left, and what was masked.
CREATE TABLE prompt (id BIGINT NOT NULL, text VARCHAR NOT NULL, text_hash VARCHAR NOT NULL);
CREATE TABLE comparison (
    item_id BIGINT NOT NULL, prompt_id BIGINT NOT NULL, language VARCHAR NOT NULL, first VARCHAR NOT NULL,
    second VARCHAR NOT NULL, first_name VARCHAR NOT NULL, second_name VARCHAR NOT NULL, first_ref VARCHAR NOT NULL,
    second_ref VARCHAR NOT NULL, reference VARCHAR NOT NULL, about VARCHAR NOT NULL, made_from VARCHAR NOT NULL
);
-- A table that 0008 changed cannot be altered again in the same transaction, so it is made anew; it has no index and no key.
ALTER TABLE judgment RENAME TO judgment_before;
CREATE TABLE judgment (
    id UUID NOT NULL, action UUID NOT NULL, item_id BIGINT NOT NULL, question_id BIGINT NOT NULL,
    rater_id BIGINT NOT NULL, assignment_id UUID, phase VARCHAR NOT NULL, value DOUBLE,
    origin VARCHAR NOT NULL CHECK (origin IN
        ('independent', 'accept', 'override', 'withdraw', 'undo', 'redo', 'import', 'ruling')),
    supersedes UUID, target_action UUID, restores UUID, shown_verdict UUID, shown_execution UUID,
    guideline_id BIGINT, blind BOOLEAN NOT NULL, reason VARCHAR NOT NULL, comment VARCHAR NOT NULL,
    evidence VARCHAR NOT NULL, elapsed_ms BIGINT, active_ms BIGINT, created_at TIMESTAMPTZ NOT NULL,
    response_ref_id BIGINT, shown_as VARCHAR DEFAULT '' NOT NULL
);
INSERT INTO judgment SELECT id, action, item_id, question_id, rater_id, assignment_id, phase, value, origin, supersedes, target_action, restores,
    shown_verdict, shown_execution, guideline_id, blind, reason, comment, evidence, elapsed_ms, active_ms, created_at,
    response_ref_id, '' FROM judgment_before;
DROP TABLE judgment_before;
