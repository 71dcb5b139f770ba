"""The translator: texts to texts, batch-invariant."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, overload

from transduce.directory import ModelDirectory
from transduce.engines import AligningEngine, Engine, Ids, Request
from transduce.engines.router import Router, open_engine, torch_device
from transduce.errors import optional
from transduce.log import Log, silent
from transduce.model_names import model_path
from transduce.search import Hypothesis, Penalty, Search
from transduce.tokenizer import TokenizerLike
from transduce.translate.alignment import align_units
from transduce.translate.attention import Attention, attention_of, encode_source
from transduce.translate.guards import flags_of, sureness
from transduce.translate.join import Found, Translation, join_units
from transduce.translate.language import other_language
from transduce.translate.lines import chunks, clean, listed
from transduce.translate.options import DEFAULTS, TranslateOptions, with_changes
from transduce.translate.plan import Plan, Unit, plan_texts
from transduce.translate.reranking import all_candidates, check_reverse, rerank
from transduce.translate.restore import SecondSearch, restore
from transduce.translate.traits import UNKNOWN, Traits

if TYPE_CHECKING:
    from transduce.model import Network

MAX_LENGTH = 256  # source tokens, if the model directory does not specify it
LONGEST = 4096  # tokens per side for scoring: memory grows with the square of the length
REPAIR_BEAM = 8  # minimum beam of a retry
REPAIR_NO_REPEAT = 3
NEARLY = 0.3  # score: the most that a hypothesis that keeps a number may be worse
CHUNK = 2048  # lines per call of the engine


class Translator:
    """Translates texts in three steps: plan, search and join.

    Calls from several threads at once are safe.

    >>> Translator.load("RUN/model").translate(["A dog runs on the beach."])  # doctest: +SKIP
    ['Ein Hund läuft am Strand.']
    """

    def __init__(
        self,
        tokenizer: TokenizerLike,
        engine: Engine,
        max_length: int = MAX_LENGTH,
        longest: int = LONGEST,
        traits: Traits = UNKNOWN,
        fingerprint: str = "",
        reverse: "Translator | None" = None,
    ) -> None:
        """Sources over `max_length` tokens are split; pairs over `longest` are not scored.

        `fingerprint` is the checksum of the weights. `reverse` translates back: the candidates
        of a search are ranked by both.
        """
        self.tokenizer, self.engine = tokenizer, engine
        self.max_length, self.longest = min(max_length, longest), longest
        self.traits, self.fingerprint, self.reverse = traits, fingerprint, reverse
        if reverse:
            check_reverse(traits, reverse.traits)
            self.fingerprint += f" and, reverse, {reverse.fingerprint}"

    @classmethod
    def load(
        cls,
        model: Path | str | None = None,
        *,
        engine: str = "auto",
        device: str = "auto",
        compute: str = "auto",
        reverse: Path | str | None = None,
        log: Log = silent,
    ) -> "Translator":
        """The translator of a model directory, of a run, or a bundled one, by default "en-de".

        `engine` is "auto", "ctranslate2" or "torch"; `device` "auto", "cpu" or "cuda"; `compute`
        "auto", "int8", "float16" or "float32". `reverse` names a model that translates back, such
        as "de-en": translations are chosen by both models, which is better and slower.
        """
        runs = {"engine": engine, "device": device, "compute": compute}
        directory = ModelDirectory.open(model_path(model, log=log))
        directory.require_task("translation")
        config = directory.config
        return cls(
            directory.tokenizer,
            open_engine(directory, **runs, log=log),
            directory.description.max_length,
            config.max_positions - 1 if config.positions == "learned" else LONGEST,
            Traits.of(directory.description),
            directory.fingerprint,
            None if reverse is None else cls.load(reverse, **runs, log=log),
        )

    @classmethod
    def ensemble(
        cls,
        models: Sequence[Path | str],
        *,
        device: str = "auto",
        reverse: Path | str | None = None,
        log: Log = silent,
    ) -> "Translator":
        """Several models whose probabilities are averaged, by torch; they share a vocabulary."""
        from transduce.engines.ensemble import Ensemble, check_same_vocabulary
        from transduce.engines.torch_engine import TorchEngine

        directories = [ModelDirectory.open(model_path(model, log=log)) for model in models]
        check_same_vocabulary(directories)
        networks = [directory.network(torch_device(device)) for directory in directories]
        learned = [d.config.max_positions for d in directories if d.config.positions == "learned"]
        return cls(
            directories[0].tokenizer,
            TorchEngine(Ensemble(networks)),
            min(directory.description.max_length for directory in directories),
            min([*learned, LONGEST + 1]) - 1,
            Traits.of(directories[0].description),
            " + ".join(directory.fingerprint for directory in directories),
            None if reverse is None else cls.load(reverse, device=device, log=log),
        )

    def __repr__(self) -> str:
        return f"Translator({self.engine!r})"

    @overload
    def translate(  # type: ignore[overload-overlap]  # a str is a sequence of str
        self,
        texts: str,
        options: TranslateOptions = ...,
        *,
        beam: int | None = ...,
        alpha: float | None = ...,
        penalty: Penalty | None = ...,
        prefix: str | None = ...,
        batch_size: int | None = ...,
    ) -> str: ...

    @overload
    def translate(
        self,
        texts: Iterable[str],
        options: TranslateOptions = ...,
        *,
        beam: int | None = ...,
        alpha: float | None = ...,
        penalty: Penalty | None = ...,
        prefix: str | None = ...,
        batch_size: int | None = ...,
    ) -> list[str]: ...

    def translate(
        self,
        texts: str | Iterable[str],
        options: TranslateOptions = DEFAULTS,
        *,
        beam: int | None = None,
        alpha: float | None = None,
        penalty: Penalty | None = None,
        prefix: str | None = None,
        batch_size: int | None = None,
    ) -> str | list[str]:
        """The translation of one text, or a list of those of several; of a blank text it is "".

        Keywords change `options`, whose defaults are the paper's search: `beam` 4 (1 is greedy),
        `alpha` 0.6 and `penalty` "gnmt" for the length penalty. Every translation begins with
        `prefix`. `batch_size`, 64 sentences, changes memory and speed only.
        """
        options = with_changes(
            options, beam=beam, alpha=alpha, penalty=penalty, prefix=prefix, batch_size=batch_size
        )
        found = [result.translation for result in self.results(texts, options)]
        return found[0] if isinstance(texts, str) else found

    def results(
        self,
        texts: str | Iterable[str],
        options: TranslateOptions = DEFAULTS,
        *,
        beam: int | None = None,
        alpha: float | None = None,
        penalty: Penalty | None = None,
        n_best: int | None = None,
        prefix: str | None = None,
        scores: bool | None = None,
        alignments: bool | None = None,
        batch_size: int | None = None,
    ) -> list[Translation]:
        """The translation of each text with score, tokens, flags and alternatives.

        Keywords are as for `translate`; `n_best` gives as many alternatives, `scores` exact
        log-probabilities of every token, and `alignments` word alignments. The list
        becomes a table by `pandas.DataFrame(results)`.
        """
        options = with_changes(
            options,
            beam=beam,
            alpha=alpha,
            penalty=penalty,
            n_best=n_best,
            prefix=prefix,
            scores=scores,
            alignments=alignments,
            batch_size=batch_size,
        )
        plans = self.plan(listed(texts), options)
        return self.join(plans, self.search(plans, options), options)

    def attention(self, text: str, target: str | None = None) -> Attention:
        """The words and the weights of every head for a text and its translation.

        `target` is a translation to read instead of the model's own. This needs torch.
        """
        source = encode_source(self.tokenizer, text, self.max_length)
        with optional("attention"):
            network = self._network
        if target is None:
            ((best, *_),) = self.engine.search([Request(source)])
            return attention_of(network, self.tokenizer, source, best.tokens)
        (written,) = self.tokenizer.encode_targets([clean(target)])
        return attention_of(network, self.tokenizer, source, written)

    def stream(
        self, texts: Iterable[str], options: TranslateOptions = DEFAULTS, chunk: int = CHUNK
    ) -> Iterator[Translation]:
        """Like `results` for any number of texts, with only `chunk` of them in memory."""
        for some in chunks(texts, chunk):
            yield from self.results(some, options)

    def plan(self, texts: Sequence[str], options: TranslateOptions = DEFAULTS) -> list[Plan]:
        """Divides each text into units: sentences or the whole text, or pieces that fit."""
        single = self.traits.single_sentences
        return plan_texts(texts, self.tokenizer, self.max_length, options, single)

    def search(
        self, plans: Iterable[Plan], options: TranslateOptions = DEFAULTS
    ) -> dict[Unit, Found]:
        """Translates each unit; units whose translation fails the checks are searched again."""
        units = list(dict.fromkeys(unit for plan in plans for unit, _ in plan.parts))
        found = dict(zip(units, self._search(units, options.search, options), strict=True))
        self._repair(found, options)
        self._insert(found, options)
        self._warn(found)
        if options.scores:
            self._rescore(found, options.batch_size)
        if options.alignments and isinstance(self.engine, AligningEngine):
            align_units(found, self.engine, self.tokenizer, self.longest, options.batch_size)
        return found

    def join(
        self,
        plans: Iterable[Plan],
        found: Mapping[Unit, Found],
        options: TranslateOptions = DEFAULTS,
    ) -> list[Translation]:
        """The translation of each text from those of its units."""
        vocabulary = self.tokenizer.target_vocabulary
        return [join_units(plan, found, vocabulary, options.search) for plan in plans]

    def score(
        self, sources: Sequence[str], targets: Sequence[str], batch_size: int = 64
    ) -> list[tuple[float, ...] | None]:
        """The log-probabilities of the tokens of each target and of EOS.

        None for a pair with a side that is longer than `longest`.
        """
        return self._score_ids(
            self.tokenizer.encode_batch([clean(source) for source in sources]),
            self.tokenizer.encode_targets([clean(target) for target in targets]),
            batch_size,
        )

    def _search(
        self, units: Sequence[Unit], search: Search, options: TranslateOptions
    ) -> list[Found]:
        constrain = options.constraint or (lambda _: None)
        seeds = range(search.n_best) if search.sampling else (0,)
        one = replace(search, n_best=1) if search.sampling else search
        if self.reverse:
            one = all_candidates(search)
        requests = [
            Request(unit.ids, one, unit.prefix, constrain(unit.text), sample)
            for unit in units
            for sample in seeds
        ]
        found = self.engine.search(requests, options.batch_size)
        each = len(seeds)
        ranked = [list(chain(*found[i : i + each])) for i in range(0, len(found), each)]
        if self.reverse:
            sources = [unit.text for unit in units]
            texts = [[self.tokenizer.decode(h.tokens) for h in some] for some in ranked]
            ranked = rerank(sources, ranked, texts, self.reverse.score, options.batch_size)
            ranked = [some[: search.n_best] for some in ranked]
        return [self._found(unit, rank) for unit, rank in zip(units, ranked, strict=True)]

    def _found(self, unit: Unit, hypotheses: Sequence[Hypothesis]) -> Found:
        texts = tuple(self.tokenizer.decode(h.tokens) for h in hypotheses)
        return Found(tuple(hypotheses), texts, self._flags(unit, texts[0], hypotheses[0]))

    def _flags(self, unit: Unit, output: str, hypothesis: Hypothesis) -> tuple[str, ...]:
        sizes = len(unit.ids), hypothesis.tokens
        language = self.traits.target_language
        return flags_of(unit.text, output, *sizes, hypothesis.ended, language)

    def _repair(self, found: dict[Unit, Found], options: TranslateOptions) -> None:
        """Searches flagged units again with a wider beam and without repeated n-grams."""
        wrong = [unit for unit, result in found.items() if result.flags]
        if not wrong or options.search.sampling:
            return
        search = options.search
        beam = max(REPAIR_BEAM, 2 * search.beam)
        wider = replace(search, beam=beam, n_best=beam, no_repeat=REPAIR_NO_REPEAT)
        for unit, again in zip(wrong, self._search(wrong, wider, options), strict=True):
            ranked = zip(again.hypotheses, again.texts, strict=True)
            good = [(h, text) for h, text in ranked if not self._flags(unit, text, h)]
            good = good[: search.n_best]
            # a number is put into a good translation rather than taken from a bad one
            least = found[unit].hypotheses[0].score - NEARLY
            if good and (found[unit].flags != ("missing",) or good[0][0].score >= least):
                hypotheses, texts = zip(*good, strict=True)
                found[unit] = Found(hypotheses, texts, (*found[unit].flags, "repaired"))

    def _insert(self, found: dict[Unit, Found], options: TranslateOptions) -> None:
        """Copies what translations have lost from the source, if it is certain where to."""
        if options.insert and not options.constraint and self.traits.target_language:
            search = replace(options.search, n_best=1)
            restore(
                SecondSearch(
                    found,
                    self.traits,
                    lambda text: tuple(self.tokenizer.encode(text)),
                    lambda units: self._search(units, search, options),
                    self._changed,
                    self._log_probs,
                )
            )

    def _changed(self, unit: Unit, old: Found, text: str, flag: str) -> Found | None:
        """A result with another best translation; None if that has faults as well."""
        (tokens,) = self.tokenizer.encode_targets([text])
        (log_probs,) = self._score_ids([unit.ids], [tokens], 1)
        if log_probs is None:
            return None
        best = Hypothesis(tuple(tokens), sum(log_probs), sum(log_probs), True, log_probs)
        if self._flags(unit, text, best):
            return None
        texts = (text, *old.texts[1:])
        flags = dict.fromkeys((*old.flags, flag))
        return Found((best, *old.hypotheses[1:]), texts, tuple(flags))

    def _log_probs(self, unit: Unit, texts: list[str]) -> list[float]:
        """The log-probability of each text as the translation of a unit; −∞ if it is too long."""
        targets = self.tokenizer.encode_targets(texts)
        scores = self._score_ids([unit.ids] * len(texts), targets, len(texts))
        return [-inf if score is None else sum(score) for score in scores]

    def _warn(self, found: dict[Unit, Found]) -> None:
        """Flags what another search cannot improve: the language of a source and a low score."""
        for unit, result in found.items():
            flags = list(result.flags)
            if other_language(unit.text, self.traits.source_language):
                flags.append("language")
            best = result.hypotheses[0]
            sure = sureness(best.log_prob, len(best.tokens) + best.ended)
            if not {"inserted", "split"} & set(flags) and sure < self.traits.low_score:
                flags.append("low-score")
            if flags != list(result.flags):
                found[unit] = replace(result, flags=tuple(flags))

    def _rescore(self, found: dict[Unit, Found], batch_size: int) -> None:
        """Replaces log-probabilities by those over the whole vocabulary."""
        pairs = [(unit.ids, h.tokens) for unit, r in found.items() for h in r.hypotheses]
        scored = iter(self._score_ids([s for s, _ in pairs], [t for _, t in pairs], batch_size))
        for unit, result in found.items():
            hypotheses = tuple(_rescored(h, next(scored)) for h in result.hypotheses)
            found[unit] = replace(result, hypotheses=hypotheses)

    def _score_ids(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int
    ) -> list[tuple[float, ...] | None]:
        pairs = list(zip(sources, targets, strict=True))
        fitting = [max(map(len, pair)) <= self.longest for pair in pairs]
        some = [pair for pair, fits in zip(pairs, fitting, strict=True) if fits]
        scores = iter(self.engine.score([s for s, _ in some], [t for _, t in some], batch_size))
        return [next(scores) if fits else None for fits in fitting]

    @property
    def _network(self) -> "Network":
        """The torch network of the engine."""
        from transduce.engines.torch_engine import TorchEngine

        assert isinstance(self.engine, Router | TorchEngine)
        return self.engine.torch_engine.model


def _rescored(hypothesis: Hypothesis, log_probs: tuple[float, ...] | None) -> Hypothesis:
    if log_probs is None:
        return hypothesis
    counted = log_probs if hypothesis.ended else log_probs[:-1]
    return replace(hypothesis, log_prob=sum(counted), log_probs=counted)
