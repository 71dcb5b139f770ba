"""Hugging Face `MarianMTModel` directories (Marian, OPUS-MT), read, written and compared."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transduce import atomic
from transduce.config import ModelConfig
from transduce.directory import read_json
from transduce.directory.network import load_weights
from transduce.errors import ModelError
from transduce.exchange.huggingface_comparison import SEARCHES, SENTENCES, compare
from transduce.exchange.marian import (
    FORBIDDEN,
    MAX_LENGTH,
    check_marian_compatible,
    config_for_marian,
    config_from_marian,
    from_marian,
    special_ids,
    to_marian,
)
from transduce.model import Transformer
from transduce.tokenizer import MarianTokenizer, Tokenizer, TokenizerLike
from transduce.tokenizer.marian import (
    END,
    PADDING,
    SOURCE,
    TARGET,
    TARGET_VOCABULARY,
    UNKNOWN,
    VOCABULARY,
)

LANGUAGES = {"source_language": "source_lang", "target_language": "target_lang"}


def read_huggingface(directory: Path) -> Transformer:
    """The network of a Marian directory, with its weights."""
    settings = read_json(directory, "config.json")
    if settings.get("model_type") != "marian":
        raise ModelError(
            f"{directory} holds a model of type {settings.get('model_type')!r}; "
            "only Hugging Face's marian models can be imported"
        )
    try:
        config = config_from_marian(settings, directory)
    except KeyError as error:
        raise ModelError(f"{directory / 'config.json'} does not say {error}") from None
    theirs = _read_weights(directory)
    bias = theirs.get("final_logits_bias", torch.zeros(1, config.decoder_vocab_size)).float()
    theirs["final_logits_bias"] = bias
    # Hugging Face gave Marian's vocabulary a padding symbol, which would often be the likeliest
    # word, and forbids it while it searches. A bias makes it as if it were not there.
    bias[:, _forbidden(directory, settings, bias.shape[1])] = FORBIDDEN
    if not bias.any():
        config = config.replace(output_bias=False)
    model = Transformer(config)
    weights = {
        name: from_marian(name, lambda keys: _take(theirs, keys, directory))
        for name, _ in model.named_parameters()
    }
    load_weights(model, weights, directory)
    return model.eval()


def read_tokenizer(directory: Path, config: ModelConfig) -> MarianTokenizer:
    """The vocabularies of a Marian directory, which must be the network's."""
    tokens = MarianTokenizer.load(directory)
    _refuse_other_sizes(tokens, config, directory)
    sides = tokens.vocabulary, tokens.target_vocabulary
    for name, number, side in (
        (PADDING, config.pad_id, sides[0]),
        (END, config.eos_id, sides[0]),
        (END, config.eos_id, sides[1]),
    ):
        if side.index(name) != number:
            raise ModelError(
                f"{directory}: the vocabulary numbers {name} {side.index(name):,}, but config.json "
                f"says {number:,}: they belong to different models"
            )
    return tokens


def read_languages(directory: Path) -> dict[str, str]:
    """The languages of a Marian directory, if it names them, as our `config.json` does."""
    settings = _read_optional(directory, "tokenizer_config.json")
    named = {ours: settings.get(theirs) for ours, theirs in LANGUAGES.items()}
    return {ours: name for ours, name in named.items() if isinstance(name, str)}


def write_huggingface(
    model: Transformer,
    directory: Path,
    tokens: TokenizerLike | None = None,
    *,
    languages: Mapping[str, Any] | None = None,
    sentences: Sequence[str] = SENTENCES,
    log: Callable[[str], None] = lambda _: None,
) -> None:
    """A directory that Hugging Face's `MarianMTModel` and `MarianTokenizer` load.

    Before it is kept, it must give the model's logits and, of these sentences, its ids and its
    translations; what could be compared is logged. Without `tokens` it is a network only.
    """
    check_marian_compatible(model.config)
    if tokens is not None:
        _refuse_other_sizes(tokens, model.config, directory)
    with atomic.directory(directory) as aside:
        _write_json(aside / "config.json", config_for_marian(model.config))
        _write_json(aside / "generation_config.json", _generation(model))
        save_file(to_marian(model), aside / "model.safetensors", metadata={"format": "pt"})
        if tokens is not None:
            for name, content in _tokenizer_files(tokens).items():
                (aside / name).write_bytes(content)
            _write_json(
                aside / "tokenizer_config.json", _tokenizer_settings(tokens, languages or {})
            )
        agreement = compare(model, aside, tokens, sentences, read_huggingface)
    log(agreement)


