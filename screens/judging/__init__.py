"""What records judgments on a screen: keys, the guard of what was painted, reasons, drafts, undo."""
