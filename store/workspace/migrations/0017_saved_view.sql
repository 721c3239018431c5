-- Filters and orders of the queue under a name, each with the rater who made it.
CREATE TABLE saved_view (
    id UUID NOT NULL, name VARCHAR NOT NULL, rater_id BIGINT NOT NULL, query VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
