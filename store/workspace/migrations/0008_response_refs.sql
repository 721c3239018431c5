-- A question about a response was a question of its own, `answer.accuracy@MODEL[SETTING]#TRIAL`. It is the question
-- plus a reference to the response now, which exists before the text of the response does.
CREATE TABLE response_ref (
    id BIGINT NOT NULL, item_id BIGINT NOT NULL, model VARCHAR NOT NULL, setting VARCHAR NOT NULL, trial BIGINT NOT NULL
);
INSERT INTO response_ref SELECT id, item_id, model, setting, trial FROM response;

CREATE TEMP TABLE named_question AS
WITH parts AS (
    SELECT id, name, regexp_extract(name, '(?s)^([^@\[\]#]+)@([^@\[\]#]*)(?:\[([^@\[\]#]+)\])?(?:#(\d{1,18}))?$',
        ['base', 'model', 'setting', 'trial']) AS part
    FROM question WHERE regexp_full_match(name, '[^@\[\]#]+@[^@\[\]#]*(\[[^@\[\]#]+\])?(#\d{1,18})?', 's')
)
SELECT id, part.base AS base, coalesce(try_cast(nullif(part.trial, '') AS BIGINT), 0) AS trial,
    replace(replace(replace(replace(replace(part.model, '%23', '#'), '%5D', ']'), '%5B', '['), '%40', '@'), '%25', '%')
        AS model,
    replace(replace(replace(replace(replace(part.setting, '%23', '#'), '%5D', ']'), '%5B', '['), '%40', '@'), '%25', '%')
        AS setting
FROM parts;
INSERT INTO question SELECT (SELECT max(id) FROM question) + row_number() OVER (ORDER BY min(q.id)), n.base,
    any_value(q.task_kind), any_value(q.text), any_value(q.scale)
FROM named_question n JOIN question q ON q.id = n.id
WHERE n.base NOT IN (SELECT name FROM question) GROUP BY n.base;
INSERT INTO response_ref
SELECT (SELECT coalesce(max(id), 0) FROM response_ref) + row_number() OVER (ORDER BY item_id, model, setting, trial),
    item_id, model, setting, trial
FROM (
    SELECT DISTINCT j.item_id, n.model, n.setting, n.trial
    FROM judgment j JOIN named_question n ON n.id = j.question_id
) ANTI JOIN response_ref USING (item_id, model, setting, trial);
ALTER TABLE judgment ADD COLUMN response_ref_id BIGINT;
UPDATE judgment SET question_id = q.id, response_ref_id = r.id
FROM named_question n JOIN question q ON q.name = n.base
    JOIN response_ref r ON (r.model, r.setting, r.trial) = (n.model, n.setting, n.trial)
WHERE n.id = judgment.question_id AND r.item_id = judgment.item_id;
DELETE FROM question WHERE id IN (SELECT id FROM named_question);
DROP TABLE named_question;

-- A response is what its reference names, and tells where it came from: a file, or a step of a run.
ALTER TABLE response RENAME TO response_before;
CREATE TABLE response (
    id BIGINT NOT NULL, text VARCHAR NOT NULL, extra VARCHAR NOT NULL, source_id BIGINT, run_id UUID, step_id UUID
);
INSERT INTO response SELECT id, text, extra, source_id, NULL, NULL FROM response_before;
DROP TABLE response_before;
ALTER TABLE score RENAME COLUMN response_id TO response_ref_id;
ALTER TABLE score ADD COLUMN run_id UUID;
ALTER TABLE score ADD COLUMN step_id UUID;

-- A verdict answers a question of any kind, of the item or of a response, on a path that its pipeline names. Those
-- so far answer the first question of their item's kind.
INSERT INTO question SELECT (SELECT coalesce(max(id), 0) FROM question) + 1, 'pair.match', 'pair',
    'Does the code do what the query asks?', 
    '{"level": "nominal", "values": [{"value": 1, "word": "match", "key": "1", "sign": ""}, {"value": 0, "word": "no match", "key": "0", "sign": ""}]}'
WHERE EXISTS (FROM verdict) AND NOT EXISTS (FROM question WHERE name = 'pair.match');
ALTER TABLE verdict RENAME TO verdict_before;
CREATE TABLE verdict (
    id UUID NOT NULL, run_id UUID NOT NULL, item_id BIGINT NOT NULL, value DOUBLE NOT NULL, path VARCHAR NOT NULL,
    reason VARCHAR NOT NULL, execution_id UUID, created_at TIMESTAMPTZ NOT NULL, question_id BIGINT NOT NULL,
    response_ref_id BIGINT
);
INSERT INTO verdict SELECT v.id, v.run_id, v.item_id, v.value, v.path, v.reason, v.execution_id, v.created_at,
    coalesce(q.id, (SELECT id FROM question WHERE name = 'pair.match')), NULL
FROM verdict_before v LEFT JOIN item i ON i.id = v.item_id
    LEFT JOIN (SELECT task_kind, min(id) AS id FROM question GROUP BY task_kind) q ON q.task_kind = i.kind;
DROP TABLE verdict_before;
