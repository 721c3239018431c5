"""What is shown: the Textual app. Imports agents and store."""
