"""Splits: named parts of the ground truth that share no query, code or repository."""
