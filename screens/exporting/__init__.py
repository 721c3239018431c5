"""The form in which an export is chosen, counted before it is written, and written."""
