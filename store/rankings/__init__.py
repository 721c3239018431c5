"""Rankings of codes by methods of retrieval: stored, and measured against the labels of now."""
