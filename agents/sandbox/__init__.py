"""Sandboxes for test programs, behind one protocol, found by name through `registry`."""
