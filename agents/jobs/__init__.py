"""Jobs: a pipeline at work on items, with its budget, events and records."""
