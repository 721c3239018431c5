"""What reports, exports and splits read: all labels, texts and times, as arrays where they are many."""
