"""Evaluation: all metrics from one decoding, with their signatures."""
