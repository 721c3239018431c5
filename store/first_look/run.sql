SELECT run.id, run.name
FROM run
WHERE CAST(run.id AS VARCHAR) = ?
