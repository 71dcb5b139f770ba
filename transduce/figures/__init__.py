"""The paper's figures, drawn from real objects."""
