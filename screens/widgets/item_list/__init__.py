"""The list of items: the widget, its columns, and the rows that it has read."""
