"""The splits of the ground truth: the list with their figures, and the form of a new one."""
