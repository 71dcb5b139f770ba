"""Parallel text: where sentence pairs come from."""
