-- The packets that were made of studies: the manifest that each has, and what its opaque ids stand for.
CREATE TABLE packet (
    id UUID NOT NULL, study_id BIGINT NOT NULL, rater_id BIGINT NOT NULL, reveal BOOLEAN NOT NULL,
    made_at TIMESTAMPTZ NOT NULL, merged_at TIMESTAMPTZ, manifest VARCHAR NOT NULL, mapping VARCHAR NOT NULL
);
