"""The flags of a translation, and what each means."""

# in the order in which they appear; docs/output.md and model cards explain them in these words
FLAGS = {
    "empty": "the model wrote nothing",
    "repetition": "a phrase is repeated again and again, and is not in the source",
    "copy": "the source was copied instead of translated",
    "length": "it is much longer or shorter than its source",
    "missing": "a number, time, address or the like of the source was lost",
    "cut": "it ended at the length limit, before the model had finished",
    "repaired": "these faults were found, and a second search gave a translation without them",
    "inserted": "what was missing, or a name, was copied into the translation from the source",
    "language": "the source does not look like the language that the model translates",
    "low-score": "the model is unusually unsure of it, for its length",
    "capitals": "the source was in capitals, and was translated in ordinary case",
    "split": "a sentence was translated in pieces: it was too long, or has direct speech",
    "no-text": 'a JSON object without a "text" to translate',
}
