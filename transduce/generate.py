"""Text from a language model: sampling a continuation, and scoring a given text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transduce.directory import ModelDirectory
from transduce.engines.router import convert, find_converted, torch_device
from transduce.errors import InputError, ModelError
from transduce.log import Log, silent
from transduce.model_names import model_path
from transduce.search import Sampling
from transduce.tokenizer import TokenizerLike

if TYPE_CHECKING:
    from transduce.model import LanguageModel

Ids = Sequence[int]
Drawn = Iterator[tuple[int, Any]]  # tokens, each with the logits it was sampled from, by torch
Draw = Callable[[Ids, int], Drawn]  # from a context, at most so many

KIND = "lm"
STREAM, LINES = "lm", "lm-lines"  # the tasks that language models are trained for
RUNNERS_UP = 5


@dataclass(frozen=True)
class Choice:
    """A token that could be next, with its probability at temperature 1."""

    id: int
    token: str
    probability: float


@dataclass(frozen=True)
class Step:
    """A token that was written."""

    chosen: Choice
    text: str  # that it adds; empty if a character has bytes still to come
    runners_up: tuple[Choice, ...]  # the likeliest others
    forced: bool  # given by the caller, not sampled


class TextDecoder:
    """The text of tokens as they come; a character is given when all of its bytes have come."""

    def __init__(self, tokenizer: TokenizerLike) -> None:
        self.tokenizer = tokenizer
        self._ids: list[int] = []
        self._written = 0  # characters

    def add(self, token: int) -> str:
        self._ids.append(token)
        text = self.tokenizer.decode(self._ids)
        return "" if text.endswith("\ufffd") else self._new(text)

    def rest(self) -> str:
        """What is left at the end: a character that was not finished."""
        return self._new(self.tokenizer.decode(self._ids))

    def _new(self, text: str) -> str:
        start, self._written = self._written, len(text)
        return text[start:]


class TextGenerator:
    """Continues texts with a language model; each sample depends on its own seed only.

    >>> TextGenerator.load(directory).generate("ROMEO:", tokens=50)  # doctest: +SKIP
    'ROMEO:\\nO, that I were …'
    """

    def __init__(
        self, directory: ModelDirectory, converted: Path | None = None, device: str = "cpu"
    ) -> None:
        """`converted` is the model for CTranslate2; None: torch."""
        self.directory, self.converted, self.device = directory, converted, device
        self.tokenizer, self.config = directory.tokenizer, directory.config
        self.lines = directory.description.task == LINES
        self.name = "ctranslate2" if converted else "torch"
        self._network: LanguageModel | None = None

    @classmethod
    def load(
        cls,
        model: Path | str,
        *,
        engine: str = "auto",
        device: str = "auto",
        log: Log = silent,
    ) -> "TextGenerator":
        """The generator of a model directory or a run; `auto` is CTranslate2 if it can run it."""
        directory = ModelDirectory.open(model_path(model, log=log))
        if directory.config.kind != KIND:
            task = directory.description.task
            verb = "parse" if task == "parsing" else "translate"
            raise ModelError(
                f"{directory.path} is not a language model but one for {task}: use transduce {verb}"
            )
        if engine == "torch" or device == "cuda":
            return cls(directory, None, torch_device(device))
        try:
            converted = find_converted(directory, False) or convert(directory, False, log)
        except (ImportError, ModelError, RuntimeError, ValueError) as error:
            if engine == "ctranslate2":
                raise ModelError(f"CTranslate2 cannot run {directory.path}: {error}") from None
            log(f"CTranslate2 cannot run this model, using torch: {error}")
            return cls(directory, None, torch_device(device))
        return cls(directory, converted)

    def generate(
        self, prompt: str = "", tokens: int = 200, sampling: Sampling | None = None, seed: int = 1
    ) -> str:
        """The prompt and its continuation by at most this many tokens."""
        return prompt + "".join(self.stream(prompt, tokens, sampling, seed))

    def stream(
        self, prompt: str = "", tokens: int = 200, sampling: Sampling | None = None, seed: int = 1
    ) -> Iterator[str]:
        """The continuation of a prompt, in parts as they are sampled."""
        decoder = TextDecoder(self.tokenizer)
        for token in self.ids(self._context(prompt), tokens, sampling or Sampling(), seed):
            if text := decoder.add(token):
                yield text
        if text := decoder.rest():
            yield text

    def steps(
        self,
        prompt: str = "",
        tokens: int = 200,
        sampling: Sampling | None = None,
        seed: int = 1,
        prefix: Ids = (),
    ) -> Iterator[Step]:
        """The tokens of the continuation with their runners-up, by torch; EOS of a line is one.

        The continuation begins with the ids of `prefix`. They use up the random numbers of their
        steps, so that a prefix of what the same seed samples changes nothing.
        """
        names = self.tokenizer.target_vocabulary
        for one in prefix:
            if not 0 <= one < len(names):
                raise InputError(f"token {one}: the vocabulary has {len(names):,}, counted from 0")
        draw, decoder = (
            self._torch(sampling or Sampling(), seed, prefix),
            TextDecoder(self.tokenizer),
        )
        drawn = self._drawn(self._context(prompt), tokens, draw)
        for number, (token, logits) in enumerate(drawn):
            probabilities = logits.softmax(-1)
            likeliest = probabilities.topk(min(RUNNERS_UP + 1, len(names))).indices.tolist()
            others = [one for one in likeliest if one != token][:RUNNERS_UP]
            choices = [Choice(i, names[i], float(probabilities[i])) for i in (token, *others)]
            yield Step(choices[0], decoder.add(token), tuple(choices[1:]), number < len(prefix))

    def ids(self, context: Ids, tokens: int, sampling: Sampling, seed: int) -> Iterator[int]:
        """Sampled tokens; a line ends with EOS, which is not among them.

        When the positions of the model are used up, the last half of the text is its new context.
        """
        draw = self._ctranslate2(sampling, seed) if self.converted else self._torch(sampling, seed)
        for token, _ in self._drawn(context, tokens, draw):
            if token != self.config.eos_id or not self.lines:
                yield token

    def _drawn(self, context: Ids, tokens: int, draw: Draw) -> Drawn:
        """At most so many tokens, in windows; EOS is the last of a line."""
        text, left = list(context), tokens
        while left > 0:
            text = text[-self._context_length :]
            room = min(left, self._positions - len(text))
            for token, logits in draw(text, room):
                yield token, logits
                if token == self.config.eos_id and self.lines:
                    return
                text.append(token)
                left -= 1

    def score(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """The log-probability of each token of each text, by torch.

        Texts of a model of lines are independent, and their EOS is scored too. Otherwise they are
        lines of one stream: each token is scored given what comes before it, at least half a
        context of it where there is as much.
        """
        if self.lines:
            return [
                self._score(
                    [self.config.bos_id], [*self.tokenizer.encode(text), self.config.eos_id]
                )
                for text in texts
            ]
        rows = [self.tokenizer.encode(f"{text}\n") for text in texts]
        found = self._score(self.tokenizer.encode("\n")[-1:], [i for row in rows for i in row])
        scores, start = [], 0
        for row in rows:
            scores.append(tuple(found[start : start + len(row)]))
            start += len(row)
        return scores

    @property
    def _positions(self) -> int:
        return self.config.max_positions

    @property
    def _context_length(self) -> int:
        return max(1, self._positions // 2)

    def _context(self, prompt: str) -> list[int]:
        """What is before the first sampled token: BOS or the end of a line, and the prompt."""
        before = [self.config.bos_id] if self.lines else self.tokenizer.encode("\n")
        return [*before, *self.tokenizer.encode(prompt)]

    @property
    def network(self) -> "LanguageModel":
        from transduce.model import LanguageModel

        if self._network is None:
            network = self.directory.network(self.device)
            assert isinstance(network, LanguageModel)
            self._network = network
        return self._network

    def _torch(self, sampling: Sampling, seed: int, prefix: Ids = ()) -> Draw:
        import torch

        from transduce.search.sampling import sampled

        network, choose, forced = self.network, sampled(sampling, [seed]), iter(prefix)

        def draw(context: Ids, count: int) -> Drawn:
            ids, state = torch.tensor([list(context)], device=network.device), None
            for _ in range(count):
                with torch.inference_mode():
                    states, state = network.decode(ids, state)
                    logits = network.output(states[:, -1]).float()
                    ids, _ = choose(logits, 1, [0])
                    ids.fill_(next(forced, int(ids)))
                yield int(ids), logits[0]

        return draw

    def _ctranslate2(self, sampling: Sampling, seed: int) -> Draw:
        """A generator of CTranslate2 with a worker of its own: the seed is that of a worker."""
        import ctranslate2

        from transduce.engines.ctranslate2_engine import Vocabularies

        names = Vocabularies.of(self.tokenizer, self.config).target
        ctranslate2.set_random_seed(seed % 2**32)
        generator = ctranslate2.Generator(
            str(self.converted), compute_type="float32", inter_threads=1, intra_threads=1
        )
        greedy = sampling.temperature == 0

        def draw(context: Ids, count: int) -> Drawn:
            for step in generator.generate_tokens(
                [names[i] for i in context],
                max_length=count,
                sampling_topk=1 if greedy else sampling.top_k or 0,
                sampling_topp=sampling.top_p,
                sampling_temperature=sampling.temperature or 1.0,
            ):
                yield int(step.token_id), None

        return draw

    def _score(self, before: Ids, tokens: Ids) -> tuple[float, ...]:
        """Log-probabilities in windows that overlap by half."""
        import torch

        text, found = [*before, *tokens], list[float]()
        while len(found) < len(tokens):
            start = max(0, len(found) - self._context_length) if found else 0
            window = torch.tensor([text[start : start + self._positions + 1]])
            window = window.to(self.network.device)
            with torch.inference_mode():
                logits = self.network.output(self.network.decode(window[:, :-1])[0]).float()
                gold = logits.log_softmax(-1).gather(2, window[:, 1:, None])[0, :, 0]
            found += gold[len(found) - start :].tolist()
        return tuple(found)
