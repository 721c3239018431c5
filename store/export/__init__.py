"""Export: what is read of a workspace to be written to files."""
