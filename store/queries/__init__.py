"""What screens and commands read, a few rows at a time, for a scope: expressions of SQLAlchemy Core."""
