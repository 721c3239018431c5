"""Studies: protocol, design, assignments, sessions."""
