"""Judging models: which of two candidates is better, asked in both orders."""
