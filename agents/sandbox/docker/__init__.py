"""Test programs in containers of a Docker Engine, or of another that speaks its API."""
