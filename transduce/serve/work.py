"""What the server asks of a model; each task has JSON fields in and a frame out."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from transduce.errors import optional
from transduce.generate import TextGenerator
from transduce.search import PAPER, Sampling, length_penalty
from transduce.serve.frames import Frame
from transduce.translate.join import Translation
from transduce.translate.lines import clean
from transduce.translate.options import TranslateOptions
from transduce.translate.translator import Translator

if TYPE_CHECKING:
    from transduce.parsing.parser import Parser

Work = dict[str, Callable[..., Frame | Iterator[Frame]]]  # a frame with `more` is not the last


def translator_work(translator: Translator) -> Work:
    """The tasks of a translation model; torch is loaded by the first that needs it."""

    def translate(
        texts: Sequence[str], n_best: int = 1, scores: bool = False, html: bool = False
    ) -> Frame:
        search = replace(PAPER, n_best=n_best, beam=max(PAPER.beam, n_best))
        options = TranslateOptions(search, scores=scores)
        if html:
            from transduce.translate.html import translate_html

            pages = translate_html(translator, texts, options)
            return Frame({"results": [{"translation": page} for page in pages]})
        found = translator.results(texts, options)
        return Frame({"results": [_fields(result, options) for result in found]})

    def score(texts: Sequence[str], translations: Sequence[str]) -> Frame:
        scored = translator.score(texts, translations)
        targets = translator.tokenizer.encode_targets([clean(text) for text in translations])
        vocabulary = translator.tokenizer.target_vocabulary
        tokens = [[vocabulary[i] for i in ids] for ids in targets]
        pairs = zip(scored, tokens, strict=True)
        return Frame({"results": [_scores(log_probs, some) for log_probs, some in pairs]})

    def inspect(**fields: Any) -> Frame:
        with optional("a look inside the model"):
            from transduce.serve import inspection
        return inspection.inspect(translator, **fields)

    return {"translate": translate, "score": score, "inspect": inspect}


def parser_work(parser: "Parser") -> Work:
    """The tasks of a parser."""

    from transduce.parsing.tree import to_brackets

    def parse(texts: Sequence[str]) -> Frame:
        found = parser.parse([parser.words(text) for text in texts])
        trees = [
            None if one is None else {"tree": to_brackets(one.tree), "score": one.score}
            for one in found
        ]
        return Frame({"results": trees})

    return {"parse": parse}


def generator_work(generator: TextGenerator) -> Work:
    """The task of a language model: a frame for each token, and one for each finished text."""

    def generate(
        prompt: str,
        tokens: int,
        sampling: dict[str, Any],
        seed: int,
        n: int,
        prefix: Sequence[int],
    ) -> Iterator[Frame]:
        for sample in range(n):
            about: dict[str, Any] = {"sample": sample, "seed": seed + sample}
            ids = list[int]()
            steps = generator.steps(prompt, tokens, Sampling(**sampling), seed + sample, prefix)
            for step in steps:
                ids.append(step.chosen.id)
                fields = {**asdict(step.chosen), **asdict(step)}
                del fields["chosen"]
                yield Frame({**about, **fields, "more": True})
            ended = generator.lines and ids[-1] == generator.config.eos_id
            text = prompt + generator.tokenizer.decode(ids[: len(ids) - ended])
            about |= {"end": "eos" if ended else "length", "text": text}
            yield Frame({**about, "more": sample + 1 < n})

    return {"generate": generate}


def _fields(result: Translation, options: TranslateOptions) -> dict[str, Any]:
    fields: dict[str, Any] = {"translation": result.translation, "flags": list(result.flags)}
    if options.search.n_best > 1:
        fields["alternatives"] = [one.translation for one in result.alternatives[1:]]
    if options.scores:
        fields["score"], fields["tokens"] = result.score, list(result.tokens)
        fields["token_scores"], fields["units"] = list(result.token_scores), list(result.units)
    return fields


def _scores(log_probs: tuple[float, ...] | None, tokens: list[str]) -> dict[str, Any] | None:
    """The fields of `score --json`; None for a pair that is too long."""
    if log_probs is None:
        return None
    total = sum(log_probs)
    mean = total / len(log_probs)
    return {
        "log_prob": total,
        "per_token": mean,
        "perplexity": math.exp(min(-mean, 700)),
        "score": total / length_penalty(len(log_probs)),
        "tokens": tokens,
        "token_scores": list(log_probs),
    }
