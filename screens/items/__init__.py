"""The screen parts of the task kinds, and the texts that their panes share."""
