"""Evaluation: every metric from one decoding, each with its signature."""
