"""Verdicts: waterfall, judges, sieve, scores, and the scheduling of a batch.

The folder's name is also a builtin's: import names from its modules, never the bare package.
"""
