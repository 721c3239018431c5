"""The file of a repository behind a piece of context."""
