"""Language-model clients behind one protocol: what a pipeline asks, what a model answers, what it cost."""
