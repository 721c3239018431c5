"""Repositories on disk: their folders, files and commits."""
