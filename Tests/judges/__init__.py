"""Judges: what our answers are held against, written from the contracts and sharing no code with the product."""
