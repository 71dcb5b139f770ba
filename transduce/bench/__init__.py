"""Speed beside peers, measured in turns within one run so that a noisy machine is fair to all."""
