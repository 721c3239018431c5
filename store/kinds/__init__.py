"""Task kinds: what an item of each kind is, what is asked of it, and how it is listed and searched."""
