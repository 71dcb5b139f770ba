"""What happens inside a model for one sentence: attention, the search, equation 1."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from transduce.engines import Request
from transduce.engines.lattice import search_lattice
from transduce.engines.router import Router
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import InputError
from transduce.explain import Example, work_out
from transduce.model import Transformer, require_transformer
from transduce.model.heads import Head, without_heads
from transduce.search import PAPER
from transduce.serve.frames import Frame
from transduce.tokenizer import TokenizerLike
from transduce.translate.attention import attention_of, encode_source, word_starts
from transduce.translate.lines import clean
from transduce.translate.translator import Translator

RUNNERS_UP = 5
KINDS = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class Pair:
    """A network and the ids of a sentence and its translation, without special symbols."""

    model: Transformer
    tokenizer: TokenizerLike
    source: Sequence[int]
    target: Sequence[int]


def inspect(
    translator: Translator,
    what: str,
    text: str,
    translation: str | None,
    tokens: Sequence[int],
    prefix: Sequence[int],
    beam: int,
    alpha: float,
    heads_off: Sequence[dict[str, Any]],
    **cell: Any,
) -> Frame:
    """Answers "attention", "beam" or "explain"; `cell` names a head, and a query and a key."""
    model = require_transformer(torch_engine(translator).model, what)
    if heads_off:
        changed = without_heads(model, [Head(**one) for one in heads_off])
        model = require_transformer(changed, what)
    source = encode_source(translator.tokenizer, text, translator.max_length)
    _check_ids(translator, [*tokens, *prefix])
    search = replace(PAPER, beam=beam, alpha=alpha, n_best=beam)
    request = Request(source, search, tuple(prefix))
    if what == "beam":
        return beam_frame(translator, model, request)
    if tokens:
        target = list(tokens)
    elif translation is not None:
        (target,) = translator.tokenizer.encode_targets([clean(translation)])
    else:
        # not with the engine that translates: results with and without a head must be comparable
        ((best, *_),) = TorchEngine(model).search([request])
        target = list(best.tokens)
    if len(target) > translator.max_length:
        raise InputError(f"the translation has {len(target):,} tokens: give a shorter one")
    pair = Pair(model, translator.tokenizer, source, target)
    return explain_frame(pair, **cell) if what == "explain" else attention_frame(pair)


def torch_engine(translator: Translator) -> TorchEngine:
    """The torch engine of a translator's model; loaded when it is first needed."""
    engine = translator.engine
    assert isinstance(engine, Router | TorchEngine)
    return engine.torch_engine


def attention_frame(pair: Pair) -> Frame:
    """All weights as uint8, the source embeddings, and the tokens, words and steps as JSON."""
    attention = attention_of(pair.model, pair.tokenizer, pair.source, pair.target)
    blocks, kinds, offset = [], {}, 0
    for kind in KINDS:
        weights = getattr(attention, kind)
        blocks.append(np.rint(255 * weights).astype(np.uint8).tobytes())
        kinds[kind] = {"shape": list(weights.shape), "offset": offset}
        offset += len(blocks[-1])
    embedded = embeddings(pair)
    largest = float(np.abs(embedded).max())
    blocks.append(np.rint(128 + 127 * embedded / largest).astype(np.uint8).tobytes())
    fields = {
        "translation": pair.tokenizer.decode(pair.target),
        "source": _side(attention.source, pair.source, special=len(pair.source)),
        "target": _side(attention.target, pair.target, special=0),
        "kinds": kinds,
        "steps": steps(pair),
        "embedding": {"shape": list(embedded.shape), "offset": offset, "largest": largest},
        "model": {"d_model": pair.model.config.d_model, "positions": pair.model.config.positions},
    }
    return Frame(fields, b"".join(blocks))


@torch.inference_mode()
def embeddings(pair: Pair) -> np.ndarray:
    """§3.4: the source tokens, EOS last, embedded and scaled, without their positions."""
    layer = pair.model.source_embedding
    ids = torch.tensor([[*pair.source, pair.model.config.eos_id]])
    return (layer(ids)[0] - layer.encoding(0, ids.shape[1])).float().numpy()


