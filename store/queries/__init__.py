"""What screens, commands and reports ask of a workspace, as SQLAlchemy Core expressions."""
