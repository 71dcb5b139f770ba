"""Comparison of a Hugging Face export with its model: logits, ids and translations.

Where `MarianTokenizer` differs from our `Tokenizer`: it reads "▁" as a space, takes `>>…<<` at
the beginning of a text for a language code, strips white space around what the model writes and
leaves out its unknown symbols. Everything else, bytes of rare characters included, is the same.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transduce.engines import Request
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import ModelError
from transduce.exchange.marian import FORBIDDEN, MAX_LENGTH
from transduce.model import Transformer
from transduce.search import Search
from transduce.tokenizer import MarianTokenizer as OurMarianTokenizer
from transduce.tokenizer import TokenizerLike
from transduce.tokenizer.bpe import ESCAPE
from transduce.tokenizer.processor import SPACE

# Sentences that the export must tokenize and translate as the model does.
SENTENCES = (
    "A dog runs on the beach.",
    "Zwei Männer – und „drei“ Kinder – bezahlen 3,50 € im Café!",
    "Собака бежит по пляжу.",
    "一只狗在沙滩上奔跑。",
    "الكلب يركض على الشاطئ.",
    "कुत्ता दौड़ता है।",
    "犬🐕 runs,  twice: <b>&amp;</b> </s>",
)
# Without a length penalty our beam of 1 is greedy search. Hugging Face only
# has the length penalty n^α.
SEARCHES = (
    Search(beam=1, penalty="none", extra_length=20),
    Search(beam=4, penalty="average", extra_length=20),
)


def compare(
    model: Transformer,
    directory: Path,
    tokenizer: TokenizerLike | None,
    sentences: Sequence[str],
    read: Callable[[Path], Transformer],
) -> str:
    """Compares a written directory with the model; raises ModelError if results differ.

    It is read with Hugging Face's own classes if they are installed, else with `read`.
    """
    texts = [text for text in sentences if tokenizer is not None and _comparable(text, tokenizer)]
    try:
        from transformers import MarianMTModel, MarianTokenizer
    except ImportError:
        difference = _compare_logits(model, read(directory))
        if tokenizer is not None:
            found = OurMarianTokenizer.load(directory).encode_batch(texts)
            _compare_ids(texts, tokenizer.encode_batch(texts), found)
        return (
            f"its logits differ by at most {difference:.1e} when transduce loads it; to compare "
            "with transformers: pip install 'transduce[huggingface]'"
        )
    with _quiet():
        peer = MarianMTModel.from_pretrained(directory, local_files_only=True).eval()
        difference = _compare_logits(
            model, lambda source, target: peer(source, decoder_input_ids=target).logits
        )
        agreement = f"its logits differ by at most {difference:.1e}"
        if tokenizer is None:
            return f"{agreement}; without a vocabulary, only the network is exported"
        their_tokenizer = MarianTokenizer.from_pretrained(directory, local_files_only=True)
        ended = [[*ids, model.config.eos_id] for ids in tokenizer.encode_batch(texts)]
        _compare_ids(texts, ended, [their_tokenizer(text).input_ids for text in texts])
        for search in SEARCHES:
            _compare_translations(model, tokenizer, texts, search, peer, their_tokenizer)
    return f"{agreement}, and {len(texts):,} sentences have the same ids and translations"


def _comparable(text: str, tokenizer: TokenizerLike) -> bool:
    """Whether `MarianTokenizer` tokenizes a text as we do."""
    if text.startswith(">>") or SPACE in text or ESCAPE in text:
        return False
    return len(tokenizer.encode(text)) < MAX_LENGTH


def _compare_logits(model: Transformer, peer: Callable[[Tensor, Tensor], Tensor]) -> float:
    """The maximum difference of the logits of both, on random tokens."""
    config = model.config
    generator = torch.Generator().manual_seed(0)
    source, target = (
        torch.randint(size, (3, 11), generator=generator)
        for size in (config.vocab_size, config.decoder_vocab_size)
    )
    source[source == config.pad_id] = config.eos_id
    with torch.no_grad():
        # rounding: the logit of a forbidden token is dominated by its bias
        ours, theirs = (
            logits.float().clamp(min=FORBIDDEN / 2)
            for logits in (model.eval()(source, target), peer(source, target))
        )
    difference = float((ours - theirs).abs().max())
    if difference > 1e-4:
        raise _failure(f"differs from the model by {difference:.2g} in its logits")
    return difference


def _compare_ids(texts: Sequence[str], ours: list[list[int]], theirs: list[list[int]]) -> None:
    for text, wanted, found in zip(texts, ours, theirs, strict=True):
        if found != wanted:
            raise _failure(f"does not tokenize {text!r} as the model does")


def _compare_translations(
    model: Transformer,
    tokenizer: TokenizerLike,
    texts: Sequence[str],
    search: Search,
    peer: Any,
    their_tokenizer: Any,
) -> None:
    sources = tokenizer.encode_batch(texts)
    found = TorchEngine(model).search([Request(ids, search) for ids in sources])
    for text, source, hypotheses in zip(texts, sources, found, strict=True):
        limit = search.limit(len(source))
        theirs = peer.generate(
            **their_tokenizer(text, return_tensors="pt"),
            num_beams=search.beam,
            length_penalty=search.alpha,
            early_stopping="never" if search.beam > 1 else False,
            max_length=limit + 2,  # with BOS and EOS
        )[0].tolist()[1:]
        if model.config.eos_id in theirs:
            theirs = theirs[: theirs.index(model.config.eos_id)]
        if search.beam > 1 and len(theirs) >= limit:
            continue  # Hugging Face treats a hypothesis cut at the limit as finished
        ours = list(hypotheses[0].tokens)
        visible = [i for i in ours if i not in their_tokenizer.all_special_ids]
        wanted = tokenizer.decode(visible).replace(SPACE, " ").strip()
        if ours != theirs or their_tokenizer.decode(theirs, skip_special_tokens=True) != wanted:
            raise _failure(f"does not translate {text!r} as the model does")


def _failure(what: str) -> ModelError:
    return ModelError(f"the export {what}, so nothing was written: please report this")


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses progress bars and warnings of transformers."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Recommended: pip install sacremoses")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