def _generation(model: Transformer) -> dict[str, Any]:
    """How Hugging Face searches, unless it is told otherwise: as near to §6.1 as it can."""
    bias = model.output.bias
    never = [] if bias is None else (bias <= FORBIDDEN).nonzero().tolist()
    return {
        **special_ids(model.config),
        "num_beams": SEARCHES[-1].beam,
        "length_penalty": SEARCHES[-1].alpha,
        "max_length": MAX_LENGTH,
        **({"bad_words_ids": never} if never else {}),
    }


def _forbidden(directory: Path, settings: Mapping[str, Any], vocab_size: int) -> list[int]:
    """The ids that Hugging Face never writes; of words of several tokens nothing is said."""
    generation = _read_optional(directory, "generation_config.json")
    words = generation.get("bad_words_ids") or settings.get("bad_words_ids") or []
    return [i for i in range(vocab_size) if [i] in words]


def _tokenizer_files(tokens: TokenizerLike) -> dict[str, bytes]:
    if isinstance(tokens, MarianTokenizer):
        return tokens.files
    assert isinstance(tokens, Tokenizer)
    numbers = {piece: number for number, piece in enumerate(tokens.vocabulary)}
    vocabulary = json.dumps(numbers, ensure_ascii=False, indent=0) + "\n"
    return {SOURCE: tokens.model, TARGET: tokens.model, VOCABULARY: vocabulary.encode()}


def _tokenizer_settings(tokens: TokenizerLike, languages: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tokenizer_class": "MarianTokenizer",
        "model_max_length": MAX_LENGTH,
        **{theirs: languages[ours] for ours, theirs in LANGUAGES.items() if ours in languages},
        **({"bos_token": "<s>"} if "<s>" in tokens.target_vocabulary else {}),
        "eos_token": END,
        "unk_token": UNKNOWN,
        "pad_token": PADDING,
        "separate_vocabs": isinstance(tokens, MarianTokenizer)
        and TARGET_VOCABULARY in tokens.files,
        "split_special_tokens": True,  # "</s>" in a text is text
        "clean_up_tokenization_spaces": False,
    }


def _refuse_other_sizes(tokens: TokenizerLike, config: ModelConfig, where: Path) -> None:
    sizes = tokens.vocab_size, tokens.target_vocab_size
    room = config.vocab_size, config.decoder_vocab_size
    for size, limit in zip(sizes, room, strict=True):
        if size > limit:
            raise ModelError(
                f"{where}: the vocabulary has {size:,} tokens, but the network knows {limit:,}: "
                "they belong to different models"
            )


def _read_weights(directory: Path) -> dict[str, Tensor]:
    file = directory / "model.safetensors"
    if not file.is_file():
        raise ModelError(
            f"{directory} has no model.safetensors; pickled weights (pytorch_model.bin) are never "
            "loaded: convert them with Hugging Face's save_pretrained first"
        )
    try:
        return dict(load_file(file))
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from None


def _take(theirs: Mapping[str, Tensor], keys: tuple[str, ...], directory: Path) -> Tensor:
    """The first of these tensors that is there: tied matrices are stored under one name of many."""
    for key in keys:
        if key in theirs:
            return theirs[key]
    raise ModelError(f"{directory / 'model.safetensors'} has no {keys[0]}")


def _read_optional(directory: Path, name: str) -> dict[str, Any]:
    return read_json(directory, name) if (directory / name).is_file() else {}


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
