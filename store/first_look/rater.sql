SELECT rater.id, rater.kind, rater.name
FROM rater
WHERE rater.name = ?
