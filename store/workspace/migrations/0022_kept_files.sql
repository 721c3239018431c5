-- Tables of pairs are kept as they were imported, so that an export gives them back with the labels beside their columns:
-- how a file is read, as JSON (empty where it is not kept), and its content, packed with zstd and cut into parts.
ALTER TABLE source ADD COLUMN IF NOT EXISTS reading VARCHAR DEFAULT '';
ALTER TABLE source ALTER COLUMN reading SET NOT NULL;
CREATE TABLE source_file (source_id BIGINT NOT NULL, part BIGINT NOT NULL, content BLOB NOT NULL);
