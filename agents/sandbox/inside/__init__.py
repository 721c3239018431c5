"""The files that run inside a sandbox: standard library only, and nothing of the workbench but each other."""
