"""Files read as records, and records as columns; imports read them, and exports that give a file back."""
