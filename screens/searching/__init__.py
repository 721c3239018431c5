"""The search for functions of a repository."""
