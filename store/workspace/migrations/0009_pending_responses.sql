-- Responses whose item has not been imported yet are called pending everywhere.
ALTER TABLE response_aside RENAME TO pending_response;
