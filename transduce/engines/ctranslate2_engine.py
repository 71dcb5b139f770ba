"""The fast engine: CTranslate2, with a vocabulary shortlist and the paper's length penalty."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from jaxtyping import Float

from transduce.config import ModelConfig
from transduce.engines import Ids, Request, by_search
from transduce.errors import InputError
from transduce.machine import cores
from transduce.search import PAPER, Hypothesis, Sampling, Search, length_penalty
from transduce.shortlist import Shortlist
from transduce.tokenizer import TokenizerLike

PATIENCE = 1.25  # a search stops when beam × this many hypotheses have ended


@dataclass(frozen=True)
class Vocabularies:
    """CTranslate2's names for the tokens: its API takes strings, not ids."""

    source: Sequence[str]
    target: Sequence[str]
    eos: str

    @classmethod
    def of(cls, tokenizer: TokenizerLike, config: ModelConfig) -> "Vocabularies":
        """Distinct strings without spaces; a network may have a few more rows than tokens."""
        source, target = (
            [
                f"<{i}>" if not token or any(c.isspace() for c in token) else token
                for i, token in enumerate([*vocabulary, *[""] * (rows - len(vocabulary))])
            ]
            for vocabulary, rows in (
                (tokenizer.vocabulary, config.vocab_size),
                (tokenizer.target_vocabulary, config.decoder_vocab_size),
            )
        )
        return cls(source, target, target[config.eos_id])


