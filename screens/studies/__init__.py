"""Studies: their list, how far one is, and the form of a new one; for coordinators."""
