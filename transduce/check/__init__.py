"""The preflight: what training on some text would do, without training."""
