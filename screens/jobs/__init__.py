"""The agents at work, seen and steered."""
