"""Pipelines: how agents work on the items of a task kind."""
