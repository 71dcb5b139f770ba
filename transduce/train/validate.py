"""How good a model is on text it has not seen: perplexity and BLEU, from fixed sentences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.batches import collate, plan_epoch
from transduce.loss import sequence_loss
from transduce.model import Cache, Memory, Transformer
from transduce.search import greedy
from transduce.store import Store
from transduce.tokens import Tokens
from transduce.train.processes import Processes

EXTRA_LENGTH = 50  # §6.1: the longest output is this much longer than its input


@dataclass(frozen=True)
class Scores:
    """Of the validation data; BLEU and exact match are None where nothing was translated."""

    nll: float  # a token, without smoothing
    tokens: int
    bleu: float | None
    exact_match: float | None
    sentences: int = 0  # that were translated

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.nll, 700))


@dataclass(frozen=True)
class Decoding:
    """The state of translating: what was read and what was written so far."""

    model: Transformer
    memory: Memory
    cache: Cache | None = None

    def select(self, rows: Int[Tensor, " kept"]) -> "Decoding":
        cache = self.cache.select(rows) if self.cache else None
        return Decoding(self.model, self.memory.select(rows), cache)


def decode_step(
    newest: Int[Tensor, " rows"], state: Decoding
) -> tuple[Float[Tensor, "rows vocabulary"], Decoding]:
    logits, cache = state.model.decode(newest[:, None], state.memory, state.cache)
    return logits[:, -1], Decoding(state.model, state.memory, cache)


@torch.inference_mode()
def validate(
    model: Transformer,
    store: Store,
    tokens: Tokens,
    sentences: int,
    processes: Processes,
    tokens_per_batch: int = 4096,
) -> Scores:
    """Scores the model; the processes share the perplexity, the first one translates."""
    model.eval()
    nll, count = 0.0, 0
    plan = plan_epoch(store.source_lengths, store.target_lengths, tokens_per_batch, 0, 0)
    for indices in plan[processes.rank :: processes.world]:
        batch = collate(store, indices).to(processes.device)
        states, _ = model.decode_states(batch.target_in, model.encode(batch.source))
        weight, bias = model.output.weight, model.output.bias
        loss = sequence_loss(states, batch.target_out, weight, bias, 0.0, model.config.pad_id)
        nll += float(loss.nll)
        count += loss.tokens
    nll, total = processes.sum([nll, float(count)])
    bleu = exact = None
    chosen = range(min(sentences, len(store)))
    if chosen and processes.first:
        outputs = translate_ids(model, [store.source(i).tolist() for i in chosen])
        found = [tokens.decode(ids) for ids in outputs]
        wanted = [tokens.decode(store.target(i).tolist()) for i in chosen]
        bleu = corpus_bleu(found, wanted)
        exact = sum(a == b for a, b in zip(found, wanted, strict=True)) / len(wanted)
    return Scores(nll / total, int(total), bleu, exact, len(chosen))


@torch.inference_mode()
def translate_ids(
    model: Transformer, sources: Sequence[Sequence[int]], rows: int = 64
) -> list[list[int]]:
    """The likeliest translation of each source, token by token; like lengths are done together."""
    config, device = model.config, model.output.weight.device
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    outputs: list[list[int]] = [[] for _ in sources]
    for start in range(0, len(order), rows):
        some = order[start : start + rows]
        ended = [[*sources[i], config.eos_id] for i in some]
        width = max(len(ids) for ids in ended)
        padded = [ids + [config.pad_id] * (width - len(ids)) for ids in ended]
        state = Decoding(model, model.encode(torch.tensor(padded, device=device)))
        begin = torch.full((len(some),), config.bos_id, device=device)
        limits = [len(sources[i]) + EXTRA_LENGTH for i in some]
        found = greedy(decode_step, state, begin, config.eos_id, limits)
        for i, ids in zip(some, found, strict=True):
            outputs[i] = ids
    return outputs


def corpus_bleu(found: Sequence[str], wanted: Sequence[str]) -> float:
    """sacreBLEU's BLEU, with its defaults."""
    from sacrebleu.metrics.bleu import BLEU

    return float(BLEU().corpus_score(list(found), [list(wanted)]).score)
