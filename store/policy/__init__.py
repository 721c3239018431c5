"""Who may see what: viewers, what is asked for, conditions on rows, the one refusal. Nothing else decides."""
