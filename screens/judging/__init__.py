"""Components of screens that record judgments: keys, paint guard, reasons, drafts, undo."""
