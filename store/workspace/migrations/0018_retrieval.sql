-- The rankings of methods that find codes for queries, without labels: measures are of the labels of now.
CREATE TABLE retrieval (
    id BIGINT NOT NULL, method VARCHAR NOT NULL, settings VARCHAR NOT NULL, depth BIGINT NOT NULL,
    codes BIGINT NOT NULL, made_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE retrieval_query (retrieval_id BIGINT NOT NULL, query_id BIGINT NOT NULL);
CREATE TABLE retrieval_hit (
    retrieval_id BIGINT NOT NULL, query_id BIGINT NOT NULL, rank BIGINT NOT NULL, code_id BIGINT NOT NULL,
    score DOUBLE NOT NULL
);