class CTranslate2Engine:
    """Searches and scores with CTranslate2; results are batch-invariant.

    Integer products are exact, but attention is computed in float32, whose rounding depends on the
    padded length. So only sentences of the same length and the same shortlist share a batch. With
    `pad_to` above 1, lengths are rounded up to a multiple of it, also that of a sentence alone:
    small batches then hold more sentences, while a single one takes a little longer.
    """

    name = "ctranslate2"
    pad_to = 1  # tokens
    largest_shortlist = 1.0  # of the vocabulary; sentences that need more have all of it

    def __init__(
        self,
        directory: Path,
        vocabularies: Vocabularies,
        longest: int,
        shortlist: Shortlist | None,
        compute: str = "int8",
        device: str = "cpu",
    ) -> None:
        """`longest` is the maximum length that the model was converted for, in tokens."""
        self.directory, self.vocabularies, self.longest = directory, vocabularies, longest
        self.shortlist, self.compute, self.device = shortlist, compute, device
        self._ids = {token: i for i, token in enumerate(vocabularies.target)}
        # CTranslate2 changes the number of OpenMP threads of the calling thread, so a temporary
        # thread opens it. One worker per core is fastest for batches and for single lines.
        with ThreadPoolExecutor(1) as pool:
            workers = cores() if device == "cpu" else 1
            self._translator = pool.submit(self._open, workers).result()

    def unsupported(self, request: Request) -> str | None:
        """Why CTranslate2 cannot serve a request; None if it can."""
        if request.prefix or request.constraint:
            return "CTranslate2 does not decode under constraints"
        length = len(request.source) + request.search.extra_length
        return self.too_long(length)

    def too_long(self, length: int) -> str | None:
        """Why a sequence of this length cannot be run; None if it can."""
        if length < self.longest:
            return None
        return f"a sequence of {length} tokens is longer than the model was converted for"

    def search(self, requests: Sequence[Request], batch_size: int = 64) -> list[list[Hypothesis]]:
        """The n-best hypotheses of each request."""
        for request in requests:
            if reason := self.unsupported(request):
                raise InputError(f"{reason}: use --engine torch")
        found: list[list[Hypothesis]] = [[] for _ in requests]
        sources = [request.source for request in requests]
        for search, group in by_search(requests).items():
            if search.sampling:
                for i in group:
                    found[i] = self._sample(requests[i], search.sampling)
                continue
            self._search(sources, group, search, batch_size, found)
        return found

    def _sample(self, request: Request, sampling: Sampling) -> list[Hypothesis]:
        """Samples from the whole vocabulary. CTranslate2 seeds a worker when it starts, so each
        sample has a worker of its own, which makes it batch-invariant.
        """
        ctranslate2.set_random_seed(request.seed)
        translator = self._open(1)
        greedy = sampling.temperature == 0
        (result,) = translator.translate_batch(
            [self._strings(request.source)],
            beam_size=1,
            sampling_topk=1 if greedy else sampling.top_k or 0,
            sampling_topp=sampling.top_p,
            sampling_temperature=sampling.temperature or 1.0,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=request.search.limit(len(request.source)),
            return_scores=True,
            return_end_token=True,
        )
        return self._hypotheses(result, request.search)

    def _open(self, workers: int) -> Any:
        return ctranslate2.Translator(
            str(self.directory),
            device=self.device,
            compute_type=self.compute,
            inter_threads=workers,
            intra_threads=1,
            max_queued_batches=-1,
        )

    def _search(
        self,
        sources: Sequence[Ids],
        group: Sequence[int],
        search: Search,
        batch_size: int,
        found: list[list[Hypothesis]],
    ) -> None:
        waiting = [
            (batch, self._start([sources[i] for i in batch], size, search))
            for size, batch in self._batches(sources, group, batch_size)
        ]
        for batch, results in waiting:
            for i, result in zip(batch, results, strict=True):
                found[i] = self._hypotheses(result.result(), search)[: search.n_best]

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[tuple[float, ...]]:
        """The log-probability of each target token, and of EOS, over the whole vocabulary."""
        if reason := self.too_long(max(map(len, [*sources, *targets]), default=0)):
            raise InputError(f"{reason}: use --engine torch")
        results = self._translator.score_batch(
            [self._strings(source) for source in sources],
            [[self.vocabularies.target[i] for i in target] for target in targets],
            max_batch_size=batch_size,
            max_input_length=0,
        )
        return [tuple(result.log_probs) for result in results]

    def alignment_weights(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[Float[np.ndarray, "target source"]]:
        """How much each target token attends to each source token; the targets are forced.

        Only sources of the same length share a batch, so that none is padded.
        """
        sizes = [
            (len(source), len(target)) for source, target in zip(sources, targets, strict=True)
        ]
        found = [np.zeros((target, source), np.float32) for source, target in sizes]
        alike: dict[int, list[int]] = {}
        for i in sorted(range(len(sizes)), key=lambda i: sizes[i][1]):
            if all(sizes[i]):
                alike.setdefault(sizes[i][0], []).append(i)
        batches = [
            some[start : start + batch_size]
            for some in alike.values()
            for start in range(0, len(some), batch_size)
        ]
        waiting = [
            self._translator.translate_batch(
                [self._strings(sources[i]) for i in batch],
                [[self.vocabularies.target[k] for k in targets[i]] for i in batch],
                asynchronous=True,
                beam_size=1,
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=max(sizes[i][1] for i in batch),
                return_attention=True,
            )
            for batch in batches
        ]
        for batch, results in zip(batches, waiting, strict=True):
            for i, result in zip(batch, results, strict=True):
                source, target = sizes[i]
                weights = np.array(result.result().attention[0], np.float32)
                found[i] = weights[:target, :source]
        return found

    def _start(self, sources: Sequence[Ids], size: int | None, search: Search) -> Any:
        """Queues a batch for the workers."""
        tokens = [self._strings(source) for source in sources]
        length = self._padded(len(tokens[0]))
        longest = max(range(len(tokens)), key=lambda i: len(tokens[i]))
        if len(tokens[longest]) < length:  # a source of this length makes CTranslate2 pad to it
            longest = len(tokens)
            tokens.append([self.vocabularies.eos] * length)
        if size is not None:
            # CTranslate2 looks source tokens up in its vocabulary map before it truncates the
            # source, so the name of a shortlist after the end is looked up but not translated.
            tokens[longest] = [*tokens[longest], shortlist_name(size)]
        greedy = search.beam == 1
        return self._translator.translate_batch(
            tokens,
            asynchronous=True,
            beam_size=search.beam,
            patience=1 if greedy else PATIENCE,
            num_hypotheses=1 if greedy else search.beam,
            length_penalty=_exponent(search),
            no_repeat_ngram_size=search.no_repeat,
            max_input_length=length + 1,  # EOS is added
            min_decoding_length=0,
            max_decoding_length=search.limit(length),
            use_vmap=size is not None,
            return_scores=True,
            return_end_token=True,
        )[: len(sources)]

    def _padded(self, length: int) -> int:
        """The length that a source is padded to, wherever the model has as many positions."""
        rounded = -(-length // self.pad_to) * self.pad_to
        return rounded if rounded + PAPER.extra_length < self.longest else length

    def _hypotheses(self, result: Any, search: Search) -> list[Hypothesis]:
        """CTranslate2's hypotheses, reranked with our length penalty."""
        hypotheses = []
        exponent = _exponent(search)
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            length = len(tokens)
            ended = bool(tokens) and tokens[-1] == self.vocabularies.eos
            log_prob = score * length**exponent
            ids = tuple(self._ids[token] for token in (tokens[:-1] if ended else tokens))
            penalty = length_penalty(max(length, 1), search)
            hypotheses.append(Hypothesis(ids, log_prob, log_prob / penalty, ended))
        return sorted(hypotheses, key=lambda h: (not h.ended, -h.score))

    def _batches(
        self, sources: Sequence[Ids], group: Sequence[int], batch_size: int
    ) -> list[tuple[int | None, list[int]]]:
        """Batches of indices of equal padded length and shortlist size; the largest first."""
        alike: dict[tuple[int | None, int], list[int]] = {}
        for i in group:
            length = self._padded(len(sources[i]))
            alike.setdefault((self._shortlist_size(sources[i]), length), []).append(i)
        batches = [
            (size, some[start : start + batch_size])
            for (size, _), some in alike.items()
            for start in range(0, len(some), batch_size)
        ]
        return sorted(batches, key=lambda b: -len(b[1]) * len(sources[b[1][0]]))

    def _shortlist_size(self, source: Ids) -> int | None:
        """The size of the shortlist of a sentence; None: the whole vocabulary."""
        if self.shortlist is None:
            return None
        size = self.shortlist.size(source)
        return size if size < self.largest_shortlist * len(self.shortlist.order) else None

    def _strings(self, source: Ids) -> list[str]:
        return [self.vocabularies.source[i] for i in source]


def shortlist_name(size: int) -> str:
    return f"<level-{size}>"


def write_vocabulary_map(shortlist: Shortlist, target: Sequence[str], file: Path) -> None:
    """Writes CTranslate2's vocabulary map, with an entry for every shortlist size."""
    order = [target[i] for i in shortlist.order]
    with file.open("w", encoding="utf-8") as stream:
        for size in shortlist.sizes():
            stream.write(f"{shortlist_name(size)}\t{' '.join(order[:size])}\n")


def _exponent(search: Search) -> float:
    """The exponent of CTranslate2's own length penalty n^x, for choosing what it returns."""
    if search.beam == 1 or search.penalty == "none":
        return 0.0
    # ((5 + n)/6)^α grows like n^(αn/(n + 5)), here with n = 15
    return search.alpha * (0.75 if search.penalty == "gnmt" else 1)
