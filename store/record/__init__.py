"""The record: what raters judge and mark, and the rules by which records supersede each other."""
