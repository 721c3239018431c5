"""The queries of screens, commands and reports, as SQLAlchemy Core expressions."""
