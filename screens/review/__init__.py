"""One item, the claim beside the code, judged by single keys."""
