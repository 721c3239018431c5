-- What kept a test from a result: a word, empty where nothing did, null in what was recorded before.
ALTER TABLE test_outcome ADD COLUMN IF NOT EXISTS obstacle VARCHAR;
