"""Preflight: what training on some text would be like, before an hour is spent."""
