"""Two methods of retrieval compared: query by query, and their rankings of one query."""
