"""Judges: independent checks of our answers, written from the contracts without code of the product."""
