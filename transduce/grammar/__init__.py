"""The built-in corpus: English–German sentence pairs from a synchronous grammar, without end.

What `transduce train` learns from when it is given no text, and what most tests translate. Nothing
else in the package depends on how it works, so a reader of the translator may skip this folder.

    >>> from transduce.grammar import sentences
    >>> sentences("train", count=1, seed=0) == sentences("train", count=1, seed=0)
    True

To read it, in this order:

- `syntax`: what a sentence says, before it is put into words;
- `to_english`, `to_german`: the words, by the inflections of `english` and `german`;
- `lexicon`, and the words: `nouns`, `verbs`, `words`, `times`;
- random phrases: `noun_phrases`, `verb_phrases`, `clauses`, `descriptions`, `facts`;
- random sentences: `questions`, `combinations`, `relative_clauses`;
- `sampling`: which of them is drawn, and which split it belongs to.
"""

from transduce.grammar.sampling import Split, sentences

__all__ = ["Split", "sentences"]
