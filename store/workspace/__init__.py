"""The workspace file: its connection, write lane, schema, journal, recovery, copies and merges."""
