"""All items, filtered, sorted and opened."""
