"""Fine-tuning of encoders on labelled pairs, and what it is worth (CoSQA+, section IV.A, RQ1)."""
