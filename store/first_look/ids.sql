SELECT item.id
FROM item LEFT OUTER JOIN (SELECT put_off.item_id AS item_id, put_off.skipped_by AS skipped_by
FROM (SELECT latest.item_id AS item_id, max(CASE WHEN (latest.kind = 'cannot_decide' AND latest.active) THEN 1 ELSE 0 END) = 1 AS cannot_decide, max(CASE WHEN (latest.kind = 'skip' AND latest.active) THEN 1 ELSE 0 END) = 1 AS skipped, max(CASE WHEN (latest.kind = 'flag' AND latest.active) THEN 1 ELSE 0 END) = 1 AS flagged, max(CASE WHEN (latest.kind = 'comment' AND latest.active) THEN 1 ELSE 0 END) = 1 AS commented, max(CASE WHEN (latest.kind = 'skip') THEN CAST(latest.id AS VARCHAR) END) AS skipped_by
FROM (SELECT anon_1.id AS id, anon_1.action AS action, anon_1.item_id AS item_id, anon_1.rater_id AS rater_id, anon_1.assignment_id AS assignment_id, anon_1.phase AS phase, anon_1.kind AS kind, anon_1.active AS active, anon_1.text AS text, anon_1.origin AS origin, anon_1.supersedes AS supersedes, anon_1.target_action AS target_action, anon_1.restores AS restores, anon_1.created_at AS created_at
FROM (SELECT mark.id AS id, mark.action AS action, mark.item_id AS item_id, mark.rater_id AS rater_id, mark.assignment_id AS assignment_id, mark.phase AS phase, mark.kind AS kind, mark.active AS active, mark.text AS text, mark.origin AS origin, mark.supersedes AS supersedes, mark.target_action AS target_action, mark.restores AS restores, mark.created_at AS created_at, row_number() OVER (PARTITION BY mark.item_id, mark.kind ORDER BY mark.id DESC) AS place
FROM mark
WHERE mark.rater_id = {rater} AND mark.phase = 'review' AND mark.assignment_id IS NULL) AS anon_1
WHERE anon_1.place = 1) AS latest GROUP BY latest.item_id) AS put_off
WHERE put_off.skipped) AS skipped ON skipped.item_id = item.id ORDER BY skipped.skipped_by ASC NULLS FIRST, item.id ASC
 LIMIT {limit}
