"""How good a model is on text it has not seen: perplexity and BLEU, from fixed sentences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from transduce.batches import collate, plan_epoch
from transduce.engines.torch_engine import TorchEngine
from transduce.model import Network
from transduce.search import GREEDY, Search
from transduce.store import Store
from transduce.tokenizer import Tokenizer
from transduce.train.processes import Processes
from transduce.translate.translator import Translator


@dataclass(frozen=True)
class ValidationScores:
    """Of the validation data; BLEU and exact match are None where nothing was translated."""

    nll: float  # a token, without smoothing
    tokens: int
    bleu: float | None
    exact_match: float | None
    sentences: int = 0  # that were translated
    beam: int = 1

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.nll, 700))


@torch.inference_mode()
def validate(
    model: Network,
    store: Store,
    tokens: Tokenizer,
    sentences: int,
    processes: Processes,
    search: Search = GREEDY,
    tokens_per_batch: int = 4096,
) -> ValidationScores:
    """Scores the model; the processes share the perplexity, the first one translates.

    The first `sentences` are translated as `transduce translate` does it, so that the BLEU here is
    the one that `transduce evaluate` gives for them.
    """
    model.eval()
    nll, count = 0.0, 0
    plan = plan_epoch(store.source_lengths, store.target_lengths, tokens_per_batch, 0, 0)
    for indices in plan[processes.rank :: processes.world]:
        batch = collate(store, indices).to(processes.device)
        loss = model.loss(batch, smoothing=0.0)
        nll += float(loss.nll)
        count += loss.tokens
    nll, total = processes.sum([nll, float(count)])
    bleu = exact = None
    chosen = range(min(sentences, len(store)))
    if chosen and processes.first:
        sources = [tokens.decode(store.source(i)) for i in chosen]
        longest = int(store.source_lengths.max())
        found = Translator(tokens, TorchEngine(model), longest).translate(sources, search)
        wanted = [tokens.decode(store.target(i)) for i in chosen]
        bleu = corpus_bleu(found, wanted)
        exact = sum(a == b for a, b in zip(found, wanted, strict=True)) / len(wanted)
    return ValidationScores(nll / total, int(total), bleu, exact, len(chosen), search.beam)


def corpus_bleu(found: Sequence[str], wanted: Sequence[str]) -> float:
    """sacreBLEU's BLEU, with its defaults."""
    from sacrebleu.metrics.bleu import BLEU

    return float(BLEU().corpus_score(list(found), [list(wanted)]).score)
