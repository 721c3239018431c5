"""Repositories and issues of GitHub, from which questions about repositories are made (CoReQA, III.A)."""
