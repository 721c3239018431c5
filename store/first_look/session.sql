SELECT sessionstate.value
FROM sessionstate
WHERE sessionstate.rater_id = {rater} AND sessionstate.key = ?
