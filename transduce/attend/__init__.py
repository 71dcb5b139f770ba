"""Attention weights of a sentence, and what each head does, as arrays; `figures` draws them."""
