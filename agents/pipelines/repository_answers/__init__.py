"""Questions about repositories: models write and answer them, and judge the answers (CoReQA, III and IV)."""
