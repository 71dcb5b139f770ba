"""Reading and filtering parallel text."""
