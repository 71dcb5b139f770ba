"""The Transformer of "Attention Is All You Need", ready to use.

>>> from transduce import Translator
>>> Translator.load().translate(["Where is the nearest station?"])  # doctest: +SKIP
['Wo ist der nächste Bahnhof?']
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transduce.config import ModelConfig
    from transduce.model import Transformer
    from transduce.translate.translator import Translator

    __version__: str

__all__ = ["ModelConfig", "Transformer", "Translator", "__version__"]

# Imported on first use: `transduce --help` need not wait for torch, nor translating have it.
_EXPORTS = {
    "ModelConfig": "transduce.config",
    "Transformer": "transduce.model",
    "Translator": "transduce.translate.translator",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("transduce")
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'transduce' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
