-- Items that an adjudicator sent back to the raters of a study, to be judged again with a note.
CREATE TABLE sent_back (
    study_id BIGINT NOT NULL, item_id BIGINT NOT NULL, rater_id BIGINT NOT NULL, note VARCHAR NOT NULL,
    sent_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (study_id, item_id)
);
