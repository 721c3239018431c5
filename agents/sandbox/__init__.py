"""Where test programs run: sandboxes behind one protocol, found by name through `registry`."""
