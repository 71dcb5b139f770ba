"""§3: the network."""

from transduce.model.transformer import AttentionMaps, Cache, Memory, Transformer, count_parameters

__all__ = ["AttentionMaps", "Cache", "Memory", "Transformer", "count_parameters"]
