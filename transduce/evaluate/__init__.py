"""How good translations are: every metric from one decoding, each with its signature."""
