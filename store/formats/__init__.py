"""File formats: one file each, a reader, a writer or both, found through one registry."""
