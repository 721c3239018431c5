-- DuckDB 1.5 replays a log into an index only when something asks for the index; a file that was opened after a
-- kill and closed without such a question lost the entries, and its judgments were no longer found by their item
-- (duckdb issues 23788 and 23848, pull request 25771). The indexes of keys are not concerned.
DROP INDEX IF EXISTS judgment_item;
DROP INDEX IF EXISTS mark_item;
