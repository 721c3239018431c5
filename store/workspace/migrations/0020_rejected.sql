-- How many records of an imported file were rejected (`--rejects`): figures are without them. Of earlier imports it is
-- not known.
ALTER TABLE source ADD COLUMN IF NOT EXISTS rejected BIGINT DEFAULT 0;
ALTER TABLE source ALTER COLUMN rejected SET NOT NULL;
