"""Word alignments from the decoder's attention over the source."""

from collections.abc import Sequence

import torch

from transduce.engines import Ids
from transduce.model import Network
from transduce.tokenizer import TokenizerLike


@torch.inference_mode()
def word_alignment(
    model: Network, tokenizer: TokenizerLike, source: Ids, target: Ids
) -> list[tuple[int, int]]:
    """For each target word, the source word with the largest cross-attention weight.

    Averaged over the heads of the last layer but one, whose weights follow alignments best;
    attention to EOS, where heads rest, is ignored.
    """
    config, device = model.config, model.device
    if not source or not target:
        return []
    ended = torch.tensor([[*source, config.eos_id]], device=device)
    begun = torch.tensor([[config.bos_id, *target]], device=device)
    layers = model.attention_maps(ended, begun).cross
    weights = layers[max(len(layers) - 2, 0)][0].mean(0)[: len(target), : len(source)]
    sources = torch.tensor(words(source, tokenizer.vocabulary), device=device)
    targets = torch.tensor(words(target, tokenizer.target_vocabulary), device=device)
    by_word = torch.zeros(int(targets.max()) + 1, int(sources.max()) + 1, device=device)
    by_word.index_put_((targets[:, None], sources[None, :]), weights, accumulate=True)
    return sorted((int(i), j) for j, i in enumerate(by_word.argmax(dim=1).tolist()))


def words(ids: Ids, vocabulary: Sequence[str]) -> list[int]:
    """The number of the word that each token belongs to; a word begins with a space.

    >>> words([1, 2, 0, 1], ["og", "▁d", "o"])
    [0, 0, 0, 1]
    """
    numbers, number = [], 0
    for k, i in enumerate(ids):
        number += k > 0 and vocabulary[i].startswith("▁") and vocabulary[ids[k - 1]] != "▁"
        numbers.append(int(number))
    return numbers
