"""Export: the rows of a workspace that formats write to files."""
