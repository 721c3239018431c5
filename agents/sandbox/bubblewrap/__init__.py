"""Test programs in namespaces of Linux, made with bubblewrap."""
