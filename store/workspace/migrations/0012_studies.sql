-- Studies: a draft is frozen, then closed; its items, raters and looks; the sittings of a rater's list; the
-- assignments of tests that experts run.
ALTER TABLE study ADD COLUMN IF NOT EXISTS frozen_at TIMESTAMPTZ;
ALTER TABLE study ADD COLUMN IF NOT EXISTS closed_at TIMESTAMPTZ;
ALTER TABLE study ADD COLUMN IF NOT EXISTS manifest VARCHAR DEFAULT '{}';
ALTER TABLE study ALTER COLUMN manifest SET NOT NULL;
ALTER TABLE assignment ADD COLUMN IF NOT EXISTS sitting BIGINT DEFAULT 1;
ALTER TABLE assignment ALTER COLUMN sitting SET NOT NULL;
ALTER TABLE assignment ADD COLUMN IF NOT EXISTS block BIGINT;
ALTER TABLE execution ADD COLUMN IF NOT EXISTS assignment_id UUID;
ALTER TABLE execution ADD COLUMN IF NOT EXISTS editing_ms BIGINT;
CREATE TABLE study_item (
    study_id BIGINT NOT NULL, item_id BIGINT NOT NULL, role VARCHAR NOT NULL CHECK (role IN ('item', 'gold', 'training')),
    position BIGINT NOT NULL, stratum VARCHAR, inclusion DOUBLE NOT NULL, gold VARCHAR NOT NULL, PRIMARY KEY (study_id, item_id)
);
CREATE TABLE study_rater (
    study_id BIGINT NOT NULL, rater_id BIGINT NOT NULL, pseudonym VARCHAR NOT NULL, position BIGINT NOT NULL,
    consent_version VARCHAR NOT NULL, consented_at TIMESTAMPTZ, experience VARCHAR NOT NULL, withdrawn_at TIMESTAMPTZ,
    PRIMARY KEY (study_id, rater_id)
);
CREATE TABLE study_look (
    id UUID PRIMARY KEY, study_id BIGINT NOT NULL, question VARCHAR NOT NULL, looked_at TIMESTAMPTZ NOT NULL,
    judgments BIGINT NOT NULL, items BIGINT NOT NULL, alpha DOUBLE, ci_low DOUBLE, ci_high DOUBLE, planned BOOLEAN NOT NULL
);
