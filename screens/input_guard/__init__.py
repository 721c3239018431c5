"""Keeps input that is no key press of a person away from the screens."""
