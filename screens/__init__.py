"""The Textual app and its screens. Imports agents and store."""
