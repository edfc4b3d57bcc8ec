"""Mutation of Swift sources: small wrong changes of security-critical files, with each of which a test must fail.

All mutants are compiled in one build: each place that can be changed calls a function that has the original and its
changes, and the environment selects one of them. `scripts/mutate` runs it.
"""
