"""What is kept: the workspace file, its record, its queries, measures and formats. Imports nothing above."""
