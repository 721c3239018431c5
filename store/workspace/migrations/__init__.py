"""Numbered SQL files that bring a workspace file to the newest schema, all of them in one transaction.

None makes an index, other than those of keys: `0002_no_indexes.sql` says why.
"""
