"""The built-in corpus: a synchronous grammar of English and German."""
