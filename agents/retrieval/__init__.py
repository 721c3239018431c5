"""Finds codes for queries: retrievers, candidate pairs, and what they are worth on a benchmark."""
