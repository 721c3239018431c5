-- Works that are no runs of the agents, such as a search for candidate pairs: what each is, as JSON that makes the same work
-- again; from where it goes on, as JSON; and what came of it.
CREATE TABLE work (
    id UUID PRIMARY KEY,
    kind VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    kept VARCHAR NOT NULL,
    said VARCHAR NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    CHECK (state IN ('running', 'paused', 'stopped', 'done', 'failed'))
);
