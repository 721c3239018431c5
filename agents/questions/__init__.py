"""Questions about repositories: what their texts hold, and the context that models get (CoReQA, III.A)."""
