"""§3: networks. The rest of the package uses only the interface `Network`."""

from transduce.config import ModelConfig
from transduce.errors import ModelError
from transduce.model.convolutional import ConvolutionalNetwork
from transduce.model.language_model import LanguageModel
from transduce.model.network import AttentionMaps, Network, count_parameters
from transduce.model.recurrent import RecurrentNetwork
from transduce.model.transformer import Cache, Memory, Transformer
from transduce.shapes import check_memory

__all__ = [
    "AttentionMaps",
    "Cache",
    "ConvolutionalNetwork",
    "LanguageModel",
    "Memory",
    "Network",
    "RecurrentNetwork",
    "Transformer",
    "build_network",
    "count_parameters",
    "require_transformer",
]

KINDS: dict[str, type[Transformer | RecurrentNetwork | ConvolutionalNetwork | LanguageModel]] = {
    "transformer": Transformer,
    "recurrent": RecurrentNetwork,
    "convolutional": ConvolutionalNetwork,
    "lm": LanguageModel,
}


def build_network(config: ModelConfig) -> Network:
    """A network of the kind `config.kind`, with newly initialised weights."""
    check_memory(config)
    return KINDS[config.kind](config)


def require_transformer(network: Network, purpose: str) -> Transformer:
    """The network, if it is a Transformer; raises ModelError if not."""
    if isinstance(network, Transformer):
        return network
    raise ModelError(f"{purpose} needs a Transformer: this model's kind is {network.config.kind}")
