-- The condition of an assignment as columns. The table is made again, since NOT NULL columns cannot be added.
ALTER TABLE assignment RENAME TO assignment_before;
CREATE TABLE assignment (
    id UUID PRIMARY KEY, study_id BIGINT NOT NULL, rater_id BIGINT NOT NULL, item_id BIGINT NOT NULL,
    phase VARCHAR NOT NULL, position BIGINT NOT NULL,
    mode VARCHAR NOT NULL, shows_tests BOOLEAN NOT NULL, hides_models BOOLEAN NOT NULL, swapped BOOLEAN NOT NULL,
    seed BIGINT NOT NULL, sitting BIGINT NOT NULL DEFAULT 1, block BIGINT,
    UNIQUE (study_id, rater_id, item_id, phase),
    CHECK (mode IN ('blind', 'revealed', 'own-test'))
);
INSERT INTO assignment BY NAME
SELECT * EXCLUDE (condition, words),
    CASE WHEN 'own-test' IN words THEN 'own-test' WHEN 'blind' IN words THEN 'blind' ELSE 'revealed' END AS mode,
    'tests' IN words AS shows_tests, 'hidden-models' IN words AS hides_models, 'swapped' IN words AS swapped
FROM (SELECT *, string_split(condition, ' ') AS words FROM assignment_before);
DROP TABLE assignment_before;
