"""The tables of a workspace file, as SQLModel classes; store/workspace/migrations creates them."""
