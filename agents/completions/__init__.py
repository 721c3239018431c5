"""Cross-file code completion (CrossCodeEval): retrieved context, prompts, and models' completions."""
