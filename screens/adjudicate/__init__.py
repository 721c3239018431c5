"""Adjudication: what raters disagree about, one item after another, and the rulings on it."""
