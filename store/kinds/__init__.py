"""Task kinds: their items, questions, lists and searches."""
