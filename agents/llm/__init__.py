"""Language-model clients behind one protocol: requests, replies and their cost."""
