"""The SQL screen: a prompt over the views, and the rows of the result."""
