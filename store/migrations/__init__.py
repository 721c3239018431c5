"""Numbered SQL files that bring a workspace file to the newest schema."""
