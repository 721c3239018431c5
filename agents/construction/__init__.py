"""Constructs completion tasks that need another file of their repository (CrossCodeEval, section 2)."""
