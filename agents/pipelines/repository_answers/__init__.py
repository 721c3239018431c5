"""Questions about repositories: models answer them, and a model judges the answers (CoReQA, III.C and IV)."""
