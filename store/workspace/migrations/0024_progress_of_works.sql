-- How much of a work's last step is done, out of how much. The table is made anew, since a column that is never null cannot be
-- added.
ALTER TABLE work RENAME TO work_before;
CREATE TABLE work (
    id UUID PRIMARY KEY, kind VARCHAR NOT NULL, name VARCHAR NOT NULL, description VARCHAR NOT NULL, state VARCHAR NOT NULL,
    kept VARCHAR NOT NULL, said VARCHAR NOT NULL, started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE, done BIGINT NOT NULL, total BIGINT NOT NULL,
    CHECK (state IN ('running', 'paused', 'stopped', 'done', 'failed'))
);
INSERT INTO work SELECT *, 0, 0 FROM work_before;
DROP TABLE work_before;
