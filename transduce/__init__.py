"""The Transformer of "Attention Is All You Need", ready to use."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transduce.config import ModelConfig
    from transduce.model import Transformer
    from transduce.translate.translator import Translator

__all__ = ["ModelConfig", "Transformer", "Translator"]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that `transduce --help` need not wait for torch.
    if name == "ModelConfig":
        from transduce.config import ModelConfig

        return ModelConfig
    if name == "Transformer":
        from transduce.model import Transformer

        return Transformer
    if name == "Translator":
        from transduce.translate.translator import Translator

        return Translator
    raise AttributeError(f"module 'transduce' has no attribute {name!r}")
