"""Queries of screens and commands, a few rows at a time, in SQLAlchemy Core; each takes a scope."""
