-- kinds: pair, completion, answer, comparison
SELECT item.id AS item_id, CASE WHEN (item.kind IN ('comparison')) THEN concat('c-', left(item.content_hash, 10)) ELSE item.external_id END AS external_id, item.kind, coalesce(listed.title, '') AS title, coalesce(listed.detail, '') AS detail, listed.rank, listed.similarity, CASE WHEN (coalesce(answered.answered, 0) >= CASE WHEN (item.kind = 'pair') THEN 1 WHEN (item.kind = 'completion') THEN 3 WHEN (item.kind = 'answer') THEN CASE WHEN answered.ended THEN 1 ELSE 0 + CASE WHEN (item.id IN (SELECT verdict.item_id
FROM verdict
WHERE verdict.question_id = (SELECT question.id
FROM question
WHERE question.name = 'answer.keep') AND verdict.response_ref_id IS NULL AND verdict.item_id IN ({items}))) THEN 1 ELSE 0 END + 4 * coalesce(response_count.number, 1) + coalesce(response_count.scored, 0) END WHEN (item.kind = 'comparison') THEN 1 ELSE 1 END) THEN 'judged' WHEN marked.cannot_decide THEN 'cannot_decide' WHEN marked.skipped THEN 'skipped' ELSE 'open' END AS status, answered.value AS label, NULL AS agent_label, NULL AS agent_path, coalesce(marked.flagged, false) AS flagged, coalesce(marked.commented, false) AS commented, coalesce(answered.answered, 0) AS answered, CASE WHEN (item.kind = 'pair') THEN 1 WHEN (item.kind = 'completion') THEN 3 WHEN (item.kind = 'answer') THEN CASE WHEN answered.ended THEN 1 ELSE 0 + CASE WHEN (item.id IN (SELECT verdict.item_id
FROM verdict
WHERE verdict.question_id = (SELECT question.id
FROM question
WHERE question.name = 'answer.keep') AND verdict.response_ref_id IS NULL AND verdict.item_id IN ({items}))) THEN 1 ELSE 0 END + 4 * coalesce(response_count.number, 1) + coalesce(response_count.scored, 0) END WHEN (item.kind = 'comparison') THEN 1 ELSE 1 END AS required, true AS blind, coalesce(answered.reason, '') AS reason, coalesce(answered.shown_as, '') AS shown_as
FROM item LEFT OUTER JOIN (SELECT summaries.item_id AS item_id, summaries.title AS title, summaries.detail AS detail, summaries.rank AS rank, summaries.similarity AS similarity
FROM (SELECT pair.item_id AS item_id, query.text AS title, code.name AS detail, pair.rank AS rank, mean_similarity.similarity AS similarity
FROM pair JOIN query ON query.id = pair.query_id JOIN code ON code.id = pair.code_id LEFT OUTER JOIN (SELECT similarity.item_id AS item_id, avg(similarity.value) AS similarity
FROM similarity
WHERE similarity.item_id IN ({items}) GROUP BY similarity.item_id) AS mean_similarity ON mean_similarity.item_id = pair.item_id
WHERE pair.item_id IN ({items}) UNION ALL SELECT completion.item_id AS item_id, completion.reference AS title, completion.path AS detail, CAST(NULL AS BIGINT) AS rank, CAST(NULL AS DOUBLE PRECISION) AS similarity
FROM completion
WHERE completion.item_id IN ({items}) UNION ALL SELECT repository_question.item_id AS item_id, repository_question.question AS title, repository_question.repository AS detail, CAST(NULL AS BIGINT) AS rank, CAST(NULL AS DOUBLE PRECISION) AS similarity
FROM repository_question
WHERE repository_question.item_id IN ({items}) UNION ALL SELECT comparison.item_id AS item_id, prompt.text AS title, comparison.about AS detail, CAST(NULL AS BIGINT) AS rank, CAST(NULL AS DOUBLE PRECISION) AS similarity
FROM comparison JOIN prompt ON prompt.id = comparison.prompt_id
WHERE comparison.item_id IN ({items})) AS summaries) AS listed ON item.id = listed.item_id LEFT OUTER JOIN (SELECT latest.item_id AS item_id, max(CASE WHEN (latest.kind = 'cannot_decide' AND latest.active) THEN 1 ELSE 0 END) = 1 AS cannot_decide, max(CASE WHEN (latest.kind = 'skip' AND latest.active) THEN 1 ELSE 0 END) = 1 AS skipped, max(CASE WHEN (latest.kind = 'flag' AND latest.active) THEN 1 ELSE 0 END) = 1 AS flagged, max(CASE WHEN (latest.kind = 'comment' AND latest.active) THEN 1 ELSE 0 END) = 1 AS commented, max(CASE WHEN (latest.kind = 'skip') THEN CAST(latest.id AS VARCHAR) END) AS skipped_by
FROM (SELECT anon_1.id AS id, anon_1.action AS action, anon_1.item_id AS item_id, anon_1.rater_id AS rater_id, anon_1.assignment_id AS assignment_id, anon_1.phase AS phase, anon_1.kind AS kind, anon_1.active AS active, anon_1.text AS text, anon_1.origin AS origin, anon_1.supersedes AS supersedes, anon_1.target_action AS target_action, anon_1.restores AS restores, anon_1.created_at AS created_at
FROM (SELECT mark.id AS id, mark.action AS action, mark.item_id AS item_id, mark.rater_id AS rater_id, mark.assignment_id AS assignment_id, mark.phase AS phase, mark.kind AS kind, mark.active AS active, mark.text AS text, mark.origin AS origin, mark.supersedes AS supersedes, mark.target_action AS target_action, mark.restores AS restores, mark.created_at AS created_at, row_number() OVER (PARTITION BY mark.item_id, mark.kind ORDER BY mark.id DESC) AS place
FROM mark
WHERE mark.rater_id = {rater} AND mark.phase = 'review' AND mark.assignment_id IS NULL AND mark.item_id IN ({items})) AS anon_1
WHERE anon_1.place = 1) AS latest GROUP BY latest.item_id) AS marked ON marked.item_id = item.id LEFT OUTER JOIN (SELECT "both".item_id AS item_id, CASE WHEN max("both".ended) THEN 1 ELSE sum("both".answered) END AS answered, max("both".latest) AS latest, max("both".value) AS value, max("both".reason) AS reason, max("both".shown_as) AS shown_as, max("both".ended) AS ended
FROM (SELECT label.item_id AS item_id, count(*) AS answered, max(label.created_at) AS latest, max(CASE WHEN (label.question_id IN (SELECT question.id
FROM question
WHERE question.name IN ('pair.match', 'completion.keep', 'answer.keep', 'comparison.preference'))) THEN label.value END) AS value, max(label.reason) AS reason, max(label.shown_as) AS shown_as, max(false OR label.question_id = (SELECT question.id
FROM question
WHERE question.name = 'answer.keep') AND label.value = 3) AS ended
FROM (SELECT latest_judgment.id AS id, latest_judgment.action AS action, latest_judgment.item_id AS item_id, latest_judgment.question_id AS question_id, latest_judgment.rater_id AS rater_id, latest_judgment.assignment_id AS assignment_id, latest_judgment.phase AS phase, latest_judgment.value AS value, latest_judgment.origin AS origin, latest_judgment.supersedes AS supersedes, latest_judgment.target_action AS target_action, latest_judgment.restores AS restores, latest_judgment.shown_verdict AS shown_verdict, latest_judgment.shown_execution AS shown_execution, latest_judgment.guideline_id AS guideline_id, latest_judgment.blind AS blind, latest_judgment.reason AS reason, latest_judgment.comment AS comment, latest_judgment.evidence AS evidence, latest_judgment.elapsed_ms AS elapsed_ms, latest_judgment.active_ms AS active_ms, latest_judgment.created_at AS created_at, latest_judgment.response_ref_id AS response_ref_id, latest_judgment.shown_as AS shown_as
FROM (SELECT anon_2.id AS id, anon_2.action AS action, anon_2.item_id AS item_id, anon_2.question_id AS question_id, anon_2.rater_id AS rater_id, anon_2.assignment_id AS assignment_id, anon_2.phase AS phase, anon_2.value AS value, anon_2.origin AS origin, anon_2.supersedes AS supersedes, anon_2.target_action AS target_action, anon_2.restores AS restores, anon_2.shown_verdict AS shown_verdict, anon_2.shown_execution AS shown_execution, anon_2.guideline_id AS guideline_id, anon_2.blind AS blind, anon_2.reason AS reason, anon_2.comment AS comment, anon_2.evidence AS evidence, anon_2.elapsed_ms AS elapsed_ms, anon_2.active_ms AS active_ms, anon_2.created_at AS created_at, anon_2.response_ref_id AS response_ref_id, anon_2.shown_as AS shown_as
FROM (SELECT judgment.id AS id, judgment.action AS action, judgment.item_id AS item_id, judgment.question_id AS question_id, judgment.rater_id AS rater_id, judgment.assignment_id AS assignment_id, judgment.phase AS phase, judgment.value AS value, judgment.origin AS origin, judgment.supersedes AS supersedes, judgment.target_action AS target_action, judgment.restores AS restores, judgment.shown_verdict AS shown_verdict, judgment.shown_execution AS shown_execution, judgment.guideline_id AS guideline_id, judgment.blind AS blind, judgment.reason AS reason, judgment.comment AS comment, judgment.evidence AS evidence, judgment.elapsed_ms AS elapsed_ms, judgment.active_ms AS active_ms, judgment.created_at AS created_at, judgment.response_ref_id AS response_ref_id, judgment.shown_as AS shown_as, row_number() OVER (PARTITION BY judgment.item_id, judgment.question_id, judgment.response_ref_id, judgment.rater_id, judgment.assignment_id, judgment.phase ORDER BY judgment.id DESC) AS place
FROM judgment
WHERE judgment.rater_id = {rater} AND judgment.phase = 'review' AND judgment.assignment_id IS NULL AND judgment.item_id IN ({items}) AND judgment.question_id IN (SELECT question.id
FROM question
WHERE question.name IN ('pair.match', 'completion.cross_file', 'completion.predictable', 'completion.keep', 'answer.keep', 'comparison.preference'))) AS anon_2
WHERE anon_2.place = 1) AS latest_judgment
WHERE latest_judgment.value IS NOT NULL) AS label
WHERE label.question_id IS DISTINCT FROM (SELECT question.id
FROM question
WHERE question.name = 'answer.keep') OR label.item_id IN (SELECT verdict.item_id
FROM verdict
WHERE verdict.question_id = (SELECT question.id
FROM question
WHERE question.name = 'answer.keep') AND verdict.response_ref_id IS NULL AND verdict.item_id IN ({items})) GROUP BY label.item_id UNION ALL SELECT label.item_id AS item_id, count(*) AS answered, max(label.created_at) AS latest, max(CAST(NULL AS DOUBLE PRECISION)) AS value, max(label.reason) AS reason, max(label.shown_as) AS shown_as, max(false) AS ended
FROM (SELECT latest_judgment.id AS id, latest_judgment.action AS action, latest_judgment.item_id AS item_id, latest_judgment.question_id AS question_id, latest_judgment.rater_id AS rater_id, latest_judgment.assignment_id AS assignment_id, latest_judgment.phase AS phase, latest_judgment.value AS value, latest_judgment.origin AS origin, latest_judgment.supersedes AS supersedes, latest_judgment.target_action AS target_action, latest_judgment.restores AS restores, latest_judgment.shown_verdict AS shown_verdict, latest_judgment.shown_execution AS shown_execution, latest_judgment.guideline_id AS guideline_id, latest_judgment.blind AS blind, latest_judgment.reason AS reason, latest_judgment.comment AS comment, latest_judgment.evidence AS evidence, latest_judgment.elapsed_ms AS elapsed_ms, latest_judgment.active_ms AS active_ms, latest_judgment.created_at AS created_at, latest_judgment.response_ref_id AS response_ref_id, latest_judgment.shown_as AS shown_as
FROM (SELECT anon_3.id AS id, anon_3.action AS action, anon_3.item_id AS item_id, anon_3.question_id AS question_id, anon_3.rater_id AS rater_id, anon_3.assignment_id AS assignment_id, anon_3.phase AS phase, anon_3.value AS value, anon_3.origin AS origin, anon_3.supersedes AS supersedes, anon_3.target_action AS target_action, anon_3.restores AS restores, anon_3.shown_verdict AS shown_verdict, anon_3.shown_execution AS shown_execution, anon_3.guideline_id AS guideline_id, anon_3.blind AS blind, anon_3.reason AS reason, anon_3.comment AS comment, anon_3.evidence AS evidence, anon_3.elapsed_ms AS elapsed_ms, anon_3.active_ms AS active_ms, anon_3.created_at AS created_at, anon_3.response_ref_id AS response_ref_id, anon_3.shown_as AS shown_as
FROM (SELECT judgment.id AS id, judgment.action AS action, judgment.item_id AS item_id, judgment.question_id AS question_id, judgment.rater_id AS rater_id, judgment.assignment_id AS assignment_id, judgment.phase AS phase, judgment.value AS value, judgment.origin AS origin, judgment.supersedes AS supersedes, judgment.target_action AS target_action, judgment.restores AS restores, judgment.shown_verdict AS shown_verdict, judgment.shown_execution AS shown_execution, judgment.guideline_id AS guideline_id, judgment.blind AS blind, judgment.reason AS reason, judgment.comment AS comment, judgment.evidence AS evidence, judgment.elapsed_ms AS elapsed_ms, judgment.active_ms AS active_ms, judgment.created_at AS created_at, judgment.response_ref_id AS response_ref_id, judgment.shown_as AS shown_as, row_number() OVER (PARTITION BY judgment.item_id, judgment.question_id, judgment.response_ref_id, judgment.rater_id, judgment.assignment_id, judgment.phase ORDER BY judgment.id DESC) AS place
FROM judgment
WHERE judgment.rater_id = {rater} AND judgment.phase = 'review' AND judgment.assignment_id IS NULL AND judgment.item_id IN ({items}) AND judgment.question_id IN (SELECT question.id
FROM question
WHERE question.name IN ('answer.accuracy', 'answer.completeness', 'answer.relevance', 'answer.clarity', 'answer.rating'))) AS anon_3
WHERE anon_3.place = 1) AS latest_judgment
WHERE latest_judgment.value IS NOT NULL) AS label
WHERE (label.response_ref_id IN (SELECT responses.id
FROM (SELECT response_ref.id AS id, response_ref.item_id AS item_id, response_ref.model AS model, response_ref.setting AS setting, response_ref.trial AS trial
FROM response_ref JOIN response ON response.id = response_ref.id
WHERE response_ref.item_id IN ({items})) AS responses) OR label.response_ref_id IS NULL AND (label.item_id NOT IN (SELECT responses.item_id
FROM (SELECT response_ref.id AS id, response_ref.item_id AS item_id, response_ref.model AS model, response_ref.setting AS setting, response_ref.trial AS trial
FROM response_ref JOIN response ON response.id = response_ref.id
WHERE response_ref.item_id IN ({items})) AS responses))) AND ((label.question_id NOT IN (SELECT question.id
FROM question
WHERE question.name = 'answer.rating')) OR label.response_ref_id IN (SELECT score.response_ref_id
FROM score
WHERE score.measure = 'rating')) GROUP BY label.item_id) AS "both" GROUP BY "both".item_id) AS answered ON answered.item_id = item.id LEFT OUTER JOIN (SELECT responses.item_id AS item_id, count(*) AS number, coalesce(sum(scored.number), 0) AS scored
FROM (SELECT response_ref.id AS id, response_ref.item_id AS item_id, response_ref.model AS model, response_ref.setting AS setting, response_ref.trial AS trial
FROM response_ref JOIN response ON response.id = response_ref.id
WHERE response_ref.item_id IN ({items})) AS responses LEFT OUTER JOIN (SELECT score.response_ref_id AS response_ref_id, count(DISTINCT score.measure) AS number
FROM score
WHERE score.measure IN ('rating') GROUP BY score.response_ref_id) AS scored ON scored.response_ref_id = responses.id GROUP BY responses.item_id) AS response_count ON response_count.item_id = item.id
WHERE item.id IN ({items})