@torch.inference_mode()
def steps(pair: Pair) -> list[dict[str, Any]]:
    """For each token of the translation, EOS last: its probability and the likeliest others."""
    config, vocabulary = pair.model.config, pair.tokenizer.target_vocabulary
    logits = pair.model(
        torch.tensor([[*pair.source, config.eos_id]]), torch.tensor([[config.bos_id, *pair.target]])
    )
    log_probs = logits[0].log_softmax(-1)
    top = log_probs.topk(min(RUNNERS_UP + 1, log_probs.shape[1]), dim=-1)
    found = []
    chosen = [*pair.target, config.eos_id]
    for i, (token, likeliest) in enumerate(zip(chosen, top.indices.tolist(), strict=True)):
        others = [other for other in likeliest if other != token][:RUNNERS_UP]
        found.append(
            {
                "id": token,
                "token": vocabulary[token],
                "log_prob": float(log_probs[i, token]),
                "runners_up": [
                    {"id": one, "token": vocabulary[one], "log_prob": float(log_probs[i, one])}
                    for one in others
                ],
            }
        )
    return found


def beam_frame(translator: Translator, model: Transformer, request: Request) -> Frame:
    """The lattice of a search, and its hypotheses."""
    hypotheses, nodes = search_lattice(TorchEngine(model), request)
    vocabulary = translator.tokenizer.target_vocabulary
    return Frame(
        {
            "beam": request.search.beam,
            "alpha": request.search.alpha,
            "source": [translator.tokenizer.vocabulary[i] for i in request.source],
            "hypotheses": [
                {
                    "translation": translator.tokenizer.decode(one.tokens),
                    "ids": list(one.tokens),
                    "log_prob": one.log_prob,
                    "score": one.score,
                    "ended": one.ended,
                }
                for one in hypotheses
            ],
            "nodes": [{**asdict(node), "text": vocabulary[node.token]} for node in nodes],
        }
    )


def explain_frame(pair: Pair, kind: str, layer: int, head: int, query: int, key: int) -> Frame:
    """Equation 1 for one query: its products with all keys, scores, weights and output."""
    config = pair.model.config
    source, target = [*pair.source, config.eos_id], [config.bos_id, *pair.target]
    example = Example(
        pair.model,
        [pair.tokenizer.vocabulary[i] for i in source],
        [pair.tokenizer.target_vocabulary[i] for i in target],
        torch.tensor([source]),
        torch.tensor([target]),
        list(pair.tokenizer.target_vocabulary),
    )
    worked = work_out(example, kind, layer, head)
    for name, number, count in (
        ("query", query, len(worked.queries)),
        ("key", key, len(worked.keys)),
    ):
        if not 0 <= number < count:
            raise InputError(f"{name} {number}: there are {count}, counted from 0")
    return Frame(
        {
            "title": worked.title,
            "attention": worked.attention,
            "d_k": worked.q.shape[1],
            "queries": worked.queries,
            "keys": worked.keys,
            "q": worked.q[query].tolist(),
            "k": worked.k[key].tolist(),
            "v": worked.v[key].tolist(),
            "products": None if worked.dots is None else worked.dots[query].tolist(),
            "scores": worked.scores[query].tolist(),
            "visible": worked.visible.expand_as(worked.scores)[query].tolist(),
            "weights": worked.weights[query].tolist(),
            "output": worked.output[query].tolist(),
        }
    )


def _side(tokens: Sequence[str], ids: Sequence[int], special: int) -> dict[str, Any]:
    """Tokens with the special symbol, ids without it, and where words begin."""
    return {"tokens": list(tokens), "ids": list(ids), "words": word_starts(tuple(tokens), special)}


def _check_ids(translator: Translator, ids: Sequence[int]) -> None:
    size = len(translator.tokenizer.target_vocabulary)
    for one in ids:
        if not 0 <= one < size:
            raise InputError(f"token {one}: the vocabulary has {size:,}, counted from 0")
    if len(ids) > 2 * translator.max_length:
        raise InputError(f"{len(ids):,} tokens are more than the model takes")
