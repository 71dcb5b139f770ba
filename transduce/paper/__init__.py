"""The paper's tables, regenerated."""
