"""The tables of a workspace file, as SQLModel classes. The files in store/migrations create them."""
