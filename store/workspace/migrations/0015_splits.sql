-- Named parts of the ground truth: how each was made, its items with their part and their true labels of then.
CREATE TABLE split (
    id UUID NOT NULL, name VARCHAR NOT NULL, question VARCHAR NOT NULL, kind VARCHAR NOT NULL, plan VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL, last_judgment UUID, digest VARCHAR NOT NULL, report VARCHAR NOT NULL
);
CREATE TABLE split_label (
    split_id UUID NOT NULL, item_id BIGINT NOT NULL, response_ref_id BIGINT, part VARCHAR NOT NULL, value DOUBLE NOT NULL
);
