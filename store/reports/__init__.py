"""Reports as values: what they say and draw, and their forms for papers and programs."""
