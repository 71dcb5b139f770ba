"""Text to text: what surrounds an engine so that any text can be translated."""
