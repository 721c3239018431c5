-- The common core of all task kinds. Imported entities have BIGINT keys, records UUIDv7.
-- No foreign keys on tables that grow while an expert works: DuckDB checks them eagerly, and the importers
-- and the recorder resolve every reference before they write. No indexes either, see 0002.
CREATE TABLE workspace_fact (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);

CREATE TABLE source (
    id BIGINT PRIMARY KEY, sha256 VARCHAR NOT NULL, name VARCHAR NOT NULL, format VARCHAR NOT NULL,
    licence VARCHAR NOT NULL, url VARCHAR NOT NULL, records BIGINT NOT NULL, imported_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE query (id BIGINT NOT NULL, text VARCHAR NOT NULL, text_hash VARCHAR NOT NULL);
CREATE TABLE code (
    id BIGINT NOT NULL, text VARCHAR NOT NULL, text_hash VARCHAR NOT NULL, language VARCHAR NOT NULL,
    name VARCHAR NOT NULL, repository VARCHAR NOT NULL, path VARCHAR NOT NULL, licence VARCHAR NOT NULL
);
CREATE TABLE item (
    id BIGINT NOT NULL, kind VARCHAR NOT NULL, external_id VARCHAR NOT NULL, group_id BIGINT NOT NULL,
    source_id BIGINT NOT NULL, content_hash VARCHAR NOT NULL, extra VARCHAR NOT NULL
);
CREATE TABLE pair (item_id BIGINT NOT NULL, query_id BIGINT NOT NULL, code_id BIGINT NOT NULL, rank BIGINT);
CREATE TABLE similarity (item_id BIGINT NOT NULL, model VARCHAR NOT NULL, value DOUBLE NOT NULL);

CREATE TABLE rater (
    id BIGINT PRIMARY KEY, kind VARCHAR NOT NULL CHECK (kind IN ('human', 'agent', 'import')),
    name VARCHAR NOT NULL UNIQUE, pseudonym VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE question (
    id BIGINT PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, task_kind VARCHAR NOT NULL,
    text VARCHAR NOT NULL, scale VARCHAR NOT NULL
);
CREATE TABLE guideline (
    id BIGINT PRIMARY KEY, task_kind VARCHAR NOT NULL, version VARCHAR NOT NULL, text VARCHAR NOT NULL,
    UNIQUE (task_kind, version)
);
CREATE TABLE study (
    id BIGINT PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, protocol VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE assignment (
    id UUID PRIMARY KEY, study_id BIGINT NOT NULL, rater_id BIGINT NOT NULL, item_id BIGINT NOT NULL,
    phase VARCHAR NOT NULL, position BIGINT NOT NULL, condition VARCHAR NOT NULL, seed BIGINT NOT NULL,
    UNIQUE (study_id, rater_id, item_id, phase)
);
CREATE TABLE sessionstate (
    rater_id BIGINT NOT NULL, key VARCHAR NOT NULL, value VARCHAR NOT NULL, updated_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE judgment (
    id UUID NOT NULL, action UUID NOT NULL, item_id BIGINT NOT NULL, question_id BIGINT NOT NULL,
    rater_id BIGINT NOT NULL, assignment_id UUID, phase VARCHAR NOT NULL, value DOUBLE,
    origin VARCHAR NOT NULL CHECK (origin IN
        ('independent', 'accept', 'override', 'withdraw', 'undo', 'redo', 'import', 'ruling')),
    supersedes UUID, target_action UUID, restores UUID, shown_verdict UUID, shown_execution UUID,
    guideline_id BIGINT, blind BOOLEAN NOT NULL, reason VARCHAR NOT NULL, comment VARCHAR NOT NULL,
    evidence VARCHAR NOT NULL, elapsed_ms BIGINT, active_ms BIGINT, created_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE mark (
    id UUID NOT NULL, action UUID NOT NULL, item_id BIGINT NOT NULL, rater_id BIGINT NOT NULL,
    assignment_id UUID, phase VARCHAR NOT NULL,
    kind VARCHAR NOT NULL CHECK (kind IN ('cannot_decide', 'skip', 'flag', 'comment')),
    active BOOLEAN NOT NULL, text VARCHAR NOT NULL, origin VARCHAR NOT NULL, supersedes UUID,
    target_action UUID, restores UUID, created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE run (
    id UUID PRIMARY KEY, kind VARCHAR NOT NULL, name VARCHAR NOT NULL, configuration VARCHAR NOT NULL,
    model VARCHAR NOT NULL, rater_id BIGINT NOT NULL,
    state VARCHAR NOT NULL CHECK (state IN ('running', 'paused', 'stopped', 'done', 'failed')),
    total BIGINT NOT NULL, started_at TIMESTAMPTZ NOT NULL, ended_at TIMESTAMPTZ
);
CREATE TABLE step (
    id UUID NOT NULL, run_id UUID NOT NULL, item_id BIGINT NOT NULL, role VARCHAR NOT NULL, attempt BIGINT NOT NULL,
    outcome VARCHAR NOT NULL CHECK (outcome IN ('ok', 'failed')), request_hash VARCHAR NOT NULL,
    reply VARCHAR NOT NULL, error VARCHAR NOT NULL, model VARCHAR NOT NULL, tokens_in BIGINT NOT NULL,
    tokens_out BIGINT NOT NULL, tokens_cached BIGINT NOT NULL, money DOUBLE, requests BIGINT NOT NULL,
    seconds DOUBLE NOT NULL, created_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE execution (
    id UUID NOT NULL, item_id BIGINT NOT NULL, step_id UUID, rater_id BIGINT, program VARCHAR NOT NULL,
    program_digest VARCHAR NOT NULL, sandbox VARCHAR NOT NULL, environment VARCHAR NOT NULL,
    exit_reason VARCHAR NOT NULL CHECK (exit_reason IN ('ok', 'assertion', 'error', 'timeout', 'memory',
        'processes', 'output', 'disk', 'killed', 'infrastructure')),
    exit_code BIGINT, executable BOOLEAN NOT NULL, error VARCHAR NOT NULL, stdout VARCHAR NOT NULL,
    stderr VARCHAR NOT NULL, output_dropped BIGINT NOT NULL, seconds DOUBLE NOT NULL, created_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE test_outcome (
    execution_id UUID NOT NULL, position BIGINT NOT NULL, name VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL CHECK (outcome IN ('passed', 'failed', 'error')), message VARCHAR NOT NULL,
    seconds DOUBLE NOT NULL
);
CREATE TABLE verdict (
    id UUID NOT NULL, run_id UUID NOT NULL, item_id BIGINT NOT NULL, value DOUBLE NOT NULL,
    path VARCHAR NOT NULL CHECK (path IN ('screened', 'tested', 'repaired')), reason VARCHAR NOT NULL,
    execution_id UUID, created_at TIMESTAMPTZ NOT NULL
);
