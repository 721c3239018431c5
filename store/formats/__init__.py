"""File formats: what their records hold, how they are detected and written. One file a format."""
