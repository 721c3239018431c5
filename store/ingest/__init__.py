"""Import: files are read, their records staged, resolved against the workspace, and published."""
