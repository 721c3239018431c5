"""File formats: what their records hold, how they are told apart, how they are written. One file a format."""
