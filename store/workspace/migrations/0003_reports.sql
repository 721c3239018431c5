-- What an execution tells beside its outcomes: how far each test can be trusted, where a failure arose, what the
-- program ran on, and where a long output was cut. Of what was executed before, none of that is known.
ALTER TABLE test_outcome ADD COLUMN IF NOT EXISTS discriminates BOOLEAN;
ALTER TABLE test_outcome ADD COLUMN IF NOT EXISTS flaky BOOLEAN;
ALTER TABLE test_outcome ADD COLUMN IF NOT EXISTS trace VARCHAR DEFAULT '';
ALTER TABLE test_outcome ALTER COLUMN trace SET NOT NULL;
ALTER TABLE execution ADD COLUMN IF NOT EXISTS trace VARCHAR DEFAULT '';
ALTER TABLE execution ALTER COLUMN trace SET NOT NULL;
ALTER TABLE execution ADD COLUMN IF NOT EXISTS image VARCHAR DEFAULT '';
ALTER TABLE execution ALTER COLUMN image SET NOT NULL;
ALTER TABLE execution ADD COLUMN IF NOT EXISTS packages VARCHAR DEFAULT '';
ALTER TABLE execution ALTER COLUMN packages SET NOT NULL;
ALTER TABLE execution ADD COLUMN IF NOT EXISTS stdout_cut VARCHAR DEFAULT '';
ALTER TABLE execution ALTER COLUMN stdout_cut SET NOT NULL;
ALTER TABLE execution ADD COLUMN IF NOT EXISTS stderr_cut VARCHAR DEFAULT '';
ALTER TABLE execution ALTER COLUMN stderr_cut SET NOT NULL;
