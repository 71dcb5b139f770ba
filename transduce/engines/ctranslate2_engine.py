"""The fast engine: CTranslate2, with a vocabulary shortlist and the paper's length penalty."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2

from transduce.engines import Engine, Ids
from transduce.errors import InputError
from transduce.search import PAPER, Hypothesis, Search, length_penalty
from transduce.shortlist import Shortlist

PATIENCE = 1.25  # search goes on until beam × this many hypotheses ended


@dataclass(frozen=True)
class Setting:
    """How CTranslate2 runs on a machine."""

    compute_type: str = "int8"
    workers: int = 1
    threads: int = 1  # of each worker


@dataclass(frozen=True)
class Vocabularies:
    """What CTranslate2 calls the tokens: it is handed strings, not ids."""

    source: Sequence[str]
    target: Sequence[str]
    eos: str


class CTranslate2Engine:
    """Searches and scores with CTranslate2.

    The rows of a CTranslate2 batch do not touch each other, and the sentences of a batch have one
    and the same shortlist, so results are batch-invariant.
    """

    name = "ctranslate2"

    def __init__(
        self,
        directory: Path,
        vocabularies: Vocabularies,
        positions: int,
        shortlist: Shortlist | None,
        setting: Setting,
        reference: Callable[[], Engine],
    ) -> None:
        """`reference` gives the engine for what CTranslate2 cannot do: given prefixes."""
        self.vocabularies, self.positions = vocabularies, positions
        self.shortlist, self.setting, self.reference = shortlist, setting, reference
        self._ids = {token: i for i, token in enumerate(vocabularies.target)}
        self._translator = ctranslate2.Translator(
            str(directory),
            compute_type=setting.compute_type,
            inter_threads=setting.workers,
            intra_threads=setting.threads,
            max_queued_batches=-1,
        )

    def search(
        self,
        sources: Sequence[Ids],
        search: Search = PAPER,
        prefixes: Sequence[Ids] | None = None,
        batch_size: int = 64,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source; like shortlists and lengths are searched together."""
        if prefixes is not None:
            return self.reference().search(sources, search, prefixes, batch_size)
        self._check_length(max(map(len, sources), default=0) + search.extra_length)
        found: list[list[Hypothesis]] = [[] for _ in sources]
        alone: list[int] = []
        waiting = [
            (batch, self._start([sources[i] for i in batch], level, search))
            for level, batch in self._batches(sources, batch_size)
        ]
        for batch, results in waiting:
            limit = search.limit(max(len(sources[i]) for i in batch))
            for i, result in zip(batch, results, strict=True):
                own = search.limit(len(sources[i]))
                hypotheses = self._hypotheses(result.result(), search)
                if own < limit and any(len(h.tokens) >= own for h in hypotheses):
                    alone.append(i)  # a longer sentence's limit let it run past its own
                found[i] = hypotheses[: search.n_best]
        for i in alone:
            (result,) = self._start([sources[i]], self._level(sources[i]), search)
            found[i] = self._hypotheses(result.result(), search)[: search.n_best]
        return found

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[tuple[float, ...]]:
        """The log-probability of each target token, and of EOS after them; of all words."""
        longest = max(map(len, [*sources, *targets]), default=0)
        self._check_length(longest)
        results = self._translator.score_batch(
            [self._strings(source) for source in sources],
            [[self.vocabularies.target[i] for i in target] for target in targets],
            max_batch_size=batch_size,
            max_input_length=0,
        )
        return [tuple(result.log_probs) for result in results]

    def _start(self, sources: Sequence[Ids], level: int | None, search: Search) -> Any:
        """Hands a batch to the workers."""
        tokens = [self._strings(source) for source in sources]
        longest = max(range(len(tokens)), key=lambda i: len(tokens[i]))
        limit = len(tokens[longest])
        if level is not None:
            # CTranslate2 looks up the words that a source allows before it cuts the source to its
            # longest length: so the name of a level, put after the end, is read but not translated.
            tokens[longest] = [*tokens[longest], level_name(level)]
        greedy = search.beam == 1
        return self._translator.translate_batch(
            tokens,
            asynchronous=True,
            beam_size=search.beam,
            patience=1 if greedy else PATIENCE,
            num_hypotheses=1 if greedy else search.beam,
            length_penalty=_exponent(search),
            no_repeat_ngram_size=search.no_repeat,
            max_input_length=limit + 1,  # EOS is added
            min_decoding_length=0,
            max_decoding_length=search.limit(limit),
            use_vmap=level is not None,
            return_scores=True,
            return_end_token=True,
        )

    def _hypotheses(self, result: Any, search: Search) -> list[Hypothesis]:
        """What CTranslate2 found, ranked by our length penalty."""
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
        self, sources: Sequence[Ids], batch_size: int
    ) -> list[tuple[int | None, list[int]]]:
        """Indices that are searched together, and the level that they share; the largest first."""
        levels = [self._level(source) for source in sources]
        order = sorted(range(len(sources)), key=lambda i: (levels[i] or 0, len(sources[i])))
        batches: list[tuple[int | None, list[int]]] = []
        for i in order:
            if batches and batches[-1][0] == levels[i] and len(batches[-1][1]) < batch_size:
                batches[-1][1].append(i)
            else:
                batches.append((levels[i], [i]))
        return sorted(batches, key=lambda b: -len(b[1]) * len(sources[b[1][-1]]))

    def _level(self, source: Ids) -> int | None:
        if self.shortlist is None:
            return None
        level = self.shortlist.level(source)
        return level if level < len(self.shortlist.order) else None

    def _strings(self, source: Ids) -> list[str]:
        return [self.vocabularies.source[i] for i in source]

    def _check_length(self, length: int) -> None:
        if length >= self.positions:
            raise InputError(
                f"a sequence of {length} tokens is longer than the {self.positions} that the "
                "fast engine was made for: split it, or use --engine torch"
            )


def level_name(level: int) -> str:
    return f"<level-{level}>"


def write_levels(shortlist: Shortlist, target: Sequence[str], file: Path) -> None:
    """The levels of a shortlist as a vocabulary map of CTranslate2."""
    order = [target[i] for i in shortlist.order]
    with file.open("w", encoding="utf-8") as stream:
        for level in shortlist.levels():
            stream.write(f"{level_name(level)}\t{' '.join(order[:level])}\n")


def _exponent(search: Search) -> float:
    """CTranslate2 divides by n^this: it decides which of the hypotheses that ended are returned."""
    if search.beam == 1 or search.penalty == "none":
        return 0.0
    # ((5 + n)/6)^α grows like n^(αn/(n + 5)); of a sentence of 15 words or so
    return search.alpha * (0.75 if search.penalty == "gnmt" else 1)
