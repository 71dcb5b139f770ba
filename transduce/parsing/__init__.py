"""§6.3: constituency parsing: trees, EVALB, linearisation, the grammar constraint, the parser."""
