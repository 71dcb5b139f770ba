"""The Transformer of "Attention Is All You Need", ready to use.

1. Translate, with the bundled English–German model, or with your own by
`Translator.load("RUN")`:

>>> from transduce import Translator
>>> translator = Translator.load()
>>> translator.translate("Where is the nearest station?")
'Wo ist der nächste Bahnhof?'
>>> translator.translate(["Good morning.", "How are you?"], beam=1)
['Guten Morgen!', 'Wie geht es Ihnen?']

`translator.results(texts)` adds scores, tokens, flags and alternatives.

2. Look inside: the attention weights of every layer and head, as arrays:

>>> attention = translator.attention("Good morning.").by_word()
>>> attention.target, attention.source
(('<s>', 'Guten', 'Morgen', '!'), ('Good', 'morning', '.', '</s>'))
>>> attention.cross[-1, 0].shape  # last layer, first head
(4, 4)

`attention(model, source, target)` is the same for a model of any kind.

3. Compute with a network, a trained or a new one:

>>> import torch
>>> from transduce import ModelConfig, Transformer, load
>>> model, tokenizer = load()
>>> bos, eos = model.config.bos_id, model.config.eos_id
>>> source = torch.tensor([[*tokenizer.encode("Good morning."), eos]])
>>> target = torch.tensor([[bos, *tokenizer.encode("Guten Morgen.")]])
>>> logits = model(source, target)  # [batch, target, vocabulary]
>>> base = Transformer(ModelConfig.base(vocab_size=37_000))

Training is a command: `transduce train RUN --train SOURCES TARGETS`.
"""

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transduce.attend.reader import attention
    from transduce.config import ModelConfig
    from transduce.model import Transformer
    from transduce.search import Search
    from transduce.translate.loading import load
    from transduce.translate.translator import Translator

    __version__: str

__all__ = [
    "ModelConfig",
    "Search",
    "Transformer",
    "Translator",
    "__version__",
    "attention",
    "load",
]

# Imported on first use: `transduce --help` need not wait for torch, nor translating have it.
_EXPORTS = {
    "ModelConfig": "transduce.config",
    "Search": "transduce.search",
    "Transformer": "transduce.model",
    "Translator": "transduce.translate.translator",
    "attention": "transduce.attend.reader",
    "load": "transduce.translate.loading",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("transduce")
    if name in _EXPORTS:
        from transduce.errors import optional

        with optional(name):
            return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'transduce' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What can be used here, for tab completion and `help`."""
    missing = set() if find_spec("torch") else {"Transformer"}
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))} - missing)
