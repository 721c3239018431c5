-- A label that was ruled after an execution in which no test came to a result has a path of its own.
UPDATE verdict SET path = 'untested'
WHERE path = 'tested' AND execution_id IN (SELECT id FROM execution WHERE NOT executable);
