-- Configurations of agents that execute nothing: a model that read what there was and ruled, and one that predicted
-- what a test would show. A CHECK cannot be altered, so the table is made anew; it has no index and no key.
ALTER TABLE verdict RENAME TO verdict_before;
CREATE TABLE verdict (
    id UUID NOT NULL, run_id UUID NOT NULL, item_id BIGINT NOT NULL, value DOUBLE NOT NULL,
    path VARCHAR NOT NULL CHECK (path IN ('screened', 'read', 'simulated', 'tested', 'repaired')),
    reason VARCHAR NOT NULL, execution_id UUID, created_at TIMESTAMPTZ NOT NULL
);
INSERT INTO verdict SELECT id, run_id, item_id, value, path, reason, execution_id, created_at FROM verdict_before;
DROP TABLE verdict_before;
