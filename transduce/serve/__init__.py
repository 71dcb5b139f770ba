"""The HTTP server: LibreTranslate's protocol, dynamic batching, one engine process per model."""
