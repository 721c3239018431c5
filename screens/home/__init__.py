"""The first screen: what is in the workspace and what to do next."""
