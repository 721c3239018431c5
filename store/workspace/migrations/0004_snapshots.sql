-- Which repaired environment an execution ran in; what was executed before ran in the sandbox's own.
ALTER TABLE execution ADD COLUMN IF NOT EXISTS snapshot VARCHAR DEFAULT '';
ALTER TABLE execution ALTER COLUMN snapshot SET NOT NULL;
