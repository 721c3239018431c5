"""Reports on the work of agents, and on the progress of those who check it."""
