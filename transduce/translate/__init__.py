"""Translation of text: reading lines, splitting, search, checks of the output."""
