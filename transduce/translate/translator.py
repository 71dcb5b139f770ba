"""The translator: text in, text out, batch-invariant."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from transduce.directory import ModelDirectory
from transduce.engines import Engine
from transduce.engines.loader import open_engine, open_reference
from transduce.errors import ModelError
from transduce.log import Log
from transduce.search import PAPER, Hypothesis, Search, length_penalty
from transduce.tokenizer import TokenizerLike
from transduce.translate.guards import flags_of
from transduce.translate.lines import clean, one_line
from transduce.translate.splitting import Piece, sentences, split

BUNDLED = Path(__file__).parents[1] / "bundled"
MAX_LENGTH = 256  # tokens of a source, if the model does not say what it was trained on
REPAIR_BEAM = 8  # at least, for what is searched again
REPAIR_NO_REPEAT = 3
CHUNK = 2048  # lines that are translated at a time


@dataclass(frozen=True)
class Alternative:
    """One translation of several."""

    translation: str
    score: float
    tokens: tuple[str, ...]
    token_scores: tuple[float, ...] = ()


@dataclass(frozen=True)
class Translation:
    """What became of a text."""

    text: str
    translation: str
    score: float = 0.0  # log-probability over the length penalty, as `score` gives it
    tokens: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()  # what looked wrong, "repaired" if no longer, and "split"
    alternatives: tuple[Alternative, ...] = ()  # the best ones, the translation first
    token_scores: tuple[float, ...] = ()  # of each token and of the end
    alignment: str = ""  # source-target, words, in Pharaoh's form


@dataclass(frozen=True)
class _Unit:
    """What is searched at once: a text, or a piece of one that is too long."""

    text: str
    ids: tuple[int, ...]
    prefix: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Found:
    """The hypotheses of a unit, their texts, and what is suspicious about the best."""

    hypotheses: list[Hypothesis]
    texts: list[str]
    flags: tuple[str, ...]


def place_of(directory: Path | None) -> Path:
    """The model directory that is meant: the bundled one where none is named."""
    if directory is None and not (BUNDLED / "config.json").is_file():
        raise ModelError("this installation has no bundled model: give one with --model")
    return BUNDLED if directory is None else Path(directory)


class Translator:
    """Translates text with an engine.

    >>> Translator.load(directory).translate(["A dog runs on the beach."])  # doctest: +SKIP
    ['Ein Hund läuft am Strand.']
    """

    def __init__(
        self,
        tokens: TokenizerLike,
        engine: Engine,
        max_length: int = MAX_LENGTH,
        reference: Callable[[], Engine] | None = None,
    ) -> None:
        """`max_length` is the longest source that is translated in one piece, in tokens."""
        self.tokens, self.engine, self.max_length = tokens, engine, max_length
        self._open_reference = reference or (lambda: engine)
        self._reference: Engine | None = None

    @classmethod
    def load(
        cls, directory: Path | None = None, *, engine: str = "auto", log: Log = lambda _: None
    ) -> "Translator":
        """The translator of a model directory, or of the bundled one."""
        model = ModelDirectory.open(place_of(directory))
        return cls(
            model.tokenizer,
            open_engine(model, engine, log),
            model.description.max_length,
            lambda: open_reference(model),
        )

    def translate(self, texts: Sequence[str], search: Search = PAPER) -> list[str]:
        """The translation of each text; a blank one stays blank."""
        return [result.translation for result in self.results(texts, search)]

    def results(
        self,
        texts: Sequence[str],
        search: Search = PAPER,
        batch_size: int = 64,
        *,
        scores: bool = False,
        alignments: bool = False,
        prefix: str = "",
        by_sentence: bool = False,
    ) -> list[Translation]:
        """The translation of each text with all that is known of it.

        `scores` asks for scores that are exactly those of `score`, also where the engine's own are
        of a shortlist; `prefix` is how every translation must begin; `by_sentence` translates each
        sentence of a text apart, also where the text is short.
        """
        prefix_ids = tuple(self.tokens.encode_targets([prefix])[0]) if prefix else ()
        plans = self._plans([clean(text) for text in texts], prefix_ids, by_sentence)
        units = list(dict.fromkeys(unit for plan in plans for unit, _ in plan))
        found = dict(zip(units, self._search(units, search, batch_size), strict=True))
        known = self._token_scores(found, search, batch_size) if scores else {}
        maps = self._alignments(found) if alignments else {}
        return [
            self._joined(text, plan, found, known, maps, search)
            for text, plan in zip(texts, plans, strict=True)
        ]

    def stream(
        self,
        texts: Iterable[str],
        search: Search = PAPER,
        batch_size: int = 64,
        *,
        chunk: int = CHUNK,
        scores: bool = False,
        alignments: bool = False,
        prefix: str = "",
        by_sentence: bool = False,
    ) -> Iterator[Translation]:
        """The same for any number of texts, holding only so many at a time, in order."""
        rest = iter(texts)
        while some := list(islice(rest, chunk)):
            yield from self.results(
                some,
                search,
                batch_size,
                scores=scores,
                alignments=alignments,
                prefix=prefix,
                by_sentence=by_sentence,
            )

    def score(
        self, sources: Sequence[str], targets: Sequence[str], batch_size: int = 64
    ) -> list[tuple[float, ...]]:
        """The log-probability of each token of each target, and of its end."""
        return self.engine.score(
            self.tokens.encode_batch([clean(source) for source in sources]),
            self.tokens.encode_targets([clean(target) for target in targets]),
            batch_size,
        )

    def reference(self) -> Engine:
        """The torch engine of the same model."""
        if self._reference is None:
            self._reference = self._open_reference()
        return self._reference

    def _plans(
        self, texts: Sequence[str], prefix: tuple[int, ...], by_sentence: bool
    ) -> list[list[tuple[_Unit, str]]]:
        """The units of each text, each with what follows it."""
        # no token is longer than some tens of characters, so this spares cutting up a novel
        short = [len(text) <= 64 * self.max_length and not by_sentence for text in texts]
        encoded = iter(
            self.tokens.encode_batch([t for t, few in zip(texts, short, strict=True) if few])
        )
        plans: list[list[tuple[_Unit, str]]] = []
        for text, few in zip(texts, short, strict=True):
            ids = next(encoded) if few else None
            if not text:
                plans.append([])
            elif ids is not None and len(ids) <= self.max_length:
                plans.append([(_Unit(text, tuple(ids), prefix), "")])
            else:
                plans.append(self._pieces(text, prefix, by_sentence))
        return plans

    def _pieces(
        self, text: str, prefix: tuple[int, ...], by_sentence: bool
    ) -> list[tuple[_Unit, str]]:
        """The units of a text that is not translated as a whole."""
        pieces: list[Piece] = []
        for part in sentences(text) if by_sentence else [Piece(text, "")]:
            *most, last = split(part.text, self._fits)
            pieces += [*most, Piece(last.text, last.after + part.after)]
        ids = self.tokens.encode_batch([piece.text for piece in pieces])
        return [
            (_Unit(piece.text, tuple(ids[n]), () if n else prefix), piece.after)
            for n, piece in enumerate(pieces)
        ]

    def _fits(self, text: str) -> bool:
        return (
            len(text) <= 64 * self.max_length and len(self.tokens.encode(text)) <= self.max_length
        )

    def _search(self, units: Sequence[_Unit], search: Search, batch_size: int) -> list[_Found]:
        """Searches, and searches again with a repair where the result looks wrong."""
        found = []
        for unit, hypotheses in zip(
            units, self._hypotheses(units, search, batch_size), strict=True
        ):
            texts = [self.tokens.decode(h.tokens) for h in hypotheses]
            found.append(_Found(hypotheses, texts, _flags(unit, texts[0], hypotheses[0])))
        wrong = [i for i, result in enumerate(found) if result.flags]
        beam = max(REPAIR_BEAM, 2 * search.beam)
        repair = replace(search, beam=beam, n_best=beam, no_repeat=REPAIR_NO_REPEAT)
        again = self._hypotheses([units[i] for i in wrong], repair, batch_size) if wrong else []
        for i, hypotheses in zip(wrong, again, strict=True):
            texts = [self.tokens.decode(h.tokens) for h in hypotheses]
            better = [
                (h, text)
                for h, text in zip(hypotheses, texts, strict=True)
                if not _flags(units[i], text, h)
            ][: search.n_best]
            if better:
                flags = (*found[i].flags, "repaired")
                found[i] = _Found([h for h, _ in better], [text for _, text in better], flags)
        return found

    def _hypotheses(
        self, units: Sequence[_Unit], search: Search, batch_size: int
    ) -> list[list[Hypothesis]]:
        prefixes = [unit.prefix for unit in units]
        given = prefixes if any(prefixes) else None
        return self.engine.search([unit.ids for unit in units], search, given, batch_size)

    def _token_scores(
        self, found: dict[_Unit, _Found], search: Search, batch_size: int
    ) -> dict[tuple[_Unit, tuple[int, ...]], tuple[float, ...]]:
        """The log-probabilities of every hypothesis, as `score` computes them."""
        keys = [(unit, h.tokens) for unit, result in found.items() for h in result.hypotheses]
        ended = [h.ended for result in found.values() for h in result.hypotheses]
        log_probs = self.engine.score(
            [unit.ids for unit, _ in keys], [tokens for _, tokens in keys], batch_size
        )
        return {
            key: found_probs if end else found_probs[:-1]
            for key, found_probs, end in zip(keys, log_probs, ended, strict=True)
        }

    def _alignments(self, found: dict[_Unit, _Found]) -> dict[_Unit, list[tuple[int, int]]]:
        from transduce.engines.alignment import word_alignment
        from transduce.engines.torch_engine import TorchEngine

        engine = self.reference()
        assert isinstance(engine, TorchEngine)
        return {
            unit: word_alignment(engine.model, self.tokens, unit.ids, result.hypotheses[0].tokens)
            for unit, result in found.items()
        }

    def _joined(
        self,
        text: str,
        plan: list[tuple[_Unit, str]],
        found: dict[_Unit, _Found],
        known: dict[tuple[_Unit, tuple[int, ...]], tuple[float, ...]],
        maps: dict[_Unit, list[tuple[int, int]]],
        search: Search,
    ) -> Translation:
        """The parts of a text as one translation; of several parts only the best is kept."""
        if not plan:
            return Translation(text, "")
        fewest = min(len(found[unit].hypotheses) for unit, _ in plan)
        count = fewest if len(plan) == 1 else 1
        ranked = [self._alternative(plan, rank, found, known, search) for rank in range(count)]
        flags = tuple(dict.fromkeys(flag for unit, _ in plan for flag in found[unit].flags))
        first = ranked[0]
        return Translation(
            text,
            first.translation,
            first.score,
            first.tokens,
            flags if len(plan) == 1 else (*flags, "split"),
            tuple(ranked),
            first.token_scores,
            self._pharaoh(plan, found, maps) if maps else "",
        )

    def _alternative(
        self,
        plan: list[tuple[_Unit, str]],
        rank: int,
        found: dict[_Unit, _Found],
        known: dict[tuple[_Unit, tuple[int, ...]], tuple[float, ...]],
        search: Search,
    ) -> Alternative:
        text, total, length = "", 0.0, 0
        tokens: list[str] = []
        token_scores: list[float] = []
        vocabulary = self.tokens.target_vocabulary
        for unit, after in plan:
            hypothesis = found[unit].hypotheses[rank]
            text += found[unit].texts[rank].strip() + after
            tokens += [vocabulary[i] for i in hypothesis.tokens]
            log_probs = known.get((unit, hypothesis.tokens), hypothesis.log_probs)
            token_scores += log_probs
            total += sum(log_probs) if log_probs else hypothesis.log_prob
            length += len(hypothesis.tokens) + hypothesis.ended
        score = total / length_penalty(max(length, 1), search)
        return Alternative(one_line(text), score, tuple(tokens), tuple(token_scores))

    def _pharaoh(
        self,
        plan: list[tuple[_Unit, str]],
        found: dict[_Unit, _Found],
        maps: dict[_Unit, list[tuple[int, int]]],
    ) -> str:
        links, before, after = [], 0, 0
        for unit, _ in plan:
            links += [f"{before + i}-{after + j}" for i, j in maps[unit]]
            before += len(unit.text.split())
            after += len(found[unit].texts[0].split())
        return " ".join(links)


def _flags(unit: _Unit, output: str, hypothesis: Hypothesis) -> tuple[str, ...]:
    return flags_of(unit.text, output, len(unit.ids), hypothesis.tokens, hypothesis.ended)
