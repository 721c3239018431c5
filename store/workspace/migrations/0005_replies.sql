-- What models answered, by what they were asked: its key is the hash of model, service, parameters and messages.
-- The key's index is the only one, and the table is never searched by anything else in a job.
CREATE TABLE IF NOT EXISTS reply (
    id UUID PRIMARY KEY, role VARCHAR NOT NULL, model VARCHAR NOT NULL, service VARCHAR NOT NULL,
    snapshot VARCHAR NOT NULL, text VARCHAR NOT NULL, tokens_in BIGINT NOT NULL, tokens_out BIGINT NOT NULL,
    tokens_cached BIGINT NOT NULL, tokens_written BIGINT NOT NULL, money DOUBLE, price VARCHAR NOT NULL,
    requests BIGINT NOT NULL, seconds DOUBLE NOT NULL, sdk VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL
);
-- What a step cost and at which price, why it failed, and the reply that it rests on. The steps before this one
-- have no price: what they cost stays unknown.
ALTER TABLE step ADD COLUMN IF NOT EXISTS tokens_written BIGINT DEFAULT 0;
ALTER TABLE step ALTER COLUMN tokens_written SET NOT NULL;
ALTER TABLE step ADD COLUMN IF NOT EXISTS price VARCHAR DEFAULT '';
ALTER TABLE step ALTER COLUMN price SET NOT NULL;
ALTER TABLE step ADD COLUMN IF NOT EXISTS sdk VARCHAR DEFAULT '';
ALTER TABLE step ALTER COLUMN sdk SET NOT NULL;
ALTER TABLE step ADD COLUMN IF NOT EXISTS cause VARCHAR DEFAULT '';
ALTER TABLE step ALTER COLUMN cause SET NOT NULL;
ALTER TABLE step ADD COLUMN IF NOT EXISTS reply_id UUID;
ALTER TABLE step ADD COLUMN IF NOT EXISTS from_cache BOOLEAN DEFAULT FALSE;
ALTER TABLE step ALTER COLUMN from_cache SET NOT NULL;
