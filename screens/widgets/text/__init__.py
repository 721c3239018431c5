"""Texts of any size and content: shown harmlessly, found in, selected, cited."""
