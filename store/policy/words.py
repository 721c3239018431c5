"""The words of an assignment's condition. They are read in this package alone, and written by studies."""

BLIND = "blind"
"""The word that hides the agents' and other raters' work from the rater."""
HIDDEN_MODELS = "hidden-models"
"""The word that hides the names of models from the rater."""
REVEALED = "revealed"
"""The word that shows the agents' and other raters' work to the rater."""
TESTS = "tests"
"""The word that shows the agents' test program and its results to the rater."""
OWN_TEST = "own-test"
"""The word that has the rater write a test program; it hides as `blind` does."""
CONDITION_WORDS = (BLIND, REVEALED, TESTS, OWN_TEST, HIDDEN_MODELS)
"""The words of conditions."""
