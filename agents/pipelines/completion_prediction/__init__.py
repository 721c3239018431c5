"""The agents part of the task kind `completion`: a model completes the code at the cursor (CrossCodeEval)."""
