"""Search of a repository's functions and classes by a question, and how well it finds them."""
